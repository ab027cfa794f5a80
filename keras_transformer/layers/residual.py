"""The residual connection around every sub-layer: LayerNorm(x + Sublayer(x)) (paper, section 3.1);
pre-norm, x + Sublayer(LayerNorm(x)); both, x + LayerNorm(Sublayer(LayerNorm(x))); or that of the
output alone, x + LayerNorm(Sublayer(x)).
"""

from typing import Any

import keras

from keras_transformer.config.stack import NormConfig
from keras_transformer.layers.variants.configured import Configured
from keras_transformer.layers.variants.rms_norm import make_norm
from keras_transformer.tensors import Tensor


@keras.saving.register_keras_serializable("keras_transformer")
class Residual(Configured):
    """Dropout, addition and normalization around a sub-layer.

    `enter` returns the sub-layer's input; the call joins its output to the states:
    `states = residual(states, sublayer(residual.enter(states)))`.

    Args:
        config: The normalisation, and of what it is: the sum, the sub-layer's input, both that and
            its output, its output alone, or nothing.
        dropout: Probability of dropping a feature of the sub-layer's output.

    Input and output:
        `(batch, length, model_dim)`.
    """

    config: NormConfig
    config_class = NormConfig

    def __init__(self, config: NormConfig, dropout: float = 0.1, **kwargs: Any) -> None:
        super().__init__(config, **kwargs)
        self.dropout = dropout

    def build(self, states_shape: Any) -> None:
        """Creates the normalisation for the states' width."""
        # Of either kind: the attribute names the weights in a model's file.
        self.layer_norm: Any = None
        if self.config.place not in ("none", "output"):
            self.layer_norm = make_norm(self.config, self.dtype_policy, "layer_norm")
            self.layer_norm.build(states_shape)
        self.output_norm = None
        if self.config.place in ("both", "output"):
            self.output_norm = make_norm(self.config, self.dtype_policy, "output_norm")
            self.output_norm.build(states_shape)
        self.drop = keras.layers.Dropout(self.dropout, dtype=self.dtype_policy, name="drop")

    def enter(self, states: Tensor) -> Tensor:
        """Returns the sub-layer's input."""
        reads_norm = self.config.is_of_inputs and self.layer_norm is not None
        return self.layer_norm(states) if reads_norm else states

    def call(self, states: Tensor, outputs: Tensor, training: bool | None = None) -> Tensor:
        """Joins a sub-layer's outputs to the states it started from."""
        if self.output_norm is not None:
            outputs = self.output_norm(outputs)
        joined = states + self.drop(outputs, training=training)
        return joined if self.config.is_of_inputs else self.layer_norm(joined)

    def get_config(self) -> dict[str, Any]:
        """Returns the constructor's arguments."""
        return {**super().get_config(), "dropout": self.dropout}

    @classmethod
    def arguments_of_flat(cls, flat: dict[str, Any]) -> dict[str, Any]:
        """Reads the norm's options, which stood beside the dropout."""
        names = {"kind": "norm_kind", "place": "norm", "epsilon": "epsilon"}
        config = NormConfig(**{ours: flat.pop(old) for ours, old in names.items() if old in flat})
        return {"config": config, **flat}

    def compute_output_shape(self, states_shape: Any) -> Any:
        """Returns the states' shape."""
        return states_shape
