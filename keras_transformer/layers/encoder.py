"""The encoder: a stack of self-attention and feed-forward blocks (paper, section 3.1)."""

from typing import Any

import keras

from keras_transformer.layers.attention import MultiHeadAttention
from keras_transformer.layers.feed_forward import FeedForward
from keras_transformer.layers.masks import attention_mask
from keras_transformer.layers.recomputation import recomputed
from keras_transformer.layers.residual import Residual

Tensor = Any


class Block(keras.layers.Layer):
    """What encoder and decoder blocks share: their arguments and how parts are made of them.

    Args:
        num_heads: Attention heads.
        key_dim: Width of queries and keys per head.
        value_dim: Width of values per head.
        feed_forward_dim: Inner width of the feed-forward layer.
        dropout: Probability of dropping a feature of a sub-layer's output.
        attention_dropout: Probability of dropping an attention weight.
        activation_dropout: Probability of dropping a feature within the feed-forward layer.
        activation: The feed-forward layer's activation.
        norm: "post" or "pre".
        epsilon: Added to the variance in layer normalisation.
    """

    def __init__(
        self,
        num_heads: int,
        key_dim: int,
        value_dim: int,
        feed_forward_dim: int,
        dropout: float = 0.1,
        attention_dropout: float = 0.0,
        activation_dropout: float = 0.0,
        activation: Any = "relu",
        norm: str = "post",
        epsilon: float = 1e-5,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.num_heads = num_heads
        self.key_dim = key_dim
        self.value_dim = value_dim
        self.feed_forward_dim = feed_forward_dim
        self.dropout = dropout
        self.attention_dropout = attention_dropout
        self.activation_dropout = activation_dropout
        self.activation = keras.activations.get(activation)
        self.norm = norm
        self.epsilon = epsilon

    def _attention(self, name: str) -> MultiHeadAttention:
        return MultiHeadAttention(
            self.num_heads,
            self.key_dim,
            self.value_dim,
            self.attention_dropout,
            dtype=self.dtype_policy,
            name=name,
        )

    def _feed_forward(self) -> FeedForward:
        return FeedForward(
            self.feed_forward_dim,
            self.activation,
            self.activation_dropout,
            dtype=self.dtype_policy,
            name="feed_forward",
        )

    def _residual(self, name: str) -> Residual:
        return Residual(
            self.norm, self.dropout, self.epsilon, dtype=self.dtype_policy, name=f"{name}_residual"
        )

    def get_config(self) -> dict[str, Any]:
        """Returns the constructor's arguments."""
        return {
            **super().get_config(),
            "num_heads": self.num_heads,
            "key_dim": self.key_dim,
            "value_dim": self.value_dim,
            "feed_forward_dim": self.feed_forward_dim,
            "dropout": self.dropout,
            "attention_dropout": self.attention_dropout,
            "activation_dropout": self.activation_dropout,
            "activation": keras.activations.serialize(self.activation),
            "norm": self.norm,
            "epsilon": self.epsilon,
        }

    def compute_output_shape(self, states_shape: Any) -> Any:
        """Returns the states' shape."""
        return states_shape


@keras.saving.register_keras_serializable("keras_transformer")
class EncoderBlock(Block):
    """Self-attention, then feed-forward, each in a residual connection.

    Input and output:
        states `(batch, source_length, model_dim)`; keep_mask boolean, broadcasting to
        `(batch, heads, source_length, source_length)`.
    """

    def build(self, states_shape: Any) -> None:
        """Creates the sub-layers for the states' width."""
        self.attention = self._attention("attention")
        self.attention_residual = self._residual("attention")
        self.feed_forward = self._feed_forward()
        self.feed_forward_residual = self._residual("feed_forward")
        for part in (
            self.attention,
            self.attention_residual,
            self.feed_forward,
            self.feed_forward_residual,
        ):
            part.build(states_shape)

    def call(
        self, states: Tensor, keep_mask: Tensor | None = None, training: bool | None = None
    ) -> Tensor:
        """Runs the block."""
        attended = self.attention(
            self.attention_residual.enter(states), keep_mask=keep_mask, training=training
        )
        states = self.attention_residual(states, attended, training=training)
        transformed = self.feed_forward(self.feed_forward_residual.enter(states), training=training)
        return self.feed_forward_residual(states, transformed, training=training)


class Stack(Block):
    """What encoder and decoder share: `num_layers` blocks and pre-norm's final norm.

    Args:
        num_layers: Number of blocks N.
        **block_arguments: As for a block.

    Attributes:
        recompute: Whether training keeps a block's inputs alone and computes the rest again for
            the gradients: less memory for about a third more time. Not saved with the model.
    """

    block_class: type[Block]
    recompute = False

    def __init__(self, num_layers: int, **block_arguments: Any) -> None:
        if num_layers < 1:
            raise ValueError(f"num_layers must be at least 1, got {num_layers}.")
        super().__init__(**block_arguments)
        self.num_layers = num_layers

    def build(self, states_shape: Any) -> None:
        """Creates the blocks for the states' width."""
        arguments = {
            key: value
            for key, value in Block.get_config(self).items()
            if key not in ("name", "trainable", "dtype")
        }
        self.blocks = [
            self.block_class(**arguments, dtype=self.dtype_policy, name=f"block_{index}")
            for index in range(self.num_layers)
        ]
        for block in self.blocks:
            block.build(states_shape)
        self.final_norm = None
        if self.norm == "pre":
            self.final_norm = keras.layers.LayerNormalization(
                epsilon=self.epsilon, dtype=self.dtype_policy, name="final_norm"
            )
            self.final_norm.build(states_shape)

    def _run_block(
        self,
        block: Block,
        inputs: tuple[Tensor, ...],
        masks: tuple[Tensor | None, ...],
        training: bool | None,
    ) -> Tensor:
        if training and self.recompute:
            return recomputed(block, inputs, masks, training)
        return block(*inputs, *masks, training=training)

    def _finish(self, states: Tensor) -> Tensor:
        return self.final_norm(states) if self.final_norm is not None else states

    def get_config(self) -> dict[str, Any]:
        """Returns the constructor's arguments."""
        return {**super().get_config(), "num_layers": self.num_layers}


@keras.saving.register_keras_serializable("keras_transformer")
class Encoder(Stack):
    """The encoder's N blocks.

    Input and output:
        states `(batch, source_length, model_dim)`; keep_mask boolean `(batch, source_length)`,
        True at real tokens.
    """

    block_class = EncoderBlock

    def call(
        self, states: Tensor, keep_mask: Tensor | None = None, training: bool | None = None
    ) -> Tensor:
        """Runs the blocks one after the other."""
        mask = None if keep_mask is None else attention_mask(keep_mask)
        for block in self.blocks:
            states = self._run_block(block, (states,), (mask,), training)
        return self._finish(states)
