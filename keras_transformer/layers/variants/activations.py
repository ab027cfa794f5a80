"""Activations by name: those of Keras and the ones that it lacks."""

import inspect
import math
import types
from typing import Any

import keras
from keras import ops

from keras_transformer.layers.products.few_passes import with_gradient_in_few_passes
from keras_transformer.suggestions import did_you_mean
from keras_transformer.tensors import Tensor

# Of the tanh form: √(2/π), and the factor of x³.
_RATE, _CUBIC = math.sqrt(2 / math.pi), 0.044715


def gelu_tanh(x: Tensor) -> Tensor:
    """GELU with tanh in place of the error function, as in GPT-2 (Hendrycks and Gimpel 2016)."""
    return keras.activations.gelu(x, approximate=True)


def squared_relu(x: Tensor) -> Tensor:
    """max(0, x)², as in Primer (So et al. 2021)."""
    return ops.square(ops.relu(x))


# Those that Keras lacks, by name.
_OURS = {"gelu_tanh": gelu_tanh, "squared_relu": squared_relu}


def activation_named(identifier: Any) -> Any:
    """Returns an activation.

    Args:
        identifier: "gelu_tanh", "squared_relu", or what `keras.activations.get` takes.

    Raises:
        ValueError: There is no activation of that name, it changes the number of features, or it
            needs more than the features.
    """
    is_ours = isinstance(identifier, str) and identifier in _OURS
    activation = _OURS[identifier] if is_ours else _of_keras(identifier)
    if activation is keras.activations.glu:
        raise ValueError(
            "activation 'glu' halves the features, and an activation must keep the width: choose "
            "'sigmoid' and gated_feed_forward=True (of a FeedForward gated=True)."
        )
    others = _further_arguments(activation)
    if others:
        raise ValueError(
            f"activation {activation.__name__!r} needs {' and '.join(others)} beside the features: "
            "choose one that takes the features alone."
        )
    return activation


def _of_keras(identifier: Any) -> Any:
    try:
        return keras.activations.get(identifier)
    except ValueError as error:
        hint = did_you_mean(identifier, (*_OURS, *dir(keras.activations))) or "."
        raise ValueError(
            f"activation must be one that Keras knows, {' or '.join(map(repr, _OURS))}, got "
            f"{identifier!r}{hint}"
        ) from error


def _further_arguments(activation: Any) -> list[str]:
    """Returns the names of what a function must be given besides its first argument."""
    if not isinstance(activation, types.FunctionType):
        return []
    others = list(inspect.signature(activation).parameters.values())[1:]
    optional = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return [one.name for one in others if one.default is one.empty and one.kind not in optional]


def serialized_activation(activation: Any) -> Any:
    """Returns what `activation_named` finds an activation by, for a layer's config."""
    is_ours = activation in _OURS.values()
    return activation.__name__ if is_ours else keras.activations.serialize(activation)


def in_training(activation: Any) -> Any:
    """Returns an activation's form for training: GELU's is the same function in few passes.

    TensorFlow makes both GELUs and their gradients of twenty operators, which take as long as the
    products around them.
    """
    return _IN_TRAINING.get(activation, activation)


def _gelu_slope(x: Tensor) -> Tensor:
    """Φ(x) + x φ(x)."""
    share = 0.5 * (1 + ops.erf(x * math.sqrt(0.5)))
    return share + x * ops.exp(-0.5 * x * x) / math.sqrt(2 * math.pi)


def _gelu_tanh_slope(x: Tensor) -> Tensor:
    """The product's and the chain rule on x (1 + tanh(√(2/π) (x + 0.044715 x³))) / 2."""
    tanh = ops.tanh(_RATE * (x + _CUBIC * x * x * x))
    inner = _RATE * (1 + 3 * _CUBIC * x * x)
    return 0.5 * (1 + tanh) + 0.5 * x * (1 - tanh * tanh) * inner


_IN_TRAINING = {
    keras.activations.gelu: with_gradient_in_few_passes(keras.activations.gelu, _gelu_slope),
    gelu_tanh: with_gradient_in_few_passes(gelu_tanh, _gelu_tanh_slope),
}
