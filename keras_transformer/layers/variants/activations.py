"""Activations by name: those of Keras and the ones that it lacks."""

from typing import Any

import keras

Tensor = Any

_GELU_TANH = "gelu_tanh"


def gelu_tanh(x: Tensor) -> Tensor:
    """GELU with tanh in place of the error function, as in GPT-2 (Hendrycks and Gimpel 2016)."""
    return keras.activations.gelu(x, approximate=True)


def activation_named(identifier: Any) -> Any:
    """Returns an activation.

    Args:
        identifier: "gelu_tanh", or what `keras.activations.get` takes.

    Raises:
        ValueError: There is no activation of that name.
    """
    return gelu_tanh if identifier == _GELU_TANH else keras.activations.get(identifier)


def serialized_activation(activation: Any) -> Any:
    """Returns what `activation_named` finds an activation by, for a layer's config."""
    return _GELU_TANH if activation is gelu_tanh else keras.activations.serialize(activation)
