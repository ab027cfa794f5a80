"""The translation engine of a live Keras model: rows of source ids, in any number and order, to
candidates. The search runs as a TensorFlow graph.
"""

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import tensorflow as tf

from keras_transformer.decoding.batches import batches, pad
from keras_transformer.decoding.cached_steps import CachedSteps
from keras_transformer.decoding.candidates import (
    SearchWatches,
    candidates_of,
    strip,
    with_seed,
    without_stops,
)
from keras_transformer.decoding.hypotheses import SearchState, Sentences
from keras_transformer.decoding.parts import ROWS, SharedParts, SharedSteps, as_graph
from keras_transformer.decoding.scoring import TeacherForcing
from keras_transformer.decoding.search import search, search_steps
from keras_transformer.keras_backend import require_tensorflow_backend
from keras_transformer.models import Transformer
from keras_transformer.search.memory import HypothesisSize
from keras_transformer.search.model_limits import IdRows, ModelLimits
from keras_transformer.search.options import EMPTY, NOTHING_FOUND, Candidate, SearchOptions
from keras_transformer.search.random_numbers import uniforms
from keras_transformer.search.stops import Stops
from keras_transformer.tensors import Tensor
from keras_transformer.translation.engine import Alignment


class KerasEngine:
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
        HypothesisSize.of(vars(model.config)).check_batch(batch_tokens)
        self.limits = ModelLimits.of(model.config.to_dict(), model.config.special_ids)
        self.model_dim = model.config.model_dim
        self._model = model
        self._parts = SharedParts(model)
        self._steps = SharedSteps(self._cached_steps)
        self._special_ids = model.config.special_ids
        self._batch_tokens = batch_tokens
        self._searches: dict[tuple[Any, ...], Any] = {}
        self._teacher_forcing = TeacherForcing(model, batch_tokens)

        def encoder_states(source_ids: Tensor) -> Tensor:
            return tf.cast(self._parts.encoder_states(source_ids), tf.float32)

        self._encoder_states = as_graph(encoder_states, ROWS)
        self._keys_values = as_graph(self._parts.source_keys_values, ROWS)

    def search(
        self,
        sources: IdRows,
        options: SearchOptions,
        prefixes: IdRows | None = None,
        *,
        with_scores: bool = True,
        stops: Stops | None = None,
    ) -> list[list[Candidate]]:
        """As `TranslationEngine.search`; always computes the scores."""
        options, limits, prefixes = self.limits.check_search(sources, options, prefixes)
        options, stops = without_stops(with_seed(options)), stops or Stops.of(options)
        results = [[EMPTY] for _ in sources]
        lengths = {place: len(source) + 1 for place, source in enumerate(sources) if len(source)}
        for places in batches(lengths, self._batch_tokens, options.rows_per_sentence):
            source_ids = self._ended([sources[place] for place in places])
            given = _given(places, options, limits, prefixes)
            if stops is None:
                found = self._search(options, given)({"source_ids": source_ids, **given})
            else:
                watches = SearchWatches(stops, [prefixes[place] for place in places])
                found = self._search_watched(source_ids, options, given, watches)
            for place, row in zip(places, candidates_of(found, self._special_ids), strict=True):
                results[place] = row or [NOTHING_FOUND]
        return results

    def stream(
        self, source: Sequence[int], options: SearchOptions, prefix: Sequence[int] = ()
    ) -> Iterator[int]:
        """As `TranslationEngine.stream`: calls a graph of one step for each token.

        The graph is traced once for each set of options; that of `search` is made of it.
        """
        options, limits, prefixes = self.limits.check_search([source], options, [prefix])
        if not len(source):
            return iter(())
        options = without_stops(with_seed(options))
        return self._stream(source, options, _given([0], options, limits, prefixes))

    def align(self, sources: IdRows, targets: IdRows) -> list[Alignment]:
        """As `TranslationEngine.align`."""
        self.limits.check_pairs(sources, targets)
        return self._teacher_forcing.align(sources, targets)

    def encoder_states(self, sources: IdRows) -> list[npt.NDArray[np.float32]]:
        """As `TranslationEngine.encoder_states`."""
        self.limits.check_sources(sources)
        lengths = {place: len(source) + 1 for place, source in enumerate(sources)}
        found: dict[int, npt.NDArray[np.float32]] = {}
        for places in batches(lengths, self._batch_tokens):
            rows = np.array(self._encoder_states(self._ended([sources[place] for place in places])))
            found.update((p, states[: lengths[p]]) for p, states in zip(places, rows, strict=True))
        return [found[place] for place in range(len(sources))]

    def _stream(
        self, source: Sequence[int], options: SearchOptions, given: dict[str, np.ndarray]
    ) -> Iterator[int]:
        steps, sentences, advance = self._start(self._ended([source]), options, given)
        said = 0
        for state in search_steps(steps, options, sentences, advance):
            if not state.done[0]:
                yield from state.ids[0, 0, said : state.step].numpy().tolist()
                said = int(state.step)
        yield from strip(np.array(state.finished_ids[0, 0]), self._special_ids)[said:]

    def _search_watched(
        self,
        source_ids: npt.NDArray[np.int32],
        options: SearchOptions,
        given: dict[str, np.ndarray],
        watches: SearchWatches,
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Does as the graph of `_search`, step by step."""
        steps, sentences, advance = self._start(source_ids, options, given)
        found = search(steps, len(source_ids), options, sentences, advance, watches)
        return found.ids, found.scores, found.log_probabilities

    def _start(
        self,
        source_ids: npt.NDArray[np.int32],
        options: SearchOptions,
        given: dict[str, np.ndarray],
    ) -> tuple[CachedSteps, Sentences, Callable[[SearchState], SearchState]]:
        """Returns what a search takes that runs step by step."""
        sources = tf.constant(source_ids)
        steps = self._cached_steps(sources, self._keys_values(sources))
        sentences = Sentences(**given)
        advance = self._steps.advance(options, (sources, steps.cross), sentences)
        return steps, sentences, advance

    def _cached_steps(self, source_ids: Tensor, cross: Any = None) -> CachedSteps:
        return CachedSteps(self._parts, source_ids, self._special_ids, cross)

    def _search(self, options: SearchOptions, names: Iterable[str]) -> Any:
        """Returns the search as a graph, traced once for each set of options and inputs."""
        # Only the random numbers, an input, depend on seed and place.
        options = dataclasses.replace(options, seed=None, first_place=0)
        key = (options, *names)
        if key not in self._searches:

            def run(inputs: dict[str, Tensor]) -> tuple[Tensor, Tensor, Tensor]:
                source_ids = inputs["source_ids"]
                steps, batch = self._cached_steps(source_ids), tf.shape(source_ids)[0]
                given = {name: part for name, part in inputs.items() if name != "source_ids"}
                sentences = Sentences(**given)
                advance = self._steps.advance(options, (source_ids, steps.cross), sentences)
                found = search(steps, batch, options, sentences, advance)
                return found.ids, found.scores, found.log_probabilities

            inputs = _input_specs(options)
            signature = {name: inputs[name] for name in ("source_ids", *names)}
            self._searches[key] = as_graph(run, signature)
        return self._searches[key]

    def _ended(self, sources: IdRows) -> npt.NDArray[np.int32]:
        ends = self._model.config.source_ends
        return pad([[*source, *ends] for source in sources], self._special_ids.pad)


def _input_specs(options: SearchOptions) -> dict[str, tf.TensorSpec]:
    """Returns the specs of all inputs that a search may have, for any number of sentences."""
    samples = (options.num_hypotheses, options.max_length)
    return {
        "source_ids": ROWS,
        "limits": tf.TensorSpec((None,), tf.int32),
        "prefixes": ROWS,
        "uniforms": tf.TensorSpec((None, *samples), tf.float64),
    }


def _given(
    places: list[int], options: SearchOptions, limits: list[int], prefixes: IdRows
) -> dict[str, np.ndarray]:
    """Returns the search's inputs for a batch, beside its source, that the options require."""
    given: dict[str, np.ndarray] = {}
    if options.max_length_ratio is not None:
        given["limits"] = np.array([limits[place] for place in places], np.int32)
    if any(prefixes):
        # A column of -1 at the end, so that there is one even if no prefix is in this batch.
        given["prefixes"] = pad([[*prefixes[place], -1] for place in places], -1)
    if options.sample and options.seed is not None:
        given["uniforms"] = np.array(
            [
                [
                    uniforms(options.seed, options.first_place + place, rank, options.max_length)
                    for rank in range(options.num_hypotheses)
                ]
                for place in places
            ]
        )
    return given
