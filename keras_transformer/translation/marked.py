"""Adds a model's marks to rows of ids, such as those of languages: takes the ids of texts and the
languages asked for, and returns what an engine reads.
"""

import dataclasses
from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from keras_transformer.config.sentence_marks import Begins, SentenceMarks
from keras_transformer.search.inputs import IdRows, ModelLimits
from keras_transformer.search.options import Candidate, SearchOptions
from keras_transformer.translation.engine import Alignment, TranslationEngine


def without_languages(marks: SentenceMarks, options: SearchOptions) -> tuple[SearchOptions, Begins]:
    """Returns the options that an engine knows, and the ids before texts of their languages.

    Raises:
        ValueError: The model does not know a language.
    """
    begins = marks.begins(options.source_language, options.target_language)
    if options.source_language is None and options.target_language is None:
        return options, begins
    return dataclasses.replace(options, source_language=None, target_language=None), begins


def marked_source(begins: Begins, row: Sequence[int]) -> list[int]:
    """Returns a source behind its marks; an empty one stays empty, as its translation does."""
    return [*begins.source, *row] if len(row) else []


class MarkedEngine:
    """A `TranslationEngine` whose rows are of one pair of languages, and do not hold its marks.

    Found translations begin with theirs, as targets to align do.

    Args:
        engine: The engine, which reads marked rows.
        begins: The marks.
    """

    def __init__(self, engine: TranslationEngine, begins: Begins) -> None:
        self._engine, self._begins = engine, begins

    @property
    def limits(self) -> ModelLimits:
        """What the model can take, marks included."""
        return self._engine.limits

    @property
    def model_dim(self) -> int:
        """Width of the encoder's states."""
        return self._engine.model_dim

    def search(
        self,
        sources: IdRows,
        options: SearchOptions,
        prefixes: IdRows | None = None,
        *,
        with_scores: bool = True,
    ) -> list[list[Candidate]]:
        """As `TranslationEngine.search`."""
        if self._begins.target:
            rows = prefixes or [[]] * len(sources)
            prefixes = [[*self._begins.target, *prefix] for prefix in rows]
        return self._engine.search(
            self._marked(sources), options, prefixes, with_scores=with_scores
        )

    def stream(
        self, source: Sequence[int], options: SearchOptions, prefix: Sequence[int] = ()
    ) -> Iterator[int]:
        """As `TranslationEngine.stream`."""
        [marked] = self._marked([source])
        return self._engine.stream(marked, options, [*self._begins.target, *prefix])

    def align(self, sources: IdRows, targets: IdRows) -> list[Alignment]:
        """As `TranslationEngine.align`; attention is that to the rows without their marks."""
        found = self._engine.align(self._marked(sources), targets)
        first = len(self._begins.source)
        return [
            dataclasses.replace(one, attention=one.attention[:, first:]) if first else one
            for one in found
        ]

    def encoder_states(self, sources: IdRows) -> list[npt.NDArray[np.float32]]:
        """As `TranslationEngine.encoder_states`; those of the marks come first."""
        return self._engine.encoder_states(self._marked(sources))

    def _marked(self, sources: IdRows) -> list[list[int]]:
        return [marked_source(self._begins, row) for row in sources]
