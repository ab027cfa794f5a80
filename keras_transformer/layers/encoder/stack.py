"""The encoder: a stack of self-attention and feed-forward blocks (paper, section 3.1)."""

from typing import Any

import keras
from keras import ops

from keras_transformer.config.stack import BlockConfig
from keras_transformer.layers.encoder.two_streams import content_mask, query_mask
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
        self.attention_residual = self._residual("attention", is_first=True)
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
        differs: Tensor | None = None,
        content: Tensor | None = None,
        places: Tensor | None = None,
    ) -> Tensor:
        """Runs the block; `bias` is added to the scores of its self-attention.

        `differs` and `places` are as for `MultiHeadAttention`. `content`, as wide as the states, is
        what they attend to in place of themselves: the states are then a stream of queries.
        """
        enter = self.attention_residual.enter
        attended = self.attention(
            enter(states),
            None if content is None else enter(content),
            keep_mask=keep_mask,
            training=training,
            bias=bias,
            differs=differs,
            places=places,
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
        token_type_ids: Tensor | None = None,
        queries: Tensor | None = None,
        order: Tensor | None = None,
        places: Tensor | None = None,
    ) -> Tensor:
        """Runs the blocks one after the other.

        Args:
            states: The content stream.
            keep_mask: Which tokens are real; all if None.
            training: Whether to apply dropout.
            visible: Boolean `(source_length, source_length)`, False where a query must not see a
                key; None for all.
            token_type_ids: Integer `(batch, source_length)`, the segments that blocks with relative
                segments read; None for one.
            queries: `(batch, predictions, model_dim)`: what the query stream begins as, whose last
                states are then returned; None without one (Yang et al. 2019).
            order: int32 `(batch, source_length)`, as for `content_mask`, with `queries`.
            places: int32 `(batch, predictions)`, where the queries stand.

        Returns:
            States, shaped as the content's or the queries'.
        """
        if queries is not None:
            of_content = {"keep_mask": content_mask(order, keep_mask)}
            of_queries = {"keep_mask": query_mask(order, keep_mask, places), "places": places}
            if token_type_ids is not None:
                of_content["differs"] = _differs(token_type_ids)
                own = ops.take_along_axis(token_type_ids, places, axis=1)
                of_queries["differs"] = _differs(own, token_type_ids)
            return self._query_stream(states, queries, of_content, of_queries, training)
        mask = None if keep_mask is None else self.own_mask(keep_mask)
        if visible is not None:
            mask = visible if mask is None else mask & visible
        masks = {"keep_mask": mask, "differs": _differs(token_type_ids)}
        biases = self.attention_biases(states)
        for block, bias in zip(self.blocks, biases, strict=True):
            states = self._run_block(block, {"states": states, "bias": bias}, masks, training)
        return self._finish(states)

    def _query_stream(
        self,
        states: Tensor,
        queries: Tensor,
        of_content: dict[str, Tensor | None],
        of_queries: dict[str, Tensor | None],
        training: bool | None,
    ) -> Tensor:
        for number, block in enumerate(self.blocks, start=1):
            asked = {"states": queries, "content": states}
            queries = self._run_block(block, asked, of_queries, training)
            if number < len(self.blocks):  # Nothing reads the last block's content.
                states = self._run_block(block, {"states": states}, of_content, training)
        return self._finish(queries)

    def own_mask(self, keep_mask: Tensor) -> Tensor:
        """Returns what a block takes as `keep_mask`, from `(batch, source_length)`."""
        return attention_mask(keep_mask)

    def masks(
        self, keep_mask: Tensor, token_type_ids: Tensor | None = None
    ) -> dict[str, Tensor | None]:
        """Returns what a block takes as masks, by name."""
        return {**super().masks(keep_mask), "differs": _differs(token_type_ids)}


def _differs(token_type_ids: Tensor | None, of_keys: Tensor | None = None) -> Tensor | None:
    """Returns which keys are of another segment than a query: `(batch, 1, queries, keys)`."""
    if token_type_ids is None:
        return None
    keys = token_type_ids if of_keys is None else of_keys
    return ops.not_equal(token_type_ids[:, None, :, None], keys[:, None, None, :])
