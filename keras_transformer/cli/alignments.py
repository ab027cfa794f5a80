"""Word alignments of translated lines in Pharaoh's format, `0-0 1-2`, beside their hypotheses."""

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

from keras_transformer.search.options import Hypothesis, SearchOptions
from keras_transformer.text.passage import Passage
from keras_transformer.translation.by_sentence import SentenceTranslator
from keras_transformer.translation.results import join_hypotheses
from keras_transformer.translation.translator import TextTranslator


class AligningTranslator:
    """Translates lines and aligns the words of each translation with those of its source.

    Args:
        translator: A translator, of sentences or of whole texts.

    Raises:
        ValueError: It puts spans back by attention.
    """

    def __init__(self, translator: TextTranslator | SentenceTranslator) -> None:
        self._translator = translator
        self._whole: TextTranslator = (
            translator.translator if isinstance(translator, SentenceTranslator) else translator
        )
        lift = self._whole.lift
        if lift is not None and lift("").needs_alignment:
            raise ValueError(
                "--alignments counts the words that a model reads, and one without slots reads no "
                "tags: leave out --alignments, or give --markup plain."
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
        found = self._translator.translate_n_best(
            parts,
            **options,
            letterless="translate",
            aligned=[None] * len(parts),
            required=[one.required[0] for one in whole],
        )
        return [(line, [hypotheses]) for line, hypotheses in zip(whole, found, strict=True)]

    def _align(self, passage: Passage, parts: Sequence[Hypothesis]) -> str:
        """Returns the pairs of a line's hypothesis, words counted through all of its parts."""
        texts = [hypothesis.text for hypothesis in parts]
        gaps = passage.gaps_between(texts)
        sources = _first_words(_in_turn(passage.gaps, passage.sources), after=passage.lead)
        targets = _first_words(_in_turn(gaps, texts))
        numbers = passage.word_numbers()
        counted = zip(passage.parts, parts, numbers, sources[1::2], targets[1::2], strict=True)
        # Parts that share words may share pairs.
        pairs = {
            (first_source + own[source], first_target + target)
            for text, hypothesis, own, first_source, first_target in counted
            for source, target in self._whole.align_words(text, hypothesis, letterless="translate")
        }
        pairs.update(_carried_pairs(passage, sources, gaps, targets[::2]))
        return " ".join(f"{source}-{target}" for source, target in sorted(pairs))


def _in_turn(gaps: Sequence[str], parts: Sequence[str]) -> list[str]:
    """Returns a line's gaps and parts in order; the last is a gap."""
    return [piece for pair in zip(gaps, (*parts, ""), strict=True) for piece in pair][:-1]


def _first_words(pieces: Sequence[str], after: str = "") -> list[int]:
    """Returns the number of the word that each piece of a line begins with, counted from 0.

    Args:
        pieces: The pieces of a line; two pieces without a space between them share a word.
        after: The text before them.
    """
    found, words, last = [], len(after.split()), after[-1:]
    for piece in pieces:
        found.append(words - _goes_on(last, piece))
        words = found[-1] + len(piece.split())
        last = piece[-1:] or last
    return found


def _goes_on(last: str, text: str) -> bool:
    """Returns whether a text goes on with the word that ends in the last character before it."""
    return last.strip() != "" and text[:1].strip() != ""


def _carried_pairs(
    passage: Passage, sources: Sequence[int], gaps: Sequence[str], targets: Sequence[int]
) -> Iterator[tuple[int, int]]:
    """Yields the alignments of words that were copied around the model.

    Args:
        passage: The line.
        sources: The first word of each of its gaps and sources, in turn.
        gaps: The gaps of its translation.
        targets: The first word of each.
    """
    moved = [
        [(first + number, word) for number, word in enumerate(source.split()) if number not in kept]
        for source, kept, first in zip(
            passage.sources, passage.word_numbers(), sources[1::2], strict=True
        )
    ]
    for place, (gap, first_target) in enumerate(zip(gaps, targets, strict=True)):
        own = list(enumerate(passage.gaps[place].split(), start=sources[2 * place]))
        # What was inside a source stands before or behind its translation.
        around = [
            *sum(moved[max(place - 1, 0) : place], []),
            *own,
            *sum(moved[place : place + 1], []),
        ]
        for number, word in enumerate(gap.split(), start=first_target):
            found = next((one for one in around if one[1] == word), None)
            if found is not None:
                around.remove(found)
                yield found[0], number


def _ranked(hypotheses: Sequence[Hypothesis], rank: int) -> Hypothesis:
    """Returns what `join_hypotheses` takes of a part: the last hypothesis if there are fewer."""
    return hypotheses[min(rank, len(hypotheses) - 1)]
