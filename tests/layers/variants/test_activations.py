"""Activations by name: their equations, and how configs hold them."""

import functools
import math
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_transformer.config import FeedForwardConfig
from keras_transformer.layers import FeedForward
from keras_transformer.layers.variants.activations import (
    activation_named,
    in_training,
    serialized_activation,
)


@pytest.mark.parametrize("name", ["gelu_tanh", "squared_relu", "gelu", "silu", "relu"])
def test_equals_its_equation_in_float64(name: str, paper) -> None:
    x = np.linspace(-6, 6, 101)
    found = activation_named(name)
    np.testing.assert_allclose(found(x.astype("float32")), paper.activate(found, x), atol=1e-5)


def test_gelu_with_tanh_is_close_to_gelu_and_not_the_same() -> None:
    x = np.linspace(-4, 4, 201).astype("float32")
    gap = np.abs(np.asarray(activation_named("gelu_tanh")(x)) - keras.activations.gelu(x))
    assert 1e-4 < gap.max() < 1e-3


def test_squared_relu_and_its_gradient() -> None:
    x = tf.constant([-3.0, 0.5, 2.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        values = activation_named("squared_relu")(x)
    np.testing.assert_array_equal(values, [0, 0.25, 4])
    np.testing.assert_array_equal(tape.gradient(values, x), [0, 1, 4])


@pytest.mark.parametrize("name", ["gelu_tanh", "squared_relu", "gelu", "silu", "relu", "linear"])
def test_a_name_survives_a_config(name: str) -> None:
    assert serialized_activation(activation_named(name)) == name
    layer = FeedForward.from_config(
        FeedForward(FeedForwardConfig(hidden_dim=4, activation=name)).get_config()
    )
    assert layer.activation is activation_named(name)


def test_an_unknown_activation_is_refused() -> None:
    with pytest.raises(ValueError, match="'gelu_cosh'"):
        activation_named("gelu_cosh")
    with pytest.raises(ValueError, match="'square_relu'; did you mean 'squared_relu'"):
        activation_named("square_relu")


def derivative(name: str, x: np.ndarray) -> np.ndarray:
    """In float64, by the equation of each."""
    if name == "gelu":
        share = 0.5 * (1 + np.vectorize(math.erf)(x / np.sqrt(2)))
        return share + x * np.exp(-x * x / 2) / np.sqrt(2 * np.pi)
    rate = np.sqrt(2 / np.pi)
    tanh = np.tanh(rate * (x + 0.044715 * x**3))
    return (1 + tanh) / 2 + x * (1 - tanh**2) * rate * (1 + 3 * 0.044715 * x**2) / 2


@pytest.mark.parametrize("width", [8, 256])  # Narrow ones are not compiled.
@pytest.mark.parametrize("name", ["gelu", "gelu_tanh"])
@pytest.mark.parametrize(("dtype", "tolerance"), [("float32", 1e-5), ("bfloat16", 2e-2)])
def test_in_training_value_and_gradient_are_those_of_the_equation(
    name: str, width: int, dtype: str, tolerance: float, paper
) -> None:
    found = activation_named(name)
    x = np.linspace(-6, 6, 3 * width).reshape(3, width).astype("float32")
    given = tf.cast(x, dtype)
    upstream = tf.cast(np.cos(x), dtype)
    with tf.GradientTape() as tape:
        tape.watch(given)
        values = in_training(found)(given)
    gradient = tape.gradient(values, given, output_gradients=upstream)
    assert values.dtype == gradient.dtype == given.dtype
    exact = tf.cast(given, "float64").numpy()
    expected = paper.activate(found, exact)
    np.testing.assert_allclose(tf.cast(values, "float64"), expected, atol=tolerance)
    slopes = derivative(name, exact) * tf.cast(upstream, "float64").numpy()
    np.testing.assert_allclose(tf.cast(gradient, "float64"), slopes, atol=tolerance)


@pytest.mark.parametrize("traced", [False, True])
@pytest.mark.parametrize("name", ["gelu", "gelu_tanh"])
def test_in_training_second_derivatives_are_those_of_keras_operators(
    name: str, traced: bool
) -> None:
    plain = activation_named(name)
    x = tf.constant(np.linspace(-4, 4, 600).reshape(2, 300), tf.float32)

    def derivatives(activation: Any) -> tuple[tf.Tensor, tf.Tensor]:
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as inner:
                inner.watch(x)
                values = tf.reduce_sum(activation(x) ** 2)
            first = inner.gradient(values, x)
            total = tf.reduce_sum(first**2)
        return first, outer.gradient(total, x)

    run = functools.partial(derivatives, in_training(plain))
    found = tf.function(run, autograph=False)() if traced else run()
    for ours, theirs in zip(found, derivatives(plain), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-4)


def test_other_activations_are_the_same_in_training() -> None:
    for name in ("silu", "relu", "linear"):
        assert in_training(activation_named(name)) is activation_named(name)


def test_a_layer_trains_with_what_it_infers_with() -> None:
    layer = FeedForward(FeedForwardConfig(hidden_dim=256, activation="gelu"))
    x = np.random.default_rng(0).standard_normal((2, 3, 4)).astype("float32")
    np.testing.assert_allclose(layer(x, training=True), layer(x), atol=1e-6)


@pytest.mark.parametrize("identifier", ["glu", keras.activations.glu])
def test_an_activation_that_does_not_keep_the_width_is_refused(identifier: Any) -> None:
    with pytest.raises(ValueError, match="'glu' halves .* must keep the width: choose 'sigmoid'"):
        FeedForward(FeedForwardConfig(hidden_dim=8, activation=identifier))


def test_one_that_needs_more_than_the_features_is_refused() -> None:
    with pytest.raises(ValueError, match="'threshold' needs threshold and default_value beside"):
        FeedForward(FeedForwardConfig(hidden_dim=8, activation="threshold"))


def test_every_other_one_of_keras_can_be_called() -> None:
    x = np.linspace(-2, 2, 8, dtype="float32").reshape(2, 4)
    others = {"glu", "threshold", "get", "serialize", "deserialize"}
    names = {name for name in dir(keras.activations) if not name.startswith("_")} - others
    assert len(names) > 20
    for name in sorted(names):
        assert activation_named(name)(x).shape == x.shape


def test_callables_of_any_kind_are_taken() -> None:
    def scaled(x: Any, rate: float = 2.0, *rest: Any, **options: Any) -> Any:
        return rate * x

    for activation in (scaled, tf.nn.relu, keras.layers.LeakyReLU(), functools.partial(scaled)):
        assert activation_named(activation) is activation
