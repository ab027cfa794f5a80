"""One vector for each text: the first token's state, the mean of all, or what BERT's pooler (Devlin
et al. 2018) makes of the first.
"""

from typing import Any

import keras
from keras import ops

from keras_transformer.layers.products.dense import Dense
from keras_transformer.layers.variants.composite import Composite
from keras_transformer.tensors import Tensor


def first_state(states: Tensor, keep_mask: Tensor) -> Tensor:
    """Returns the state of each row's first real token.

    Args:
        states: `(batch, length, model_dim)`.
        keep_mask: Boolean `(batch, length)`, True at real tokens.

    Returns:
        `(batch, model_dim)`.
    """
    place = ops.argmax(ops.cast(keep_mask, "int32"), axis=1)
    return ops.take_along_axis(states, place[:, None, None], axis=1)[:, 0]


def last_state(states: Tensor, keep_mask: Tensor) -> Tensor:
    """Returns the state of each row's last real token; arguments are those of `first_state`."""
    # The first place behind which no token is counted.
    place = ops.argmax(ops.cumsum(ops.cast(keep_mask, "int32"), axis=1), axis=1)
    return ops.take_along_axis(states, place[:, None, None], axis=1)[:, 0]


def state_at(place: str, states: Tensor, keep_mask: Tensor) -> Tensor:
    """Returns the state of each row's "first" or "last" real token, or the "mean" of all; see
    `first_state`.
    """
    return _READERS[place](states, keep_mask)


def mean_state(states: Tensor, keep_mask: Tensor) -> Tensor:
    """Returns the mean of each row's states at real tokens: `(batch, model_dim)`; 0 without any.

    Args:
        states: `(batch, length, model_dim)`.
        keep_mask: Boolean `(batch, length)`, True at real tokens.
    """
    # In float32: sums over a text are more than half precision can hold.
    real = ops.where(keep_mask[:, :, None], ops.cast(states, "float32"), 0)
    tokens = ops.sum(ops.cast(keep_mask, "float32"), axis=1)[:, None]
    return ops.cast(ops.sum(real, axis=1) / ops.maximum(tokens, 1), states.dtype)


_READERS = {"first": first_state, "last": last_state, "mean": mean_state}


@keras.saving.register_keras_serializable("keras_transformer")
class Pooler(Composite):
    """f(Wx + b) of the state x of each row's first or last real token, or of the mean of all.

    Args:
        activation: f, by Keras's name.
        place: "first"; "last" for the state of the last real token instead; or "mean".
        **arguments: Passed to `keras.layers.Layer`.

    Input:
        states `(batch, length, model_dim)`; keep_mask boolean `(batch, length)`, True at real
        tokens.

    Output:
        `(batch, model_dim)`.
    """

    def __init__(self, activation: str = "tanh", place: str = "first", **arguments: Any) -> None:
        super().__init__(**arguments)
        self.activation = activation
        self.place = place

    def get_config(self) -> dict[str, Any]:
        """Returns the constructor's arguments."""
        return {**super().get_config(), "activation": self.activation, "place": self.place}

    def build(self, states_shape: Any, keep_mask_shape: Any = None) -> None:
        """Creates the linear layer for the states' width."""
        width = states_shape[-1]
        self.linear = Dense(
            width, activation=self.activation, dtype=self.dtype_policy, name="linear"
        )
        self.linear.build((states_shape[0], width))

    def call(self, states: Tensor, keep_mask: Tensor) -> Tensor:
        """Pools the states."""
        return self.linear(state_at(self.place, states, keep_mask))

    def compute_output_shape(self, states_shape: Any, keep_mask_shape: Any = None) -> Any:
        """Returns `(batch, model_dim)`."""
        return (states_shape[0], states_shape[-1])
