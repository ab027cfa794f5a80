"""The parts of a live model as graph functions and as the steps of a search: each is traced once,
and in a SavedModel once, whichever signatures and loops of the search call it.
"""

import dataclasses
from collections.abc import Callable
from typing import Any

import tensorflow as tf
from keras import ops

from keras_transformer.config.special_ids import SpecialIds
from keras_transformer.decoding.hypotheses import SearchState, Sentences
from keras_transformer.decoding.search import advance_one
from keras_transformer.layers.decoder.block import Cache
from keras_transformer.layers.masks import padding_mask
from keras_transformer.models.decoding_steps import DecodingSteps, Source
from keras_transformer.models.transformer import Transformer
from keras_transformer.search.options import SearchOptions
from keras_transformer.tensors import Tensor

ROWS = tf.TensorSpec((None, None), tf.int32)


class SharedDecoder:
    """The decoder of a model as shared graph functions, which are traced when they are first used.

    Args:
        model: A trained model; changed weights take effect at once.

    Attributes:
        empty_caches: As `DecodingSteps.empty_caches`.
        cache_room: Tokens that caches hold at most, of which they forget the oldest; None for all.
    """

    def __init__(self, model: DecodingSteps) -> None:
        self.empty_caches = model.empty_caches
        self.cache_room: int | None = getattr(model.config, "cache_room", None)
        self._functions: dict[str, Callable[..., Any]] = {
            "decode_step": model.decode_step,
            "read_prefix": model.read_prefix,
        }
        self._graphs: dict[str, Any] = {}

    def decode_step(
        self, token_ids: Tensor, step: Tensor, caches: list[Cache], source: Source | None = None
    ) -> tuple[Tensor, list[Cache]]:
        """As `DecodingSteps.decode_step`."""
        return self._run("decode_step", token_ids, step, caches, source)

    def read_prefix(
        self,
        token_ids: Tensor,
        step: Tensor,
        caches: list[Cache],
        source: Source | None = None,
        labels: Tensor | None = None,
    ) -> tuple[Tensor | None, list[Cache]]:
        """As `DecodingSteps.read_prefix`; of a model, there are always labels or never."""
        return self._run("read_prefix", token_ids, step, caches, source, labels)

    def _run(self, name: str, ids: Tensor, step: Tensor, caches: list[Cache], *read: Any) -> Any:
        given = [part for part in read if part is not None]
        if name not in self._graphs:
            inputs = [tf.nest.map_structure(_spec_of_input, part) for part in (ids, step, *given)]
            inputs.insert(2, tf.nest.map_structure(_spec_of_state, caches))
            self._graphs[name] = shared(self._functions[name], *inputs)
        result, written = self._graphs[name](ids, step, caches, *given)
        return result, of_known_length(written, caches)


class SharedParts(SharedDecoder):
    """The parts of a translator's model that decoding and scoring use.

    Args:
        model: A trained model; changed weights take effect at once.

    Attributes:
        encoder_states: Takes ids int32 `(batch, length)`, returns `(batch, length, model_dim)`.
        align: As `DecodingSteps.align`.
    """

    def __init__(self, model: Transformer) -> None:
        super().__init__(model)
        encoder = model.encoder
        self.encoder_states = shared(
            lambda source_ids: encoder({"source_ids": source_ids}, training=False), ROWS
        )
        self.align = model.align
        self._project = model.decoder_stack.project
        self._pad = model.config.special_ids.pad

    def read_source(self, source_ids: Tensor) -> Source:
        """As `Transformer.read_source`."""
        keys_values = self._project(self.encoder_states(source_ids))
        return Source(padding_mask(source_ids, self._pad), keys_values)


class CachedSteps:
    """A model's decode step as a `Stepper`, with the keys and values of earlier tokens in a cache.

    Args:
        model: The decoder as shared graph functions.
        special_ids: The model's.
        source: A batch's sources. Without one the prefixes are prompts, which cost nothing.
    """

    def __init__(
        self, model: SharedDecoder, special_ids: SpecialIds, source: Source | None = None
    ) -> None:
        self.model = model
        self.special_ids = special_ids
        self.source = source

    def start(self, rows: Tensor, length: int) -> Any:
        """Returns empty caches."""
        return self.model.empty_caches(rows, self._held(length))

    def grow(self, state: Any, length: int) -> Any:
        """Returns the caches with room for `length` positions."""

        def pad(part: Tensor) -> Tensor:
            if len(part.shape) == 2:  # The state of a recurrence.
                return part
            return ops.pad(part, [[0, 0], [0, 0], [0, held - part.shape[2]], [0, 0]])

        held = self._held(length)
        return [tuple(map(pad, cache)) for cache in state]

    def step(self, ids: Tensor, step: Tensor, state: Any) -> tuple[Tensor, Any]:
        """Runs the decoder on the newest tokens."""

        def run(begin: Tensor, caches: Any) -> tuple[Tensor, Any]:
            return self.model.decode_step(ids, begin, caches, self.source)

        return self._forgetting(run, step, 1, state)

    def read(
        self, ids: Tensor, labels: Tensor, step: Tensor, state: Any
    ) -> tuple[Tensor | None, Any]:
        """Runs the decoder on several tokens of each sentence."""
        scored = None if self.source is None else labels

        def run(begin: Tensor, caches: Any) -> tuple[Tensor | None, Any]:
            return self.model.read_prefix(ids, begin, caches, self.source, scored)

        return self._forgetting(run, step, ops.shape(ids)[1], state)

    def _held(self, length: int) -> int:
        room = self.model.cache_room
        return length if room is None else min(length, room)

    def _forgetting(
        self, run: Callable[[Tensor, Any], tuple[Any, Any]], step: Tensor, count: Any, state: Any
    ) -> tuple[Any, Any]:
        """Runs the decoder on `count` tokens from `step` on, with caches that keep the newest ones.

        Places are counted from the oldest one that a cache holds: the model knows distances alone.
        """
        if self.model.cache_room is None:
            return run(step, state)
        room = ops.shape(state[0][0])[2]
        forgotten = ops.maximum(step - room, 0)
        rest = [[0, 0], [0, 0], [0, count], [0, 0]]
        found, written = run(step - forgotten, _of_each(state, lambda part: ops.pad(part, rest)))
        first = ops.maximum(step + count - room, 0) - forgotten
        newest = _of_each(written, lambda part: part[:, :, first : first + room])
        return found, of_known_length(newest, state)


class SharedSteps:
    """The steps of searches, each of which all lengths of the search's buffers share.

    Args:
        model: The decoder as shared graph functions.
        special_ids: The model's.
    """

    def __init__(self, model: SharedDecoder, special_ids: SpecialIds) -> None:
        self._model = model
        self._special_ids = special_ids
        self._graphs: dict[tuple[Any, ...], Any] = {}

    def stepper(self, source: Source | None = None) -> CachedSteps:
        """Returns the model as the `Stepper` of a batch."""
        return CachedSteps(self._model, self._special_ids, source)

    def advance(
        self, options: SearchOptions, source: Source | None, sentences: Sentences
    ) -> Callable[[SearchState], SearchState]:
        """Returns one step of a batch's search, as a function of the state alone.

        Args:
            options: What to search for. Only the random numbers, an input, depend on seed and
                place.
            source: The batch's sources; None for a decoder alone.
            sentences: Limits, prefixes and other inputs that differ from sentence to sentence.
        """
        options = dataclasses.replace(options, seed=None, first_place=0)
        given = {name: part for name, part in sentences._asdict().items() if part is not None}
        read = () if source is None else (source,)

        def run(read: tuple[Any, ...], given: dict[str, Tensor], state: SearchState) -> SearchState:
            return advance_one(self.stepper(*read), state, Sentences(**given), options)

        def advance(state: SearchState) -> SearchState:
            key = (options, state.ids.shape[1], *given)
            if key not in self._graphs:
                specs = [tf.nest.map_structure(_spec_of_input, part) for part in (read, given)]
                specs.append(tf.nest.map_structure(_spec_of_state, state))
                self._graphs[key] = shared(run, *specs)
            return of_known_length(self._graphs[key](read, given, state), state)

        return advance


def _of_each(caches: Any, change: Callable[[Tensor], Tensor]) -> Any:
    return [tuple(map(change, cache)) for cache in caches]


def _spec_of_input(part: Tensor) -> tf.TensorSpec:
    """Returns the spec of ids `(batch, length)`, keys and values, or what else does not change."""
    return tf.TensorSpec((None, None), part.dtype) if len(part.shape) == 2 else _spec_of_state(part)


def _spec_of_state(part: Tensor) -> tf.TensorSpec:
    """Returns the spec of a part that changes: `(rows, width)`, or `(rows, width, length, …)`."""
    shape = list(part.shape)
    for axis in (0, 2):
        shape[axis : axis + 1] = [None] * len(shape[axis : axis + 1])
    return tf.TensorSpec(shape, part.dtype)


def of_known_length(written: Any, before: Any) -> Any:
    """Returns tensors with the static shape that they had before a shared function wrote them.

    The function takes tensors of any length, so the static length, which the search reads, is lost.
    """
    for new, old in zip(tf.nest.flatten(written), tf.nest.flatten(before), strict=True):
        new.set_shape(old.shape)
    return written


def shared(function: Callable[..., Any], *specs: Any) -> Any:
    """Returns a graph function that its callers call rather than copy.

    Without `_noinline`, TensorFlow copies the body into every caller before it runs. The search has
    a loop for each length of its buffers, and would optimize a copy of the decoder for each.
    """
    return as_graph(function, *specs, experimental_attributes={"_noinline": True})


def as_graph(function: Callable[..., Any], *specs: Any, **settings: Any) -> Any:
    """Returns a function's graph, traced at its first call.

    Loops and conditions are `keras.ops` already: AutoGraph would only slow down tracing.

    Args:
        function: Takes tensors, or nests of them, and returns tensors.
        specs: The `tf.TensorSpec` of each argument, nested like it.
        settings: Other arguments of `tf.function`.
    """
    return tf.function(function, input_signature=specs, autograph=False, **settings)
