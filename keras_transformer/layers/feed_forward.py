"""The position-wise feed-forward layer: FFN(x) = max(0, xW1 + b1)W2 + b2 (paper, equation 2), or
gated, (max(0, xW1) ⊙ xV)W2 (Shazeer 2020).
"""

from typing import Any

import keras

from keras_transformer.layers.initializers import linear_initializer
from keras_transformer.layers.products.dense import Dense
from keras_transformer.layers.variants.activations import activation_named, serialized_activation
from keras_transformer.layers.variants.composite import Composite

Tensor = Any


@keras.saving.register_keras_serializable("keras_transformer")
class FeedForward(Composite):
    """Two linear layers with an activation between them, the same at every position.

    Args:
        hidden_dim: Width between the two, the paper's d_ff.
        activation: A Keras activation (name or function).
        dropout: Probability of dropping a feature between the two in training.
        gated: Whether the activated features are multiplied by a third linear layer's: with
            "silu" SwiGLU, with "gelu" GEGLU, with "sigmoid" GLU.
        use_bias: Whether the linear layers have biases.

    Input and output:
        `(batch, length, model_dim)`.
    """

    def __init__(
        self,
        hidden_dim: int,
        activation: Any = "relu",
        dropout: float = 0.0,
        gated: bool = False,
        use_bias: bool = True,
        **kwargs: Any,
    ) -> None:
        if hidden_dim < 1:
            raise ValueError(f"hidden_dim must be at least 1, got {hidden_dim}.")
        super().__init__(**kwargs)
        self.hidden_dim = hidden_dim
        self.activation = activation_named(activation)
        self.dropout = dropout
        self.gated = gated
        self.use_bias = use_bias

    def build(self, input_shape: Any) -> None:
        """Creates the linear layers for the input's width, and the dropout between them."""
        self.hidden = self._linear(self.hidden_dim, "hidden", self.activation)
        self.gate = self._linear(self.hidden_dim, "gate") if self.gated else None
        self.output_linear = self._linear(input_shape[-1], "output_linear")
        self.drop = keras.layers.Dropout(self.dropout, dtype=self.dtype_policy, name="drop")
        self.hidden.build(input_shape)
        if self.gate is not None:
            self.gate.build(input_shape)
        self.output_linear.build((*input_shape[:-1], self.hidden_dim))

    @property
    def linear_layers(self) -> tuple[Dense, ...]:
        """The two linear layers, once built; three if gated."""
        gate = () if self.gate is None else (self.gate,)
        return (self.hidden, *gate, self.output_linear)

    def _linear(self, width: int, name: str, activation: Any = None) -> Dense:
        return Dense(
            width,
            activation=activation,
            use_bias=self.use_bias,
            kernel_initializer=linear_initializer(),
            dtype=self.dtype_policy,
            name=name,
        )

    def call(self, inputs: Tensor, training: bool | None = None) -> Tensor:
        """Applies the layer to each position."""
        hidden = self.hidden(inputs)
        if self.gate is not None:
            hidden = hidden * self.gate(inputs)
        return self.output_linear(self.drop(hidden, training=training))

    def get_config(self) -> dict[str, Any]:
        """Returns the constructor's arguments."""
        return {
            **super().get_config(),
            "hidden_dim": self.hidden_dim,
            "activation": serialized_activation(self.activation),
            "dropout": self.dropout,
            "gated": self.gated,
            "use_bias": self.use_bias,
        }

    def compute_output_shape(self, input_shape: Any) -> Any:
        """Returns the input's shape."""
        return input_shape
