"""Splits texts as far as a model needs it, and joins their translations: takes a text and returns
the parts to translate; takes hypotheses of the parts and returns those of the text. Needs no
TensorFlow.
"""

import dataclasses
from collections.abc import Callable, Sequence

from keras_transformer.search.options import Hypothesis, SearchOptions, length_penalty
from keras_transformer.text.sentences import LANGUAGE, Passage, split_passage
from keras_transformer.text.training_text import TrainingText


class Splitter:
    """Splits texts for one model.

    A line stays whole if it has no more sentences than the model was trained on and no more tokens
    than the longest line that it saw. A model without a record of its training text gets
    single sentences of at most `max_source_length` tokens. A line break always ends a sentence.

    Args:
        lengths_of: Gives the number of tokens of each of several texts.
        max_source_length: Most tokens of a part; no limit if None.
        known: What the model's training lines looked like, if that is recorded.
        language: Code of the source language (ISO 639-1), for its abbreviations and marks.
        most_parts: Most parts of a text; no limit if None.
    """

    def __init__(
        self,
        lengths_of: Callable[[Sequence[str]], Sequence[int]],
        max_source_length: int | None,
        known: TrainingText | None,
        language: str = LANGUAGE,
        most_parts: int | None = None,
    ) -> None:
        self._lengths_of, self._language, self._most_parts = lengths_of, language, most_parts
        bounds = [max_source_length, known.longest_source if known else None]
        self._most_tokens = min((bound for bound in bounds if bound is not None), default=None)
        self._most_sentences = known.known_sentences if known else 1

    def split(self, text: str) -> Passage:
        """Returns the text as parts that the model can translate.

        Raises:
            TooManyPartsError: They are more than `most_parts`.
        """
        return split_passage(
            text,
            self._lengths_of,
            most_tokens=self._most_tokens,
            most_sentences=self._most_sentences,
            most_parts=self._most_parts,
            language=self._language,
        )


def join_hypotheses(
    passage: Passage, parts: Sequence[Sequence[Hypothesis]], search: SearchOptions
) -> list[Hypothesis]:
    """Returns the hypotheses of a text: the best of all parts, the second best, and so on.

    A hypothesis of several parts has all their ids, and the sum of their log-probabilities; its
    score is that sum over the penalty of the whole length. If a part has fewer hypotheses, its
    last one is used again. Confidence is low if it is low for one of the parts.

    Args:
        passage: The text.
        parts: The hypotheses of each part, best first, at least one.
        search: The search that found them, for its length penalty.
    """
    if len(parts) == 1:
        return [dataclasses.replace(one, text=passage.join([one.text])) for one in parts[0]]
    ranks = range(max(map(len, parts)))
    return [
        _joined(passage, [found[min(rank, len(found) - 1)] for found in parts], search)
        for rank in ranks
    ]


def _joined(passage: Passage, chosen: Sequence[Hypothesis], search: SearchOptions) -> Hypothesis:
    """Returns one hypothesis of a text, made of one of each part."""
    text = passage.join([one.text for one in chosen])
    ids = [token for one in chosen for token in one.ids]
    total = sum(one.log_probability for one in chosen)
    # Every part has an end token of its own.
    score = total / length_penalty(len(ids) + len(chosen), search)
    flags = [one.low_confidence for one in chosen]
    low = None if None in flags else any(flags)
    return Hypothesis(text, ids, score, total, low_confidence=low)
