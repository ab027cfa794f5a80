"""The decoder (paper, section 3.1), over a whole sequence or some tokens at a time with a cache.
Both run the same code, on newly projected or on cached keys and values.
"""

from collections.abc import Sequence
from typing import Any

import keras
from keras import ops

from keras_transformer.layers.attention import KeysValues
from keras_transformer.layers.masks import attention_mask, places_seen
from keras_transformer.layers.stack import Block, Stack, SubLayer
from keras_transformer.layers.variants.relative_bias import RelativeBias

Tensor = Any


def write_cache(cache: Tensor, new: Tensor, step: Tensor) -> Tensor:
    """Writes places of a cache that follow each other.

    Args:
        cache: `(rows, heads, cache_length, width)`.
        new: `(rows, heads, places, width)`.
        step: int32 scalar, the first place to write; the last is less than cache_length.

    Returns:
        The cache with `new` from `step` on.
    """
    places = ops.arange(ops.shape(cache)[2], dtype="int32")
    if new.shape[2] == 1:
        here = ops.equal(places, step)
    else:
        last = ops.shape(new)[2] - 1
        from_here = places - step
        here = ops.logical_and(from_here >= 0, from_here <= last)
        new = ops.take(new, ops.clip(from_here, 0, last), axis=2)
    return ops.where(here[None, None, :, None], ops.cast(new, cache.dtype), cache)


@keras.saving.register_keras_serializable("keras_transformer")
class DecoderBlock(Block):
    """Masked self-attention, attention to the encoder, feed-forward, each in a residual.

    Args:
        attends_source: Whether there is attention to an encoder; False for a block of a
            decoder-only model.
        **arguments: As for `Block`.
    """

    def __init__(self, *, attends_source: bool = True, **arguments: Any) -> None:
        super().__init__(**arguments)
        self.attends_source = attends_source

    def build(self, states_shape: Any) -> None:
        """Creates the sub-layers for the states' width (the encoder's is the same)."""
        self.self_attention = self._attention("self_attention")
        self.self_attention_residual = self._residual("self_attention")
        if self.attends_source:
            self.cross_attention = self._attention("cross_attention", knows_places=False)
            self.cross_attention_residual = self._residual("cross_attention")
        self.feed_forward = self._feed_forward()
        self.feed_forward_residual = self._residual("feed_forward")
        self._build_sub_layers(states_shape)

    @property
    def sub_layers(self) -> tuple[SubLayer, ...]:
        """Self-attention, attention to the source if there is one, and feed-forward."""
        cross: tuple[SubLayer, ...] = ()
        if self.attends_source:
            cross = (SubLayer(self.cross_attention, self.cross_attention_residual, "source"),)
        return (
            SubLayer(self.self_attention, self.self_attention_residual, "own"),
            *cross,
            SubLayer(self.feed_forward, self.feed_forward_residual, None),
        )

    def call(
        self,
        states: Tensor,
        encoder_states: Tensor | None = None,
        keep_mask: Tensor | None = None,
        source_keep_mask: Tensor | None = None,
        training: bool | None = None,
        bias: Tensor | None = None,
    ) -> Tensor:
        """Runs the block over whole sequences.

        Args:
            states: `(batch, target_length, model_dim)`.
            encoder_states: `(batch, source_length, model_dim)`; None without attention to a source.
            keep_mask: Boolean, broadcasts to `(batch, heads, target_length, target_length)`.
            source_keep_mask: Boolean, broadcasts to
                `(batch, heads, target_length, source_length)`.
            training: Whether to apply dropout.
            bias: Added to the scores of self-attention; broadcasts to `(batch, heads,
                target_length, target_length)`.

        Returns:
            `(batch, target_length, model_dim)`.
        """
        inputs = self.self_attention_residual.enter(states)
        own = self.self_attention.project(inputs)
        cross = self.cross_attention.project(encoder_states) if self.attends_source else None
        states, _ = self._run(
            states, inputs, own, keep_mask, cross, source_keep_mask, training, bias=bias
        )
        return states

    def align(
        self,
        states: Tensor,
        keep_mask: Tensor,
        source_keep_mask: Tensor,
        cross: KeysValues,
        bias: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:
        """Runs the block over whole sequences and returns their attention to the source.

        Args:
            states: `(batch, target_length, model_dim)`.
            keep_mask: As for the call.
            source_keep_mask: As for the call.
            cross: Projected encoder keys and values `(batch, heads, source_length, width)`.
            bias: As for the call.

        Returns:
            States, and the cross-attention's weights `(batch, heads, target_length,
            source_length)`.
        """
        inputs = self.self_attention_residual.enter(states)
        own = self.self_attention.project(inputs)
        return self._run(states, inputs, own, keep_mask, cross, source_keep_mask, False, bias=bias)

    def step(
        self,
        states: Tensor,
        step: Tensor,
        source_keep_mask: Tensor | None,
        cross: KeysValues | None,
        cache: KeysValues,
        bias: Tensor | None = None,
    ) -> tuple[Tensor, KeysValues]:
        """Runs the block on the tokens from position `step` on: one, or several at once.

        Args:
            states: `(rows, tokens, model_dim)`, rows a multiple of the batch: the hypotheses of one
                sentence are adjacent.
            step: int32 scalar, tokens already in the cache.
            source_keep_mask: Boolean `(batch, 1, 1, source_length)`.
            cross: Projected encoder keys and values `(batch, heads, source_length, width)`.
            cache: Keys and values `(rows, heads, cache_length, width)`.
            bias: Added to the scores of self-attention: `(1, heads, tokens, cache_length)`.

        Returns:
            States `(rows, tokens, model_dim)` and the cache with these positions written.
        """
        inputs = self.self_attention_residual.enter(states)
        keys, values = self.self_attention.project(inputs, first_place=step)
        cache = (write_cache(cache[0], keys, step), write_cache(cache[1], values, step))
        mask = places_seen(cache[0], step, ops.shape(states)[1])
        states, _ = self._run(
            states, inputs, cache, mask, cross, source_keep_mask, False, first_place=step, bias=bias
        )
        return states, cache

    def _run(
        self,
        states: Tensor,
        inputs: Tensor,
        own: KeysValues,
        keep_mask: Tensor | None,
        cross: KeysValues | None,
        source_keep_mask: Tensor | None,
        training: bool | None,
        first_place: Tensor | int = 0,
        bias: Tensor | None = None,
    ) -> tuple[Tensor, Tensor | None]:
        attended = self.self_attention.attend(
            inputs, own, keep_mask, training=training, first_place=first_place, bias=bias
        )
        states = self.self_attention_residual(states, attended, training=training)
        weights = None
        if cross is not None:
            attended, weights = self._attend_source(
                self.cross_attention_residual.enter(states), cross, source_keep_mask, training
            )
            states = self.cross_attention_residual(states, attended, training=training)
        transformed = self.feed_forward(self.feed_forward_residual.enter(states), training=training)
        states = self.feed_forward_residual(states, transformed, training=training)
        return states, weights

    def _attend_source(
        self,
        states: Tensor,
        cross: KeysValues,
        source_keep_mask: Tensor | None,
        training: bool | None,
    ) -> tuple[Tensor, Tensor]:
        # The beams of a sentence become queries in one row, so that its keys are not copied.
        width = states.shape[-1]
        queries = ops.reshape(states, (ops.shape(cross[0])[0], -1, width))
        attended, weights = self.cross_attention.attend(
            queries, cross, source_keep_mask, return_weights=True, training=training
        )
        return ops.reshape(attended, (-1, ops.shape(states)[1], width)), weights

    def get_config(self) -> dict[str, Any]:
        """Returns the constructor's arguments."""
        return {**super().get_config(), "attends_source": self.attends_source}


@keras.saving.register_keras_serializable("keras_transformer")
class Decoder(Stack):
    """The decoder's N blocks.

    Args:
        num_layers: Number of blocks N.
        attends_source: Whether the blocks attend to an encoder; False for a decoder-only model.
        **arguments: As for a block.
    """

    block_class = DecoderBlock
    attends_ahead = False

    def __init__(self, num_layers: int, attends_source: bool = True, **arguments: Any) -> None:
        super().__init__(num_layers, **arguments)
        self.attends_source = attends_source

    def call(
        self,
        states: Tensor,
        encoder_states: Tensor | None = None,
        keep_mask: Tensor | None = None,
        source_keep_mask: Tensor | None = None,
        training: bool | None = None,
    ) -> Tensor:
        """Runs the blocks over whole sequences.

        Args:
            states: `(batch, target_length, model_dim)`.
            encoder_states: `(batch, source_length, model_dim)`; None without attention to a source.
            keep_mask: Boolean `(batch, target_length)`, True at real target tokens; all if None.
            source_keep_mask: Boolean `(batch, source_length)`, True at real source tokens; all if
                None.
            training: Whether to apply dropout.

        Returns:
            `(batch, target_length, model_dim)`.
        """
        if keep_mask is None:
            keep_mask = ops.ones(ops.shape(states)[:2], dtype="bool")
        mask = attention_mask(keep_mask, causal=True)
        source_mask = None if source_keep_mask is None else attention_mask(source_keep_mask)
        biases = self.attention_biases(states)
        masks = {"keep_mask": mask, "source_keep_mask": source_mask}
        for block, bias in zip(self.blocks, biases, strict=True):
            inputs = {"states": states, "encoder_states": encoder_states, "bias": bias}
            states = self._run_block(block, inputs, masks, training)
        return self._finish(states)

    def project(self, encoder_states: Tensor) -> list[KeysValues]:
        """Projects the encoder's states once for each block's cross-attention.

        Returns:
            For each block keys `(batch, heads, source_length, key_dim)` and values
            `(batch, heads, source_length, value_dim)`.
        """
        return [block.cross_attention.project(encoder_states) for block in self.blocks]

    def align(
        self,
        states: Tensor,
        keep_mask: Tensor,
        source_keep_mask: Tensor,
        cross: list[KeysValues],
    ) -> tuple[Tensor, Tensor]:
        """Runs the blocks over whole sequences and returns their attention to the source.

        Args:
            states: `(batch, target_length, model_dim)`.
            keep_mask: Boolean `(batch, target_length)`, True at real target tokens.
            source_keep_mask: Boolean `(batch, source_length)`, True at real source tokens.
            cross: `project`'s result.

        Returns:
            States, and the mean of all blocks' and heads' cross-attention `(batch, target_length,
            source_length)`.
        """
        mask, source_mask = attention_mask(keep_mask, causal=True), attention_mask(source_keep_mask)
        biases = self.attention_biases(states)
        weights = []
        for block, keys_values, bias in zip(self.blocks, cross, biases, strict=True):
            states, attention = block.align(states, mask, source_mask, keys_values, bias)
            weights.append(ops.mean(attention, axis=1))
        return self._finish(states), sum(weights) / len(weights)

    def step(
        self,
        states: Tensor,
        step: Tensor,
        source_keep_mask: Tensor | None,
        cross: Sequence[KeysValues | None],
        caches: list[KeysValues],
    ) -> tuple[Tensor, list[KeysValues]]:
        """Runs the blocks on the tokens from position `step` on: one, or several at once.

        Args:
            states: `(rows, tokens, model_dim)`.
            step: int32 scalar, tokens already in the caches.
            source_keep_mask: Boolean `(batch, source_length)`; None without attention to a source.
            cross: `project`'s result; for each block None without attention to a source.
            caches: For each block what `DecoderBlock.step` takes.

        Returns:
            States `(rows, tokens, model_dim)` and the caches with these positions written.
        """
        mask = None if source_keep_mask is None else attention_mask(source_keep_mask)

        def biases_of(relative: RelativeBias) -> Tensor:
            keys = ops.arange(ops.shape(caches[0][0])[2], dtype="int32")
            places = ops.cast(step, "int32") + ops.arange(ops.shape(states)[1], dtype="int32")
            return relative.between(places, keys)

        biases = self._biases(biases_of)
        new_caches = []
        for block, keys_values, cache, bias in zip(self.blocks, cross, caches, biases, strict=True):
            states, new_cache = block.step(states, step, mask, keys_values, cache, bias)
            new_caches.append(new_cache)
        return self._finish(states), new_caches

    def get_config(self) -> dict[str, Any]:
        """Returns the constructor's arguments."""
        return {**super().get_config(), "attends_source": self.attends_source}
