"""What heads read states through: a linear layer with an activation, and a norm (Devlin et al.
2018).
"""

from typing import Any

from keras_transformer.config.stack import NormConfig
from keras_transformer.layers.initializers import linear_initializer
from keras_transformer.layers.products.dense import Dense
from keras_transformer.layers.variants.rms_norm import make_norm


def build_transform(
    states_shape: Any, width: int, activation: Any, norm: NormConfig, dtype_policy: Any
) -> tuple[Dense, Any]:
    """Returns the linear layer "transform", from states to `width` features, and "layer_norm"."""
    transform = Dense(
        width,
        activation=activation,
        kernel_initializer=linear_initializer(),
        dtype=dtype_policy,
        name="transform",
    )
    transform.build(states_shape)
    layer_norm = make_norm(norm, dtype_policy, "layer_norm")
    layer_norm.build((*states_shape[:-1], width))
    return transform, layer_norm
