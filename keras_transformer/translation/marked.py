"""A model's marks in rows of ids, such as the ids of languages before a source or a target."""

import dataclasses
from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from keras_transformer.config.sentence_marks import Begins, SentenceMarks
from keras_transformer.search.model_limits import IdRows, ModelLimits
from keras_transformer.search.options import Candidate, SearchOptions
from keras_transformer.search.phrases import Phrases
from keras_transformer.search.stops import Stops
from keras_transformer.translation.engine import Alignment, Attention, TranslationEngine


def without_languages(options: SearchOptions) -> SearchOptions:
    """Returns the options that an engine knows."""
    if options.source_language is None and options.target_language is None:
        return options
    return dataclasses.replace(options, source_language=None, target_language=None)


def read_tags(
    marks: SentenceMarks, texts: Sequence[str], options: SearchOptions
) -> tuple[list[str], list[Begins]]:
    """Returns texts without tags of languages, and the marks of each.

    A tag such as `>>fra<<` at a text's beginning names the language to translate that text into,
    whatever the options say, if the model knows tags.

    Raises:
        ValueError: The model does not know a language, or one is needed and none is named.
    """
    asked = options.source_language, options.target_language
    # An unknown language is refused even if no text needs it.
    default = marks.begins(*asked) if any(asked) else None
    rests, begins = [], []
    for text in texts:
        tagged = marks.read_tag(text)
        rests.append(tagged.text)
        if tagged.language is not None:
            begins.append(marks.begins(options.source_language, tagged.language))
        else:
            default = default or marks.begins()
            begins.append(default)
    return rests, begins


class MarkedEngine:
    """A `TranslationEngine` whose rows do not hold the marks of their languages.

    Found translations begin with theirs, as targets to align do.

    Args:
        engine: The engine, which reads marked rows.
        begins: The marks of each row, or one for all of them.
    """

    def __init__(self, engine: TranslationEngine, begins: Sequence[Begins]) -> None:
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
        stops: Stops | None = None,
        phrases: Sequence[Phrases] = (),
    ) -> list[list[Candidate]]:
        """As `TranslationEngine.search`."""
        begins = self._of(sources)
        if any(one.target for one in begins):
            rows = prefixes or [[]] * len(sources)
            prefixes = [[*one.target, *row] for one, row in zip(begins, rows, strict=True)]
        return self._engine.search(
            self._marked(sources),
            options,
            prefixes,
            with_scores=with_scores,
            stops=stops,
            phrases=phrases,
        )

    def stream(
        self, source: Sequence[int], options: SearchOptions, prefix: Sequence[int] = ()
    ) -> Iterator[int]:
        """As `TranslationEngine.stream`."""
        [begins], [marked] = self._of([source]), self._marked([source])
        return self._engine.stream(marked, options, [*begins.target, *prefix])

    def align(self, sources: IdRows, targets: IdRows) -> list[Alignment]:
        """As `TranslationEngine.align`; attention is that to the rows without their marks."""
        found = self._engine.align(self._marked(sources), targets)
        return [
            dataclasses.replace(one, attention=one.attention[:, len(begins.source) :])
            for one, begins in zip(found, self._of(sources), strict=True)
        ]

    def attend(self, sources: IdRows, targets: IdRows) -> list[Attention]:
        """As `TranslationEngine.attend`, to the rows without their marks."""
        found = self._engine.attend(self._marked(sources), targets)
        return [
            one[:, len(begins.source) :]
            for one, begins in zip(found, self._of(sources), strict=True)
        ]

    def encoder_states(self, sources: IdRows) -> list[npt.NDArray[np.float32]]:
        """As `TranslationEngine.encoder_states`; those of the marks come first."""
        return self._engine.encoder_states(self._marked(sources))

    def _of(self, rows: IdRows) -> Sequence[Begins]:
        return self._begins if len(self._begins) == len(rows) else [*self._begins] * len(rows)

    def _marked(self, sources: IdRows) -> list[list[int]]:
        """Returns sources behind their marks; empty ones stay empty, as their translations do."""
        return [
            [*begins.source, *row] if len(row) else []
            for begins, row in zip(self._of(sources), sources, strict=True)
        ]
