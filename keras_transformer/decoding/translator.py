"""`Translator`: translations of texts, with their scores, by a live Keras model."""

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import tensorflow as tf

from keras_transformer.decoding.batches import pad, run_in_batches
from keras_transformer.decoding.candidates import with_seed
from keras_transformer.decoding.engine import SearchingEngine, SearchTask
from keras_transformer.decoding.parts import ROWS, SharedParts, as_graph
from keras_transformer.decoding.scoring import TeacherForcing
from keras_transformer.keras_backend import require_tensorflow_backend
from keras_transformer.markup.casing import Casing
from keras_transformer.markup.profiles import Profile
from keras_transformer.markup.required import text_lifter
from keras_transformer.markup.terms import Glossary, TermUse
from keras_transformer.models import Transformer
from keras_transformer.models.families import require_model
from keras_transformer.runs.finished_run import load_run
from keras_transformer.runs.run_directory import RunDirectory
from keras_transformer.search.model_limits import (
    MAX_SOURCE_LENGTH,
    IdRows,
    LongTexts,
    ModelLimits,
    SourceLimit,
)
from keras_transformer.search.options import EMPTY, Candidate, SearchOptions
from keras_transformer.search.phrases import Phrases
from keras_transformer.search.stops import Stops
from keras_transformer.tensors import Tensor
from keras_transformer.text.letterless import Letterless
from keras_transformer.text.tokenizer import Tokenizer
from keras_transformer.text.training_text import TrainingText
from keras_transformer.translation.engine import Alignment, Attention
from keras_transformer.translation.text_ids import SourceIds, TextIds
from keras_transformer.translation.translator import TextTranslator


class Translator(TextTranslator):
    """Greedy search, beam search and sampling with a live model.

    Args:
        model: A trained model.
        source_tokenizer: Tokenizer of the source language.
        target_tokenizer: Tokenizer of the target language; the source's if None.
        batch_tokens: Most padded source tokens translated at once, times the hypotheses that the
            search keeps for each sentence.
        max_source_length: Most tokens of a source, unless the model allows fewer; None for no
            other limit than the model's.
        long_texts: What to do with longer sources: "refuse" raises `TooLongError`, which has the
            index; "cut" drops their ends. `SentenceTranslator` splits them instead.
        training_text: Description of the model's training lines, for `SentenceTranslator`; None if
            unknown.
        min_score: Log-probability per token below which a hypothesis has `low_confidence`; None if
            unknown.
        search: Fields of `SearchOptions` that hold where a call gives none: what `load_search`
            reads of a run whose model was imported with some; None for none.
        letterless: What has no letter (numbers alone, marks of lists, runs of symbols) is copied
            around the model ("copy") or translated by it ("translate"); "auto" copies what was not
            in one of a hundred of the model's training lines, and everything if that is unknown.
        markup: Profile of the spans that translations keep as they are (`docs/markup.md`); the one
            that the model was trained with if None.
        glossary: Terms that are translated as they say (`docs/terms.md`); None for none.
        terms: Whether translations hold the terms ("hard"), the model reads them beside the words
            and may inflect them ("soft"), or both; "hard" if None.
        casing: A text in capitals is translated as a sentence, and its translation put in
            capitals ("recase"), or as it is ("keep"), or ("auto") as it is if one in a hundred of
            the model's training lines was in capitals.

    Attributes:
        model: The model.
        batch_tokens: Most padded source tokens translated at once.
        source_tokenizer: Tokenizer of the source language.
        target_tokenizer: Tokenizer of the target language.
        max_source_length: Most tokens of a source; None if there is no limit.
        training_text: Description of the model's training lines; None if unknown.
        min_score: The threshold of low confidence; None if unknown.
        search: Fields of `SearchOptions` that hold where a call gives none; {} for none.

    Example:
        `Translator(model, tokenizer).translate(["Hello!"], beam_size=4)`
    """

    def __init__(
        self,
        model: Transformer,
        source_tokenizer: Tokenizer,
        target_tokenizer: Tokenizer | None = None,
        batch_tokens: int = 4096,
        *,
        max_source_length: int | None = MAX_SOURCE_LENGTH,
        long_texts: LongTexts = "refuse",
        training_text: TrainingText | None = None,
        min_score: float | None = None,
        search: Mapping[str, Any] | None = None,
        letterless: Letterless = "auto",
        markup: Profile | None = None,
        glossary: Glossary | None = None,
        terms: TermUse | None = None,
        casing: Casing = "auto",
    ) -> None:
        require_model(model, Transformer)
        self.model = model
        self.batch_tokens = batch_tokens
        self.source_tokenizer = source_tokenizer
        self.target_tokenizer = target_tokenizer or source_tokenizer
        engine = KerasEngine(model, batch_tokens)
        super().__init__(
            engine,
            SourceIds(self.source_tokenizer.subwords, model.config.special_ids),
            TextIds(self.target_tokenizer.subwords, model.config.special_ids),
            SourceLimit(max_source_length, long_texts, engine.limits),
            model.config.marks,
            training_text=training_text,
            min_score=min_score,
            search=search,
            letterless=letterless,
            lift=text_lifter(
                model.config.special_ids,
                training_text,
                markup=markup,
                glossary=glossary,
                terms=terms,
                casing=casing,
            ),
        )

    @classmethod
    def from_run(cls, directory: str | os.PathLike[str], **options: Any) -> "Translator":
        """Opens a finished run with what it records for its translations, as the commands do: what
        its training lines looked like, its threshold of confidence and its search.

        Args:
            directory: The run.
            **options: Of the constructor, in place of what the run records.

        Raises:
            FileNotFoundError: A file is missing, or the run has not finished.
            TypeError: The model is no translation's.
            ValueError: A file is damaged.

        Example:
            `Translator.from_run("runs/demo").translate(["Hello!"], beam_size=4)`
        """
        run = RunDirectory(Path(directory))
        recorded = {
            "training_text": run.load_training_text(),
            "min_score": run.load_min_score(),
            "search": run.load_search(),
        }
        return cls(*load_run(directory), **{**recorded, **options})


class KerasEngine(SearchingEngine):
    """A live model as a `TranslationEngine`; changed weights take effect at once.

    Args:
        model: A trained model.
        batch_tokens: Most padded source tokens in a batch, times the beams or samples per sentence.

    Attributes:
        limits: Limits on the model's inputs.
        model_dim: Width of the encoder's states.
    """

    def __init__(self, model: Transformer, batch_tokens: int) -> None:
        require_tensorflow_backend("Translator")
        parts = SharedParts(model)
        super().__init__(model, parts, batch_tokens, as_graph(parts.read_source, ROWS))
        self.limits = ModelLimits.of(model.config.to_dict(), model.config.special_ids)
        self.model_dim = model.config.model_dim
        self._teacher_forcing = TeacherForcing(model, batch_tokens)

        def encoder_states(source_ids: Tensor) -> Tensor:
            return tf.cast(parts.encoder_states(source_ids), tf.float32)

        self._encoder_states = as_graph(encoder_states, ROWS)

    def search(
        self,
        sources: IdRows,
        options: SearchOptions,
        prefixes: IdRows | None = None,
        *,
        with_scores: bool = True,
        stops: Stops | None = None,
        phrases: Sequence[Phrases] = (),
    ) -> list[list[Candidate]]:
        """As `TranslationEngine.search`; always computes the scores."""
        task = self._task(sources, options, prefixes, phrases)
        lengths = {place: len(source) + 1 for place, source in enumerate(sources) if len(source)}
        found = self._candidates(task, lengths, stops)
        return [found.get(place, [EMPTY]) for place in range(len(sources))]

    def stream(
        self, source: Sequence[int], options: SearchOptions, prefix: Sequence[int] = ()
    ) -> Iterator[int]:
        """As `TranslationEngine.stream`: calls a graph of one step for each token."""
        task = self._task([source], options, [prefix])
        return self._tokens(task) if len(source) else iter(())

    def align(self, sources: IdRows, targets: IdRows) -> list[Alignment]:
        """As `TranslationEngine.align`."""
        self.limits.check_pairs(sources, targets)
        return self._teacher_forcing.align(sources, targets)

    def attend(self, sources: IdRows, targets: IdRows) -> list[Attention]:
        """As `TranslationEngine.attend`."""
        return [one.attention for one in self.align(sources, targets)]

    def encoder_states(self, sources: IdRows) -> list[npt.NDArray[np.float32]]:
        """As `TranslationEngine.encoder_states`."""
        self.limits.check_sources(sources)
        ended, lengths = self._ended(sources), [len(source) + 1 for source in sources]

        def run(places: list[int]) -> npt.NDArray[np.float32]:
            rows = pad([ended[place] for place in places], self._special_ids.pad)
            return np.array(self._encoder_states(rows))

        found = run_in_batches(lengths, self._batch_tokens, run)
        return [states[:length] for states, length in zip(found, lengths, strict=True)]

    def _task(
        self,
        sources: IdRows,
        options: SearchOptions,
        prefixes: IdRows | None,
        phrases: Sequence[Phrases] = (),
    ) -> SearchTask:
        options, limits, begins = self.limits.check_search(sources, options, prefixes)
        return SearchTask(
            with_seed(options),
            limits if options.max_length_ratio is not None else None,
            begins if any(begins) else None,
            self._ended(sources),
            self.limits.check_phrases(phrases, sources, options, limits, begins),
        )

    def _ended(self, sources: IdRows) -> list[list[int]]:
        return [[*source, *self._model.config.source_ends] for source in sources]
