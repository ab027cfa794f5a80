"""The residual connection in every placement of its norms."""

import numpy as np
import pytest

from keras_transformer.config import NormConfig
from keras_transformer.layers import Residual


@pytest.fixture
def states() -> np.ndarray:
    return np.random.default_rng(0).standard_normal((2, 3, 6)) * 3 + 1


@pytest.fixture
def outputs() -> np.ndarray:
    return np.random.default_rng(1).standard_normal((2, 3, 6))


def test_post_norm_normalises_the_sum(states, outputs, paper, randomize) -> None:
    layer = Residual(NormConfig(place="post", epsilon=0.01))
    layer(states, outputs)
    randomize(layer)
    expected = paper.layer_norm(layer.layer_norm, states + outputs)
    np.testing.assert_allclose(layer(states, outputs), expected, atol=1e-5)
    np.testing.assert_array_equal(layer.enter(states), states)


def test_pre_norm_normalises_the_sublayers_input(states, outputs, paper, randomize) -> None:
    layer = Residual(NormConfig(place="pre", epsilon=0.01))
    layer(states, outputs)
    randomize(layer)
    np.testing.assert_allclose(layer(states, outputs), states + outputs, atol=1e-6)
    expected = paper.layer_norm(layer.layer_norm, states)
    np.testing.assert_allclose(layer.enter(states.astype("float32")), expected, atol=1e-5)


def test_norms_on_both_sides_are_each_its_own(states, outputs, paper, randomize) -> None:
    layer = Residual(NormConfig(place="both", epsilon=0.01))
    layer(states, outputs)
    randomize(layer)
    expected = states + paper.layer_norm(layer.output_norm, outputs)
    np.testing.assert_allclose(layer(states, outputs), expected, atol=1e-5)
    expected = paper.layer_norm(layer.layer_norm, states)
    np.testing.assert_allclose(layer.enter(states.astype("float32")), expected, atol=1e-5)


def test_worked_example() -> None:
    layer = Residual(NormConfig(place="post", epsilon=1e-5))
    # 1, 3 + 0, 2 = 1, 5: mean 3, deviation 2, hence -1 and 1.
    normed = layer(np.array([[[1.0, 3.0]]]), np.array([[[0.0, 2.0]]]))
    np.testing.assert_allclose(normed, [[[-1, 1]]], atol=1e-5)


def test_dropout_falls_on_the_sublayers_output_only(states) -> None:
    layer = Residual(NormConfig(place="pre"), dropout=0.5)
    ones = np.ones_like(states)
    added = np.asarray(layer(states, ones, training=True)) - states
    kept = np.isclose(added, 2, atol=1e-5)
    assert (kept | np.isclose(added, 0, atol=1e-5)).all()
    assert 0 < kept.sum() < kept.size


def test_an_unknown_placement_is_refused() -> None:
    with pytest.raises(ValueError, match="norm must be one of .* output, got 'middle'"):
        Residual(NormConfig(place="middle"))
