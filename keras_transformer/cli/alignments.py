"""Aligns words of translations: takes lines and returns hypotheses, each with the pairs of source
and target word in Pharaoh's format, `0-0 1-2`.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from keras_transformer.cli.artefact import open_tokenizers
from keras_transformer.search.by_sentence import SentenceTranslator
from keras_transformer.search.options import Hypothesis, SearchOptions
from keras_transformer.search.passages import join_hypotheses
from keras_transformer.text.sentences import Passage


class AligningTranslator:
    """Translates lines and aligns the words of each translation with those of its source.

    Args:
        translator: What translates, by sentence or not.
        directory: The run or artefact that it was opened from.
    """

    def __init__(self, translator: Any, directory: Path) -> None:
        self._translator = translator
        self._source, self._target = open_tokenizers(directory)

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
        source_words = target_words = 0
        for text, hypothesis, gap in zip(passage.parts, parts, passage.gaps[1:], strict=True):
            for source, target in self._align_part(text, hypothesis):
                yield f"{source_words + source}-{target_words + target}"
            # Without a space between them two parts share a word.
            source_words += len(text.split()) - (not gap)
            target_words += len(hypothesis.text.split())

    def _align_part(self, text: str, hypothesis: Hypothesis) -> list[tuple[int, int]]:
        from keras_transformer.runtime.unknown_words import aligned_words

        pieces, special_ids = self._target.pieces(hypothesis.ids), self._target.special_ids
        return aligned_words(
            hypothesis.attention,
            hypothesis.ids,
            special_ids.eos,
            source_pieces=self._source.split(text),
            target_pieces=[
                "" if token in special_ids.without_text else piece
                for token, piece in zip(hypothesis.ids, pieces, strict=True)
            ],
        )


def _ranked(hypotheses: Sequence[Hypothesis], rank: int) -> Hypothesis:
    """Returns what `join_hypotheses` takes of a part: the last hypothesis if there are fewer."""
    return hypotheses[min(rank, len(hypotheses) - 1)]
