"""Word alignments of translated lines in Pharaoh's format, `0-0 1-2`, beside their hypotheses."""

import dataclasses
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
                (hypothesis, self._align(passage, [_ranked(found, rank) for found in parts]))
                for rank, hypothesis in enumerate(hypotheses)
            ]

    def _translate_passages(
        self, lines: Sequence[str], **options: Any
    ) -> list[tuple[Passage, list[list[Hypothesis]]]]:
        if isinstance(self._translator, SentenceTranslator):
            return self._translator.translate_passages(lines, **options)
        tagged = map(self._translator.marks.read_tag, lines)
        whole = [dataclasses.replace(self._whole.passage(one.text), lead=one.tag) for one in tagged]
        parts = [passage.lead + passage.parts[0] for passage in whole]
        found = self._translator.translate_n_best(parts, **options, letterless="translate")
        return [(line, [hypotheses]) for line, hypotheses in zip(whole, found, strict=True)]

    def _align(self, passage: Passage, parts: Sequence[Hypothesis]) -> str:
        """Returns the pairs of a line's hypothesis, words counted through all of its parts."""
        sources = _first_words(("", *passage.gaps), (passage.lead, *passage.sources))
        texts = [hypothesis.text for hypothesis in parts]
        targets = _first_words(passage.gaps_between(texts), texts)
        numbers = passage.word_numbers()
        counted = zip(passage.parts, parts, numbers, sources[1:], targets, strict=True)
        # Parts that share words may share pairs.
        pairs = {
            (first_source + own[source], first_target + target)
            for text, hypothesis, own, first_source, first_target in counted
            for source, target in self._whole.align_words(text, hypothesis, letterless="translate")
        }
        return " ".join(f"{source}-{target}" for source, target in sorted(pairs))


def _first_words(gaps: Sequence[str], parts: Sequence[str]) -> list[int]:
    """Returns the number of the word that each part of a text begins with, counted from 0.

    Args:
        gaps: What stands before each part, and any after the last one.
        parts: The parts; without a space between them two share a word.
    """
    found, words, last = [], 0, ""
    for gap, part in zip(gaps, parts, strict=False):
        words += len(gap.split()) - _goes_on(last, gap)
        last = gap[-1:] or last
        found.append(words - _goes_on(last, part))
        words = found[-1] + len(part.split())
        last = part[-1:] or last
    return found


def _goes_on(last: str, text: str) -> bool:
    """Returns whether a text goes on with the word that ends in the last character before it."""
    return last.strip() != "" and text[:1].strip() != ""


def _ranked(hypotheses: Sequence[Hypothesis], rank: int) -> Hypothesis:
    """Returns what `join_hypotheses` takes of a part: the last hypothesis if there are fewer."""
    return hypotheses[min(rank, len(hypotheses) - 1)]
