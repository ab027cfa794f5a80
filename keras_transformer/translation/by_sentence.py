"""Translation of texts of any length with a model trained on single sentences. Texts are split as
far as the model needs it, all parts are translated together, and translations are laid out as their
sources are.

It works with any `TextTranslator`, on Keras or onnxruntime, and needs no TensorFlow itself.
"""

import dataclasses
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from os import PathLike
from typing import Any, Unpack

from keras_transformer.search.keywords import NBestKeywords, TranslateKeywords
from keras_transformer.search.named_ids import PrefixError
from keras_transformer.search.options import Hypothesis
from keras_transformer.suggestions import suggests_arguments
from keras_transformer.text.joined_lines import join_lines as joined_text
from keras_transformer.text.letterless import Kind
from keras_transformer.text.passage import LANGUAGE, Passage
from keras_transformer.text.sentences import split_passage
from keras_transformer.text.subwords.slots import Lift
from keras_transformer.text.training_text import TrainingText
from keras_transformer.translation.results import join_hypotheses, spans_put_back
from keras_transformer.translation.text_ids import check_texts
from keras_transformer.translation.translator import TextTranslator

# Options of a search that no text of several parts can have.
OF_ONE_TEXT = ("stop", "stop_tokens")


def splitter(
    lengths_of: Callable[[Sequence[str]], Sequence[int]],
    max_source_length: int | None,
    known: TrainingText | None,
    language: str = LANGUAGE,
    most_parts: int | None = None,
    carried: Collection[Kind] = (),
    lift: Lift | None = None,
) -> Callable[[str], Passage]:
    """Returns `split_passage` for one model.

    A line stays whole if it has no more sentences than the model was trained on and no more tokens
    than the longest line that it saw. A model without a record of its training text gets
    single sentences of at most `max_source_length` tokens. A line break always ends a sentence.

    Args:
        lengths_of: Gives the number of tokens of each of several texts.
        max_source_length: Most tokens of a part; no limit if None.
        known: What the model's training lines looked like, if that is recorded.
        language: Code of the source language (ISO 639-1), for its abbreviations and marks.
        most_parts: Most parts of a text; no limit if None.
        carried: What goes around the model (`letterless`).
        lift: Lifts spans out of texts, which translations have as they are; None for none.
    """
    bounds = [max_source_length, known.longest_source if known else None]
    return partial(
        split_passage,
        lengths_of=lengths_of,
        most_tokens=min((bound for bound in bounds if bound is not None), default=None),
        most_sentences=known.known_sentences if known else 1,
        most_parts=most_parts,
        language=language,
        carried=carried,
        lift=lift,
    )


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
    """Translates texts sentence by sentence, so that no sentence is dropped; see `splitter`.

    Args:
        translator: A `Translator` or an `OnnxTranslator`.
        language: Code of the source language (ISO 639-1), for its abbreviations and marks.
        join_lines: Whether the wrapped lines of paragraphs are joined first (`join_lines`); places
            in texts are then those in the joined ones.
        lift: Lifts spans out of texts; the translator's if None.

    Raises:
        TypeError: `translator` is the path of one.

    Example:
        `SentenceTranslator(OnnxTranslator("exported/demo")).translate(["Hello! Good morning."])`
    """

    def __init__(
        self,
        translator: TextTranslator,
        *,
        language: str = LANGUAGE,
        join_lines: bool = False,
        lift: Lift | None = None,
    ) -> None:
        if isinstance(translator, str | PathLike):
            raise TypeError(
                "translator must be a Translator or an OnnxTranslator, got "
                f"{type(translator).__name__}: open one, as in "
                'SentenceTranslator(OnnxTranslator("exported/first")).'
            )
        self.translator = translator
        self.language = language
        self.min_score = translator.min_score
        self._joined = joined_text if join_lines else str
        self._split = splitter(
            translator.source_lengths,
            translator.max_source_length,
            translator.training_text,
            language,
            carried=translator.carried,
            lift=lift or translator.lift,
        )

    def count_parts(self, texts: Sequence[str]) -> int:
        """Returns how many parts the texts have together."""
        return len(self._prepare(texts, {})[1])

    @suggests_arguments
    def translate(self, texts: Sequence[str], **options: Unpack[TranslateKeywords]) -> list[str]:
        """Returns the best translation of each text, line breaks and spaces as in the source.

        Args:
            texts: Texts of any length.
            **options: As for the translator's `translate`; a target prefix begins the first part.

        Raises:
            TypeError: As for the translator's `translate`.
            ValueError: As for the translator's `translate`.
        """
        passages, parts, passed = self._prepare(texts, options)
        with _texts_in_errors(passages):
            found = iter(self.translator.translate(parts, **passed))
        return [passage.join([next(found) for _ in passage.parts]) for passage in passages]

    @suggests_arguments
    def translate_n_best(
        self, texts: Sequence[str], **options: Unpack[NBestKeywords]
    ) -> list[list[Hypothesis]]:
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
        of_texts = ("target_prefixes", "replace_unk", "return_scores")
        named: dict[str, Any] = {k: v for k, v in options.items() if k not in of_texts}
        search = self.translator.search_options(**named)
        return [join_hypotheses(passage, parts, search) for passage, parts in found]

    @suggests_arguments
    def translate_parts(
        self, texts: Sequence[str], **options: Unpack[NBestKeywords]
    ) -> list[list[TranslatedPart]]:
        """Returns each text's parts with their hypotheses, ids and scores.

        Args:
            texts: Texts of any length.
            **options: As for the translator's `translate_n_best`.

        Raises:
            TypeError: As for the translator's `translate_n_best`.
            ValueError: As for the translator's `translate_n_best`.
        """
        return [
            [
                TranslatedPart(source, start, [spans_put_back(passage, place, one) for one in own])
                for place, (source, start, own) in enumerate(
                    zip(passage.sources, passage.starts, parts, strict=True)
                )
            ]
            for passage, parts in self.translate_passages(texts, **options)
        ]

    @suggests_arguments
    def translate_passages(
        self, texts: Sequence[str], **options: Unpack[NBestKeywords]
    ) -> list[tuple[Passage, list[list[Hypothesis]]]]:
        """Returns each text's passage and its parts' hypotheses, for `join_hypotheses`.

        Args:
            texts: Texts of any length.
            **options: As for the translator's `translate_n_best`.

        Raises:
            TypeError: As for the translator's `translate_n_best`.
            ValueError: As for the translator's `translate_n_best`.
        """
        passages, parts, passed = self._prepare(texts, options)
        with _texts_in_errors(passages):
            found = iter(self.translator.translate_n_best(parts, **passed))
        return [(passage, [next(found) for _ in passage.parts]) for passage in passages]

    def _prepare(
        self, texts: Sequence[str], options: Mapping[str, Any]
    ) -> tuple[list[Passage], list[str], dict[str, Any]]:
        """Returns the texts' passages, all parts, and the options with a prefix for every part.

        Passages have taken texts apart: a translator takes their parts as they are. The tag of a
        text's language, which is no part of its passage, stands before all its parts.
        """
        for name in OF_ONE_TEXT:
            if options.get(name):
                raise ValueError(
                    f"{name} would end one part of a text and go on with the next: leave it out, "
                    "or call the translator itself, which takes each text whole."
                )
        tagged = [self.translator.marks.read_tag(text) for text in check_texts(texts)]
        split, joined = self._split, self._joined
        unknown = None if options.get("replace_unk") else self.translator.unknown_letters
        passages = [
            dataclasses.replace(split(joined(one.text)), lead=one.tag, unknown_letters=unknown)
            for one in tagged
        ]
        if options.get("require") or options.get("return_attention"):
            passages = [one.without_attributes() for one in passages]
        if options.get("require"):
            _check_whole(passages)
        parts = [passage.lead + part for passage in passages for part in passage.parts]
        aligned = [part for passage in passages for part in passage.aligned]
        required = [forms for passage in passages for forms in passage.required]
        passed = {**options, "letterless": "translate", "aligned": aligned, "required": required}
        prefixes = options.get("target_prefixes")
        if prefixes is None:
            return passages, parts, passed
        prefixes = check_texts(prefixes, "target_prefixes")
        if len(prefixes) != len(passages):
            raise ValueError(
                f"got {len(prefixes)} target_prefixes for {len(passages)} texts: give one for each."
            )
        spread = [
            passage.bare(prefix) if place == 0 else ""
            for passage, prefix in zip(passages, prefixes, strict=True)
            for place in range(len(passage.parts))
        ]
        return passages, parts, {**passed, "target_prefixes": spread}


def _check_whole(passages: Sequence[Passage]) -> None:
    """Checks that each text is one part, which then holds what its text must hold."""
    for number, passage in enumerate(passages):
        if len(passage.parts) > 1:
            raise ValueError(
                f"the text at index {number} has {len(passage.parts)} sentences, and require does "
                "not say which of them must hold its phrases: give one sentence a text, or call "
                "the translator itself, which takes each text whole."
            )


@contextmanager
def _texts_in_errors(passages: Sequence[Passage]) -> Iterator[None]:
    """Makes the error about a part's prefix name the text, not the part."""
    try:
        yield
    except PrefixError as error:
        texts = [number for number, passage in enumerate(passages) for _ in passage.parts]
        raise PrefixError(texts[error.index], error.reason) from error
