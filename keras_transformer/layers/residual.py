"""The residual connection around every sub-layer: LayerNorm(x + Sublayer(x)) (paper, section 3.1),
or pre-norm, x + Sublayer(LayerNorm(x)).
"""

from typing import Any

import keras

from keras_transformer.layers.variants.composite import Composite
from keras_transformer.layers.variants.rms_norm import make_norm

Tensor = Any


@keras.saving.register_keras_serializable("keras_transformer")
class Residual(Composite):
    """Dropout, addition and normalization around a sub-layer.

    `enter` returns the sub-layer's input; the call joins its output to the states:
    `states = residual(states, sublayer(residual.enter(states)))`.

    Args:
        norm: "post" normalises the sum, "pre" the sub-layer's input.
        dropout: Probability of dropping a feature of the sub-layer's output.
        epsilon: Added to the variance.
        norm_kind: "layer_norm" or "rms_norm".

    Input and output:
        `(batch, length, model_dim)`.
    """

    def __init__(
        self,
        norm: str = "post",
        dropout: float = 0.1,
        epsilon: float = 1e-5,
        norm_kind: str = "layer_norm",
        **kwargs: Any,
    ) -> None:
        if norm not in ("post", "pre"):
            raise ValueError(f"norm must be 'post' or 'pre', got {norm!r}.")
        super().__init__(**kwargs)
        self.norm = norm
        self.dropout = dropout
        self.epsilon = epsilon
        self.norm_kind = norm_kind

    def build(self, states_shape: Any) -> None:
        """Creates the normalisation for the states' width."""
        # Of either kind: the attribute names the weights in a model's file.
        self.layer_norm = make_norm(self.norm_kind, self.epsilon, self.dtype_policy, "layer_norm")
        self.layer_norm.build(states_shape)
        self.drop = keras.layers.Dropout(self.dropout, dtype=self.dtype_policy, name="drop")

    def enter(self, states: Tensor) -> Tensor:
        """Returns the sub-layer's input."""
        return self.layer_norm(states) if self.norm == "pre" else states

    def call(self, states: Tensor, outputs: Tensor, training: bool | None = None) -> Tensor:
        """Joins a sub-layer's outputs to the states it started from."""
        joined = states + self.drop(outputs, training=training)
        return joined if self.norm == "pre" else self.layer_norm(joined)

    def get_config(self) -> dict[str, Any]:
        """Returns the constructor's arguments."""
        return {
            **super().get_config(),
            "norm": self.norm,
            "dropout": self.dropout,
            "epsilon": self.epsilon,
            "norm_kind": self.norm_kind,
        }

    def compute_output_shape(self, states_shape: Any) -> Any:
        """Returns the states' shape."""
        return states_shape
