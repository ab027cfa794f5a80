"""Translates texts of any length with a model trained on single sentences: splits each text,
translates all parts together, and gives each translation its source's layout.

It wraps either translator, Keras's or onnxruntime's, and needs no TensorFlow itself.
"""

import dataclasses
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

from keras_transformer.search.inputs import PrefixError, check_texts
from keras_transformer.search.options import Hypothesis, SearchOptions
from keras_transformer.search.passages import Splitter, join_hypotheses
from keras_transformer.text.sentences import LANGUAGE, Passage
from keras_transformer.text.training_text import TrainingText


class PartTranslator(Protocol):
    """What `Translator` and `OnnxTranslator` have in common."""

    max_source_length: int | None
    training_text: TrainingText | None

    def source_lengths(self, texts: Sequence[str]) -> list[int]:
        """Returns how many tokens each text has."""
        ...

    def translate(self, texts: Sequence[str], **options: Any) -> list[str]:
        """Returns the best translation of each text."""
        ...

    def translate_n_best(self, texts: Sequence[str], **options: Any) -> list[list[Hypothesis]]:
        """Returns the best hypotheses of each text."""
        ...


@dataclasses.dataclass(frozen=True)
class TranslatedPart:
    """One part of a text, mostly a sentence, and its translations.

    Attributes:
        source: The part.
        start: Where it begins in the text, in characters.
        hypotheses: Its translations with ids and scores, best first.
    """

    source: str
    start: int
    hypotheses: list[Hypothesis]


class SentenceTranslator:
    """Translates texts sentence by sentence, so that none is dropped; see `Splitter`.

    Args:
        translator: A `Translator` or an `OnnxTranslator`.
        language: Code of the source language (ISO 639-1), for its abbreviations and marks.

    Example:
        `SentenceTranslator(OnnxTranslator("exported/demo")).translate(["Hello! Good morning."])`
    """

    def __init__(self, translator: PartTranslator, *, language: str = LANGUAGE) -> None:
        self.translator = translator
        self.language = language
        self._splitter = Splitter(
            translator.source_lengths,
            translator.max_source_length,
            translator.training_text,
            language,
        )

    def translate(self, texts: Sequence[str], **options: Any) -> list[str]:
        """Returns the best translation of each text, line breaks and spaces as in the source.

        Args:
            texts: Texts of any length.
            **options: As for the translator's `translate`; a target prefix begins the first part.

        Raises:
            TypeError: As for the translator's `translate`.
            ValueError: As for the translator's `translate`.
        """
        passages, options = self._prepare(texts, options)
        with _texts_in_errors(passages):
            found = iter(self.translator.translate(_parts(passages), **options))
        return [passage.join([next(found) for _ in passage.parts]) for passage in passages]

    def translate_n_best(self, texts: Sequence[str], **options: Any) -> list[list[Hypothesis]]:
        """Returns the hypotheses of each text, made of those of its parts by `join_hypotheses`.

        Args:
            texts: Texts of any length.
            **options: As for the translator's `translate_n_best`, but no `return_attention`.

        Raises:
            TypeError: As for the translator's `translate_n_best`.
            ValueError: As for the translator's `translate_n_best`, or attention is requested.
        """
        if options.pop("return_attention", False):
            raise ValueError("attention belongs to one part: ask translate_parts for it.")
        found = self.translate_passages(texts, **options)
        search = SearchOptions(**{k: v for k, v in options.items() if k != "target_prefixes"})
        return [join_hypotheses(passage, parts, search) for passage, parts in found]

    def translate_parts(self, texts: Sequence[str], **options: Any) -> list[list[TranslatedPart]]:
        """Returns each text's parts with their hypotheses, ids and scores.

        Args:
            texts: Texts of any length.
            **options: As for the translator's `translate_n_best`.

        Raises:
            TypeError: As for the translator's `translate_n_best`.
            ValueError: As for the translator's `translate_n_best`.
        """
        return [
            list(map(TranslatedPart, passage.parts, passage.starts, parts))
            for passage, parts in self.translate_passages(texts, **options)
        ]

    def translate_passages(
        self, texts: Sequence[str], **options: Any
    ) -> list[tuple[Passage, list[list[Hypothesis]]]]:
        """Returns each text's passage and its parts' hypotheses, for `join_hypotheses`.

        Args:
            texts: Texts of any length.
            **options: As for the translator's `translate_n_best`.

        Raises:
            TypeError: As for the translator's `translate_n_best`.
            ValueError: As for the translator's `translate_n_best`.
        """
        passages, options = self._prepare(texts, options)
        with _texts_in_errors(passages):
            found = iter(self.translator.translate_n_best(_parts(passages), **options))
        return [(passage, [next(found) for _ in passage.parts]) for passage in passages]

    def _prepare(
        self, texts: Sequence[str], options: dict[str, Any]
    ) -> tuple[list[Passage], dict[str, Any]]:
        """Returns the texts' passages, and the options with a prefix for every part."""
        passages = [self._splitter.split(text) for text in check_texts(texts)]
        prefixes = options.get("target_prefixes")
        if prefixes is None:
            return passages, options
        prefixes = check_texts(prefixes, "target_prefixes")
        if len(prefixes) != len(passages):
            raise ValueError(
                f"got {len(prefixes)} target_prefixes for {len(passages)} texts: give one for each."
            )
        spread = [
            prefix if place == 0 else ""
            for passage, prefix in zip(passages, prefixes, strict=True)
            for place in range(len(passage.parts))
        ]
        return passages, {**options, "target_prefixes": spread}


def _parts(passages: Sequence[Passage]) -> list[str]:
    return [part for passage in passages for part in passage.parts]


@contextmanager
def _texts_in_errors(passages: Sequence[Passage]) -> Iterator[None]:
    """Makes the error of a part's prefix name the text, not the part."""
    try:
        yield
    except PrefixError as error:
        texts = [number for number, passage in enumerate(passages) for _ in passage.parts]
        raise PrefixError(texts[error.index], error.reason) from error
