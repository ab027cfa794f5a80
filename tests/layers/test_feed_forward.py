"""The feed-forward layer against equation 2."""

import keras
import numpy as np
import pytest

from keras_transformer.config import FeedForwardConfig
from keras_transformer.layers import FeedForward


def test_worked_example() -> None:
    layer = FeedForward(FeedForwardConfig(hidden_dim=2))
    layer.build((None, None, 2))
    values = ([[1, -1], [2, 1]], [0, 1], [[1, 0], [10, 1]], [0.5, -0.5])
    layer.set_weights([np.array(value) for value in values])
    # x = (1, 2): hidden (5, 2) → (5 + 20 + 0.5, 2 - 0.5); x = (1, -1): hidden (-1 → 0, -1 → 0).
    outputs = layer(np.array([[[1.0, 2], [1, -1]]]))
    np.testing.assert_array_equal(outputs, [[[25.5, 1.5], [0.5, -0.5]]])


@pytest.mark.parametrize("use_bias", [True, False])
@pytest.mark.parametrize("gated", [False, True])
def test_equals_the_paper_in_float64(gated: bool, use_bias: bool, paper, randomize) -> None:
    states = np.random.default_rng(0).standard_normal((2, 5, 6))
    layer = FeedForward(FeedForwardConfig(hidden_dim=9, gated=gated, use_bias=use_bias))
    layer(states)
    randomize(layer)
    np.testing.assert_allclose(layer(states), paper.feed_forward(layer, states), atol=1e-5)


def test_a_gate_multiplies_the_activated_features() -> None:
    layer = FeedForward(FeedForwardConfig(hidden_dim=2, gated=True, use_bias=False))
    layer.build((None, None, 2))
    layer.set_weights([np.eye(2), np.array([[2, 0], [0, 3]]), np.eye(2)])
    # x = (4, -5): activated (4, 0), gate (8, -15).
    np.testing.assert_array_equal(layer(np.array([[[4.0, -5.0]]])), [[[32, 0]]])


@pytest.mark.parametrize("activation", ["relu", "gelu", "silu", keras.ops.tanh])
def test_takes_any_keras_activation(activation, randomize) -> None:
    states = np.random.default_rng(0).standard_normal((1, 3, 4)).astype("float32")
    layer = FeedForward(FeedForwardConfig(hidden_dim=5, activation=activation))
    layer(states)
    randomize(layer)
    hidden = keras.activations.get(activation)(states @ layer.hidden.kernel + layer.hidden.bias)
    expected = hidden @ layer.output_linear.kernel + layer.output_linear.bias
    np.testing.assert_allclose(layer(states), expected, atol=1e-5)


def test_dropout_stands_between_the_linear_layers() -> None:
    layer = FeedForward(FeedForwardConfig(hidden_dim=1000, dropout=0.25))
    layer.build((None, None, 1))
    layer.set_weights([np.ones((1, 1000)), np.zeros(1000), np.ones((1000, 1)), np.zeros(1)])
    outputs = layer(np.ones((1, 50, 1), "float32"), training=True)
    # Each of 50 places keeps about 750 of 1,000 ones, scaled by 4 / 3; what is dropped differs.
    np.testing.assert_allclose(outputs, 1000, atol=100)
    assert np.unique(outputs).size > 10


def test_positions_do_not_touch_each_other() -> None:
    states = np.random.default_rng(0).standard_normal((1, 4, 6)).astype("float32")
    layer = FeedForward(FeedForwardConfig(hidden_dim=8))
    before = np.array(layer(states))
    states[0, 2] += 1
    changed = np.any(np.asarray(layer(states)) != before, axis=-1)
    np.testing.assert_array_equal(changed, [[False, False, True, False]])


def test_an_empty_hidden_layer_is_refused() -> None:
    with pytest.raises(ValueError, match="feed_forward_dim must be at least 1, got 0"):
        FeedForward(FeedForwardConfig(hidden_dim=0))


def test_an_unknown_activation_is_refused() -> None:
    with pytest.raises(ValueError, match="rilu"):
        FeedForward(FeedForwardConfig(hidden_dim=4, activation="rilu"))
