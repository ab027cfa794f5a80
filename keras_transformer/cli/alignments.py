"""Aligns words of translations: takes lines and returns hypotheses, each with the pairs of source
and target word in Pharaoh's format, `0-0 1-2`.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from keras_transformer.search.options import Hypothesis, SearchOptions
from keras_transformer.text.sentences import Passage
from keras_transformer.translation.by_sentence import SentenceTranslator, join_hypotheses
from keras_transformer.translation.translator import TextTranslator


class AligningTranslator:
    """Translates lines and aligns the words of each translation with those of its source.

    Args:
        translator: What translates, by sentence or not.
    """

    def __init__(self, translator: TextTranslator | SentenceTranslator) -> None:
        self._translator = translator
        self._whole: TextTranslator = (
            translator.translator if isinstance(translator, SentenceTranslator) else translator
        )

    def translate(
        self, lines: Sequence[str], search: SearchOptions, **options: Any
    ) -> Iterator[list[tuple[Hypothesis, str]]]:
        """Yields the hypotheses of each line, each with its alignment.

        Args:
            lines: The lines.
            search: How they are translated.
            **options: As for the translator's `translate_n_best`.
        """
        for passage, parts in self._translate_passages(lines, return_attention=True, **options):
            hypotheses = join_hypotheses(passage, parts, search)
            yield [
                (
                    hypothesis,
                    " ".join(self._align(passage, [_ranked(found, rank) for found in parts])),
                )
                for rank, hypothesis in enumerate(hypotheses)
            ]

    def _translate_passages(
        self, lines: Sequence[str], **options: Any
    ) -> list[tuple[Passage, list[list[Hypothesis]]]]:
        if isinstance(self._translator, SentenceTranslator):
            return self._translator.translate_passages(lines, **options)
        found = self._translator.translate_n_best(lines, **options)
        whole = [Passage((line,), ("", "")) for line in lines]
        return [(line, [hypotheses]) for line, hypotheses in zip(whole, found, strict=True)]

    def _align(self, passage: Passage, parts: Sequence[Hypothesis]) -> Iterator[str]:
        """Yields the pairs of a line's hypothesis, words counted through all of its parts."""
        source_words, target_words = len(passage.lead.split()), 0
        for text, hypothesis, gap in zip(passage.parts, parts, passage.gaps[1:], strict=True):
            for source, target in self._whole.align_words(text, hypothesis):
                yield f"{source_words + source}-{target_words + target}"
            # Without a space between them two parts share a word.
            source_words += len(text.split()) - (not gap)
            target_words += len(hypothesis.text.split())


def _ranked(hypotheses: Sequence[Hypothesis], rank: int) -> Hypothesis:
    """Returns what `join_hypotheses` takes of a part: the last hypothesis if there are fewer."""
    return hypotheses[min(rank, len(hypotheses) - 1)]
