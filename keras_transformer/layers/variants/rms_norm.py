"""RMSNorm, layer normalisation without the mean and without a bias (Zhang and Sennrich 2019), and
the choice between the two.
"""

from typing import Any

import keras
from keras import ops

from keras_transformer.config.stack import NormConfig
from keras_transformer.layers.variants.layer_norm import LayerNorm, check_epsilon
from keras_transformer.tensors import Tensor


@keras.saving.register_keras_serializable("keras_transformer")
class RMSNorm(keras.layers.Layer):
    """RMSNorm(x) = γ ⊙ x / √(mean(x²) + ε), over the last axis.

    Computed in float32, returned in the layer's compute dtype.

    Args:
        epsilon: Added to the mean of squares.

    Input and output:
        `(..., model_dim)`.

    Example:
        >>> layer = RMSNorm(epsilon=1e-6)
        >>> layer(keras.ops.array([[3.0, 4.0]])).shape
        TensorShape([1, 2])
    """

    def __init__(self, epsilon: float = 1e-5, **kwargs: Any) -> None:
        check_epsilon(epsilon)
        super().__init__(**kwargs)
        self.epsilon = epsilon

    def build(self, states_shape: Any) -> None:
        """Creates γ `(model_dim,)`, ones."""
        self.gamma = self.add_weight(name="gamma", shape=(states_shape[-1],), initializer="ones")

    def call(self, states: Tensor) -> Tensor:
        """Normalises each vector."""
        exact = ops.cast(states, "float32")
        mean_square = ops.mean(ops.square(exact), axis=-1, keepdims=True)
        normed = exact * ops.rsqrt(mean_square + self.epsilon) * ops.cast(self.gamma, "float32")
        return ops.cast(normed, self.compute_dtype)

    def get_config(self) -> dict[str, Any]:
        """Returns the constructor's arguments."""
        return {**super().get_config(), "epsilon": self.epsilon}

    def compute_output_shape(self, states_shape: Any) -> Any:
        """Returns the states' shape."""
        return states_shape


def make_norm(config: NormConfig, dtype: Any, name: str) -> keras.layers.Layer:
    """Returns a layer that normalises vectors, of a dtype policy."""
    if config.kind == "rms_norm":
        return RMSNorm(config.epsilon, dtype=dtype, name=name)
    return LayerNorm(epsilon=config.epsilon, dtype=dtype, name=name)
