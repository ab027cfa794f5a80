"""Takes a model and returns its parts as graph functions: each is traced once and is in the
SavedModel once, whichever signatures and loops of the search call it.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import tensorflow as tf

from keras_transformer.config.stack import BlockConfig
from keras_transformer.layers.attention import KeysValues
from keras_transformer.layers.decoder.block import Cache
from keras_transformer.models.transformer import Transformer

Tensor = Any

ROWS = tf.TensorSpec((None, None), tf.int32)


@contextmanager
def unoptimized() -> Iterator[None]:
    """Keeps TensorFlow from optimizing functions that are traced or called inside.

    A call keeps this setting from when it is traced. A server that loads the SavedModel optimizes
    the functions together with the graph that calls them, and need not optimize each again at its
    first call.
    """
    options = tf.config.optimizer.get_experimental_options()
    before = options.get("disable_meta_optimizer", False)
    tf.config.optimizer.set_experimental_options({"disable_meta_optimizer": True})
    try:
        yield
    finally:
        tf.config.optimizer.set_experimental_options({"disable_meta_optimizer": before})


class SharedParts:
    """The parts of a model that decoding and scoring use; encoder and decoder are shared.

    Args:
        model: A model that computes in float32.

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
        cross = [cache_specs(model.config)] * layers
        caches: Any = cross
        if model.config.decoder_recurrence is not None:
            caches = [(tf.TensorSpec((None, model.config.model_dim), tf.float32),)] * layers
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


def of_known_length(written: list[Cache], caches: list[Cache]) -> list[Cache]:
    """Returns caches with the static shape that they had before a shared function wrote them.

    The function takes caches of any length, so the static length, which the search reads, is lost.
    """
    for new, old in zip(tf.nest.flatten(written), tf.nest.flatten(caches), strict=True):
        new.set_shape(old.shape)
    return written


def cache_specs(config: BlockConfig) -> tuple[tf.TensorSpec, tf.TensorSpec]:
    """Returns the specs of a block's keys and values, of any length."""
    keys, values = (
        tf.TensorSpec((None, config.key_value_heads, None, width), tf.float32)
        for width in (config.key_dim, config.value_dim)
    )
    return keys, values


def shared(function: Callable[..., Any], *specs: Any) -> Any:
    """Returns a graph function that its callers call rather than copy.

    Without `_noinline`, TensorFlow copies the body into every caller before it runs. The search has
    a loop for each length of its buffers, and would optimize a copy of the decoder for each.
    """
    attributes = {"_noinline": True}
    return tf.function(
        function, input_signature=specs, autograph=False, experimental_attributes=attributes
    )
