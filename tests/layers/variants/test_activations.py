"""Activations by name: their equations, and how configs hold them."""

import keras
import numpy as np
import pytest

from keras_transformer.layers import FeedForward
from keras_transformer.layers.variants.activations import activation_named, serialized_activation


@pytest.mark.parametrize("name", ["gelu_tanh", "gelu", "silu", "relu"])
def test_equals_its_equation_in_float64(name: str, paper) -> None:
    x = np.linspace(-6, 6, 101)
    found = activation_named(name)
    np.testing.assert_allclose(found(x.astype("float32")), paper.activate(found, x), atol=1e-5)


def test_gelu_with_tanh_is_close_to_gelu_and_not_the_same() -> None:
    x = np.linspace(-4, 4, 201).astype("float32")
    gap = np.abs(np.asarray(activation_named("gelu_tanh")(x)) - keras.activations.gelu(x))
    assert 1e-4 < gap.max() < 1e-3


@pytest.mark.parametrize("name", ["gelu_tanh", "gelu", "silu", "relu", "linear"])
def test_a_name_survives_a_config(name: str) -> None:
    assert serialized_activation(activation_named(name)) == name
    layer = FeedForward.from_config(FeedForward(4, activation=name).get_config())
    assert layer.activation is activation_named(name)


def test_an_unknown_activation_is_refused() -> None:
    with pytest.raises(ValueError, match="gelu_cosh"):
        activation_named("gelu_cosh")
