"""The encoder: a stack of self-attention and feed-forward blocks (paper, section 3.1)."""

from typing import Any

import keras

from keras_transformer.config.stack import BlockConfig
from keras_transformer.layers.masks import attention_mask
from keras_transformer.layers.stack import Block, Stack, SubLayer
from keras_transformer.tensors import Tensor


@keras.saving.register_keras_serializable("keras_transformer")
class EncoderBlock(Block):
    """Self-attention, then feed-forward, each in a residual connection.

    Input and output:
        states `(batch, source_length, model_dim)`; keep_mask boolean, broadcasting to
        `(batch, heads, source_length, source_length)`.
    """

    def __init__(self, config: BlockConfig, **kwargs: Any) -> None:
        if isinstance(config, BlockConfig) and config.source is not None:
            raise ValueError("an encoder's block attends to no source: its source must be None.")
        super().__init__(config, **kwargs)

    def build(self, states_shape: Any) -> None:
        """Creates the sub-layers for the states' width."""
        self.attention = self._attention(self.config.own, "attention")
        self.attention_residual = self._residual("attention")
        self.feed_forward = self._feed_forward()
        self.feed_forward_residual = self._residual("feed_forward")
        self._build_sub_layers(states_shape)

    @property
    def sub_layers(self) -> tuple[SubLayer, ...]:
        """Self-attention and feed-forward."""
        return (
            SubLayer(self.attention, self.attention_residual, "own"),
            SubLayer(self.feed_forward, self.feed_forward_residual, None),
        )

    def call(
        self,
        states: Tensor,
        keep_mask: Tensor | None = None,
        training: bool | None = None,
        bias: Tensor | None = None,
    ) -> Tensor:
        """Runs the block; `bias` is added to the scores of its self-attention."""
        attended = self.attention(
            self.attention_residual.enter(states), keep_mask=keep_mask, training=training, bias=bias
        )
        states = self.attention_residual(states, attended, training=training)
        transformed = self.feed_forward(self.feed_forward_residual.enter(states), training=training)
        return self.feed_forward_residual(states, transformed, training=training)


@keras.saving.register_keras_serializable("keras_transformer")
class Encoder(Stack):
    """The encoder's N blocks.

    Input and output:
        states `(batch, source_length, model_dim)`; keep_mask boolean `(batch, source_length)`,
        True at real tokens.
    """

    block_class = EncoderBlock
    attends_ahead = True

    def call(
        self,
        states: Tensor,
        keep_mask: Tensor | None = None,
        training: bool | None = None,
        visible: Tensor | None = None,
    ) -> Tensor:
        """Runs the blocks one after the other.

        `visible` is boolean `(source_length, source_length)`, False where a query must not see a
        key; None for all.
        """
        mask = None if keep_mask is None else self.own_mask(keep_mask)
        if visible is not None:
            mask = visible if mask is None else mask & visible
        biases = self.attention_biases(states)
        for block, bias in zip(self.blocks, biases, strict=True):
            inputs = {"states": states, "bias": bias}
            states = self._run_block(block, inputs, {"keep_mask": mask}, training)
        return self._finish(states)

    def own_mask(self, keep_mask: Tensor) -> Tensor:
        """Returns what a block takes as `keep_mask`, from `(batch, source_length)`."""
        return attention_mask(keep_mask)
