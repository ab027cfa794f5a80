"""The parts of a translator's model as graph functions: each is traced once, and in a SavedModel
once, whichever signatures and loops of the search call it.
"""

import dataclasses
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from keras_transformer.config.block_options import BlockOptions
from keras_transformer.decoding.hypotheses import SearchState, Sentences, Stepper
from keras_transformer.decoding.search import advance_one
from keras_transformer.layers.attention import KeysValues
from keras_transformer.layers.decoder.block import Cache
from keras_transformer.models.transformer import Transformer
from keras_transformer.search.options import SearchOptions
from keras_transformer.tensors import Tensor

ROWS = tf.TensorSpec((None, None), tf.int32)


class SharedParts:
    """The parts of a model that decoding and scoring use; encoder and decoder are shared.

    Args:
        model: A trained model; changed weights take effect at once.

    Attributes:
        encoder_states: Takes ids int32 `(batch, length)`, returns `(batch, length, model_dim)`.
        align: As `Transformer.align`.
        empty_caches: As `Transformer.empty_caches`.
    """

    def __init__(self, model: Transformer) -> None:
        encoder = model.encoder
        self.encoder_states = shared(
            lambda source_ids: encoder({"source_ids": source_ids}, training=False), ROWS
        )
        self.align = model.align
        self.empty_caches = model.empty_caches
        self._project = model.decoder_stack.project
        layers = model.config.num_decoder_layers
        cross = [cache_specs(model.config, model.compute_dtype)] * layers
        caches: Any = cross
        if model.config.decoder_recurrence is not None:
            caches = [
                (tf.TensorSpec((None, model.config.model_dim), block.ssru.state_dtype),)
                for block in model.decoder_stack.blocks
            ]
        self._decode_step = shared(
            model.decode_step,
            tf.TensorSpec((None,), tf.int32),
            tf.TensorSpec((), tf.int32),
            tf.TensorSpec((None, None), tf.bool),
            cross,
            caches,
        )
        self._read_prefix = shared(
            model.read_prefix,
            ROWS,
            ROWS,
            tf.TensorSpec((), tf.int32),
            tf.TensorSpec((None, None), tf.bool),
            cross,
            caches,
        )

    def source_keys_values(self, source_ids: Tensor) -> list[KeysValues]:
        """As `Transformer.source_keys_values`."""
        return self._project(self.encoder_states(source_ids))

    def decode_step(
        self,
        target_ids: Tensor,
        step: Tensor,
        source_keep_mask: Tensor,
        cross: list[KeysValues],
        caches: list[Cache],
    ) -> tuple[Tensor, list[Cache]]:
        """As `Transformer.decode_step`."""
        logits, written = self._decode_step(target_ids, step, source_keep_mask, cross, caches)
        return logits, of_known_length(written, caches)

    def read_prefix(
        self,
        target_ids: Tensor,
        labels: Tensor,
        step: Tensor,
        source_keep_mask: Tensor,
        cross: list[KeysValues],
        caches: list[Cache],
    ) -> tuple[Tensor, list[Cache]]:
        """As `Transformer.read_prefix`."""
        scores, written = self._read_prefix(
            target_ids, labels, step, source_keep_mask, cross, caches
        )
        return scores, of_known_length(written, caches)


class SharedSteps:
    """The steps of searches, each of which all lengths of the search's buffers share.

    Args:
        stepper: Returns the `Stepper` of a batch, from tensors that all of its steps read.
    """

    def __init__(self, stepper: Callable[..., Stepper]) -> None:
        self._stepper = stepper
        self._graphs: dict[tuple[Any, ...], Any] = {}

    def advance(
        self, options: SearchOptions, read: tuple[Any, ...], sentences: Sentences
    ) -> Callable[[SearchState], SearchState]:
        """Returns one step of a batch's search, as a function of the state alone.

        Args:
            options: What to search for. Only the random numbers, an input, depend on seed and
                place.
            read: Tensors, or nests of them: the stepper's arguments.
            sentences: Limits, prefixes and other inputs that differ from sentence to sentence.
        """
        options = dataclasses.replace(options, seed=None, first_place=0)
        given = {name: part for name, part in sentences._asdict().items() if part is not None}
        key = (options, *given)

        def run(read: tuple[Any, ...], given: dict[str, Tensor], state: SearchState) -> SearchState:
            return advance_one(self._stepper(*read), state, Sentences(**given), options)

        def advance(state: SearchState) -> SearchState:
            if key not in self._graphs:
                specs = [tf.nest.map_structure(_spec_of_input, part) for part in (read, given)]
                specs.append(tf.nest.map_structure(_spec_of_state, state))
                self._graphs[key] = shared(run, *specs)
            return of_known_length(self._graphs[key](read, given, state), state)

        return advance


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


def cache_specs(config: BlockOptions, dtype: str) -> tuple[tf.TensorSpec, tf.TensorSpec]:
    """Returns the specs of a block's keys and values, of any length."""
    keys, values = (
        tf.TensorSpec((None, config.key_value_heads, None, width), dtype)
        for width in (config.key_dim, config.value_dim)
    )
    return keys, values


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
