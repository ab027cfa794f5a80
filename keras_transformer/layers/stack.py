"""What encoder and decoder share: a block as a list of residual sub-layers, and a stack of blocks
(paper, section 3.1).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import keras

from keras_transformer.layers.attention import MultiHeadAttention
from keras_transformer.layers.feed_forward import FeedForward
from keras_transformer.layers.recomputation import recomputed
from keras_transformer.layers.residual import Residual
from keras_transformer.layers.variants.activations import activation_named, serialized_activation
from keras_transformer.layers.variants.composite import Composite
from keras_transformer.layers.variants.relative_bias import RelativeBias
from keras_transformer.layers.variants.rms_norm import make_norm

Tensor = Any


@dataclass(frozen=True)
class SubLayer:
    """One residual sub-layer of a block.

    Attributes:
        layer: A `MultiHeadAttention` or a `FeedForward`.
        residual: The connection around it.
        attends_to: The origin of its keys and values: the block's "own" states, or the encoder's
            states of the "source"; None for a feed-forward layer.
    """

    layer: keras.layers.Layer
    residual: Residual
    attends_to: Literal["own", "source"] | None


class Block(Composite):
    """The base of encoder and decoder blocks: their arguments and the parts built from these.

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
        norm_kind: "layer_norm" or "rms_norm".
        gated_feed_forward: Whether the feed-forward layer is gated.
        use_bias: Whether linear layers have biases.
        scale_attention: Whether attention scores are divided by √key_dim.
        num_key_value_heads: Heads of keys and values; `num_heads` if None.
        rotary_base: The base of rotary positions in self-attention; None for none.
        relative_sinusoids: Whether the scores of self-attention read distances.
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
        norm_kind: str = "layer_norm",
        gated_feed_forward: bool = False,
        use_bias: bool = True,
        scale_attention: bool = True,
        num_key_value_heads: int | None = None,
        rotary_base: float | None = None,
        relative_sinusoids: bool = False,
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
        self.activation = activation_named(activation)
        self.norm = norm
        self.epsilon = epsilon
        self.norm_kind = norm_kind
        self.gated_feed_forward = gated_feed_forward
        self.use_bias = use_bias
        self.scale_attention = scale_attention
        self.num_key_value_heads = num_key_value_heads
        self.rotary_base = rotary_base
        self.relative_sinusoids = relative_sinusoids

    @property
    def sub_layers(self) -> tuple[SubLayer, ...]:
        """The block's sub-layers in the order in which states pass through them."""
        raise NotImplementedError

    def _build_sub_layers(self, states_shape: Any) -> None:
        for sub_layer in self.sub_layers:
            sub_layer.layer.build(states_shape)
            sub_layer.residual.build(states_shape)

    def _attention(self, name: str, *, knows_places: bool = True) -> MultiHeadAttention:
        """Makes attention, which between two sequences knows nothing of places."""
        return MultiHeadAttention(
            self.num_heads,
            self.key_dim,
            self.value_dim,
            self.attention_dropout,
            self.num_key_value_heads,
            self.use_bias,
            self.scale_attention,
            self.rotary_base if knows_places else None,
            self.relative_sinusoids and knows_places,
            dtype=self.dtype_policy,
            name=name,
        )

    def _feed_forward(self) -> FeedForward:
        return FeedForward(
            self.feed_forward_dim,
            self.activation,
            self.activation_dropout,
            self.gated_feed_forward,
            self.use_bias,
            dtype=self.dtype_policy,
            name="feed_forward",
        )

    def _residual(self, name: str) -> Residual:
        return Residual(
            self.norm,
            self.dropout,
            self.epsilon,
            self.norm_kind,
            dtype=self.dtype_policy,
            name=f"{name}_residual",
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
            "activation": serialized_activation(self.activation),
            "norm": self.norm,
            "epsilon": self.epsilon,
            "norm_kind": self.norm_kind,
            "gated_feed_forward": self.gated_feed_forward,
            "use_bias": self.use_bias,
            "scale_attention": self.scale_attention,
            "num_key_value_heads": self.num_key_value_heads,
            "rotary_base": self.rotary_base,
            "relative_sinusoids": self.relative_sinusoids,
        }

    def compute_output_shape(self, states_shape: Any) -> Any:
        """Returns the states' shape."""
        return states_shape


class Stack(Block):
    """The base of encoder and decoder: `num_layers` blocks and, for pre-norm, a final norm.

    Args:
        num_layers: Number of blocks N.
        relative_buckets: Buckets of the relative bias that all blocks share; None for none.
        relative_max_distance: See `RelativeBias`.
        relative_per_block: Whether each block has a relative bias of its own instead.
        **block_arguments: As for a block.

    Attributes:
        relative: The `RelativeBias` that all blocks share; None without.
        relatives: Each block's own; empty without.
        recompute: Whether training keeps only a block's inputs and computes the rest again for the
            gradients: less memory for about a third more time. Not saved with the model.
    """

    block_class: type[Block]
    attends_ahead: bool
    recompute = False

    def __init__(
        self,
        num_layers: int,
        relative_buckets: int | None = None,
        relative_max_distance: int = 128,
        relative_per_block: bool = False,
        **block_arguments: Any,
    ) -> None:
        if num_layers < 1:
            raise ValueError(f"num_layers must be at least 1, got {num_layers}.")
        if relative_per_block and relative_buckets is None:
            raise ValueError("relative_per_block needs relative_buckets, got None.")
        super().__init__(**block_arguments)
        self.num_layers = num_layers
        self.relative_buckets = relative_buckets
        self.relative_max_distance = relative_max_distance
        self.relative_per_block = relative_per_block
        self.relative: RelativeBias | None = None
        self.relatives: list[RelativeBias] = []
        if relative_buckets is None:
            return
        if relative_per_block:
            names = (f"relative_{index}" for index in range(num_layers))
            self.relatives = [self._relative_bias(relative_buckets, name) for name in names]
        else:
            self.relative = self._relative_bias(relative_buckets, "relative")

    def _relative_bias(self, buckets: int, name: str) -> RelativeBias:
        sizes = (self.num_heads, buckets, self.relative_max_distance)
        return RelativeBias(*sizes, self.attends_ahead, dtype=self.dtype_policy, name=name)

    def build(self, states_shape: Any) -> None:
        """Creates the blocks for the states' width, and the relative biases."""
        for relative in (self.relative, *self.relatives):
            if relative is not None:
                relative.build()
        self.blocks = [
            self.block_class(
                **self._block_arguments(), dtype=self.dtype_policy, name=f"block_{index}"
            )
            for index in range(self.num_layers)
        ]
        for block in self.blocks:
            block.build(states_shape)
        self.final_norm = None
        if self.norm == "pre":
            self.final_norm = make_norm(
                self.norm_kind, self.epsilon, self.dtype_policy, "final_norm"
            )
            self.final_norm.build(states_shape)

    def _block_arguments(self) -> dict[str, Any]:
        own = ["name", "trainable", "dtype", "num_layers", "relative_buckets"]
        own += ["relative_max_distance", "relative_per_block"]
        return {key: value for key, value in self.get_config().items() if key not in own}

    def relative_of(self, number: int) -> RelativeBias | None:
        """Returns the relative bias of a block, its own or the shared one; None without."""
        return self.relatives[number] if self.relatives else self.relative

    def attention_biases(self, states: Tensor) -> list[Tensor | None]:
        """Returns what each block adds to its scores: `(1, heads, length, length)`; None if nothing
        is added.

        Args:
            states: `(batch, length, model_dim)`.
        """
        return self._biases(lambda relative: relative(states))

    def _biases(self, biases_of: Callable[[RelativeBias], Tensor]) -> list[Tensor | None]:
        """Returns the biases for each block, computed once if the blocks share them."""
        if self.relatives:
            return [biases_of(relative) for relative in self.relatives]
        shared = None if self.relative is None else biases_of(self.relative)
        return [shared] * self.num_layers

    def _run_block(
        self,
        block: Block,
        inputs: dict[str, Tensor | None],
        masks: dict[str, Tensor | None],
        training: bool | None,
    ) -> Tensor:
        if training and self.recompute:
            return recomputed(block, inputs, masks, training)
        return block(**inputs, **masks, training=training)

    def _finish(self, states: Tensor) -> Tensor:
        return self.final_norm(states) if self.final_norm is not None else states

    def get_config(self) -> dict[str, Any]:
        """Returns the constructor's arguments."""
        return {
            **super().get_config(),
            "num_layers": self.num_layers,
            "relative_buckets": self.relative_buckets,
            "relative_max_distance": self.relative_max_distance,
            "relative_per_block": self.relative_per_block,
        }
