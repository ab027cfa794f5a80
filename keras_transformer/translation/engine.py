"""The interface of a translation engine, from rows of source ids to candidates, alignments or
encoder states. A translator of text knows nothing else of models, graphs and batches.
"""

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

from keras_transformer.search.model_limits import IdRows, ModelLimits
from keras_transformer.search.options import Candidate, SearchOptions
from keras_transformer.search.phrases import Phrases
from keras_transformer.search.stops import Stops

Attention = npt.NDArray[np.float32]


@dataclasses.dataclass(frozen=True)
class Alignment:
    """The model's log-probabilities and attention for a given translation.

    Attributes:
        log_probabilities: float32 `(target_length,)` in nats, of each token and of eos.
        attention: float32 `(target_length, source_length)`, the attention of each of them to the
            source, its eos included: the mean of all layers and heads.
    """

    log_probabilities: npt.NDArray[np.float32]
    attention: Attention


class TranslationEngine(Protocol):
    """Translates rows of ids, in any number and order, each without begin and end tokens.

    Every method checks its arguments against `limits` before it computes anything.
    """

    @property
    def limits(self) -> ModelLimits:
        """What the model can take."""
        ...

    @property
    def model_dim(self) -> int:
        """Width of the encoder's states."""
        ...

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
        """Returns each source's candidates, best first, or its samples in order.

        Args:
            sources: Ids of each source. An empty one has one empty candidate of score 0.
            options: The search's options.
            prefixes: Ids that each translation begins with; none if None.
            with_scores: Whether scores are needed; an engine may be faster without them.
            stops: What ends texts beside eos; None to look for `stop_tokens` alone.
            phrases: What each translation must hold; empty for nothing.

        Returns:
            Candidates of each source: fewer than `num_hypotheses` if fewer are possible, and an
            empty one of score -inf if none is.

        Raises:
            ValueError: A source, a prefix, a phrase or an option does not fit the model.
        """
        ...

    def stream(
        self, source: Sequence[int], options: SearchOptions, prefix: Sequence[int] = ()
    ) -> Iterator[int]:
        """Yields the tokens of one greedy translation or sample as they are decoded, without eos.

        It looks for no stops: the caller, who does, closes the iterator.

        Args:
            source: Ids of the source.
            options: The search's options; one beam and one hypothesis that ends where it first may.
            prefix: Ids that the translation begins with; they are yielded too.

        Raises:
            ValueError: A source, a prefix or an option does not fit the model; raised at once.
        """
        ...

    def align(self, sources: IdRows, targets: IdRows) -> list[Alignment]:
        """Returns the alignment of each given translation with its source.

        Args:
            sources: Ids of each source.
            targets: Ids of its translation.

        Raises:
            ValueError: The numbers of sources and targets differ, or one does not fit the model.
        """
        ...

    def attend(self, sources: IdRows, targets: IdRows) -> list[Attention]:
        """Returns the attention of each given translation to its source alone; see `align`."""
        ...

    def encoder_states(self, sources: IdRows) -> list[npt.NDArray[np.float32]]:
        """Returns the encoder's states of each source: float32 `(source_length, model_dim)`.

        Args:
            sources: Ids of each source; the states include eos.

        Raises:
            ValueError: A source does not fit the model.
        """
        ...


def tokens_of(
    engine: TranslationEngine,
    source: Sequence[int],
    options: SearchOptions,
    prefix: Sequence[int] = (),
    stops: Stops | None = None,
    phrases: Phrases = (),
) -> Iterator[int]:
    """Yields the tokens of one translation as `TranslationEngine.stream` does, also where no token
    is certain before the last.

    What is found at once then ends at one of `stops`.
    """
    if options.looks_past_ends or phrases:
        [[best]] = engine.search(
            [source], options, [prefix], with_scores=False, stops=stops, phrases=[phrases]
        )
        return iter(best.ids)
    return engine.stream(source, options, prefix)
