"""The position-wise feed-forward layer: FFN(x) = max(0, xW1 + b1)W2 + b2 (paper, equation 2), or
gated, (max(0, xW1) ⊙ xV)W2 (Shazeer 2020).
"""

from typing import Any

import keras

from keras_transformer.config.stack import FeedForwardConfig
from keras_transformer.layers.initializers import linear_initializer
from keras_transformer.layers.products.dense import Dense
from keras_transformer.layers.variants.activations import activation_named
from keras_transformer.layers.variants.configured import Configured
from keras_transformer.tensors import Tensor


@keras.saving.register_keras_serializable("keras_transformer")
class FeedForward(Configured):
    """Two linear layers with an activation between them, the same at every position.

    Args:
        config: Its width and options.

    Input and output:
        `(batch, length, model_dim)`.
    """

    config: FeedForwardConfig
    config_class = FeedForwardConfig

    def __init__(self, config: FeedForwardConfig, **kwargs: Any) -> None:
        super().__init__(config, **kwargs)
        self.activation = activation_named(config.activation)

    def build(self, input_shape: Any) -> None:
        """Creates the linear layers for the input's width, and the dropout between them."""
        self.hidden = self._linear(self.config.hidden_dim, "hidden", self.activation)
        self.gate = self._linear(self.config.hidden_dim, "gate") if self.config.gated else None
        self.output_linear = self._linear(input_shape[-1], "output_linear")
        self.drop = keras.layers.Dropout(self.config.dropout, dtype=self.dtype_policy, name="drop")
        self.hidden.build(input_shape)
        if self.gate is not None:
            self.gate.build(input_shape)
        self.output_linear.build((*input_shape[:-1], self.config.hidden_dim))

    @property
    def linear_layers(self) -> tuple[Dense, ...]:
        """The two linear layers, once built; three if gated."""
        gate = () if self.gate is None else (self.gate,)
        return (self.hidden, *gate, self.output_linear)

    def _linear(self, width: int, name: str, activation: Any = None) -> Dense:
        return Dense(
            width,
            activation=activation,
            use_bias=self.config.use_bias,
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

    def compute_output_shape(self, input_shape: Any) -> Any:
        """Returns the input's shape."""
        return input_shape
