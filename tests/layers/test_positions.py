"""Positions: the paper's formula, padding on either side, and the end of learned ones."""

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given
from hypothesis import strategies as st

from keras_transformer.layers import LearnedPositions, SinusoidalPositions
from keras_transformer.layers.positions import token_positions


def all_real(length: int) -> np.ndarray:
    return np.ones((1, length), bool)


@pytest.mark.parametrize("model_dim", [1, 2, 7, 12, 13])
def test_sinusoids_are_the_papers(model_dim: int, paper) -> None:
    vectors = SinusoidalPositions(model_dim)(all_real(50))
    np.testing.assert_allclose(vectors[0], paper.positions(50, model_dim), atol=4e-6)


@pytest.mark.parametrize("model_dim", [4, 6, 12])
@pytest.mark.parametrize("layout", ["halves", "tensor2tensor"])
def test_other_layouts_are_their_formulas(layout: str, model_dim: int, paper) -> None:
    vectors = SinusoidalPositions(model_dim, layout=layout)(all_real(50))
    np.testing.assert_allclose(vectors[0], paper.positions(50, model_dim, layout), atol=4e-6)


def test_the_slowest_rate_of_tensor2tensor_is_a_ten_thousandth() -> None:
    for model_dim in (4, 6, 512):
        rates = SinusoidalPositions(model_dim, layout="tensor2tensor").rates()
        np.testing.assert_allclose(rates[[0, -1]], [1, 1e-4], rtol=1e-6)


def test_the_first_position_is_sine_and_cosine_of_zero() -> None:
    vectors = SinusoidalPositions(5)(all_real(1))
    np.testing.assert_array_equal(vectors[0, 0], [0, 1, 0, 1, 0])


def test_worked_values() -> None:
    vectors = SinusoidalPositions(4)(all_real(3))
    # Position 2: sin 2, cos 2, sin 0.02, cos 0.02.
    expected = [0.9092974, -0.4161468, 0.0199987, 0.9998]
    np.testing.assert_allclose(vectors[0, 2], expected, atol=1e-6)
    # The same position's sines and cosines of 2 and 0.0002.
    vectors = SinusoidalPositions(4, layout="tensor2tensor")(all_real(3))
    expected = [0.9092974, 0.0002, -0.4161468, 1.0]
    np.testing.assert_allclose(vectors[0, 2], expected, atol=1e-6)


def test_ten_thousand_positions_keep_to_the_formula(paper) -> None:
    vectors = np.asarray(SinusoidalPositions(16)(all_real(10_000)))
    # An angle of 10,000 radians has steps of 0.001 in float32 at most.
    np.testing.assert_allclose(vectors[0], paper.positions(10_000, 16), atol=1e-3)
    assert np.isfinite(vectors).all()


def test_positions_count_real_tokens() -> None:
    keep = np.array([[0, 0, 1, 1, 1], [1, 1, 1, 0, 0], [0, 1, 0, 1, 1], [0, 0, 0, 0, 0]], bool)
    expected = [[0, 0, 0, 1, 2], [0, 1, 2, 2, 2], [0, 0, 0, 1, 2], [0, 0, 0, 0, 0]]
    np.testing.assert_array_equal(token_positions(keep), expected)


@pytest.mark.parametrize("learned", [False, True])
@given(tokens=st.integers(1, 6), left=st.integers(0, 5), right=st.integers(0, 5))
def test_padding_moves_no_token(learned: bool, tokens: int, left: int, right: int) -> None:
    layer = LearnedPositions(6, max_positions=16) if learned else SinusoidalPositions(6)
    keep = np.array([[False] * left + [True] * tokens + [False] * right])
    found = layer(keep)[:, left : left + tokens]
    # Vectorised sines may differ in the last bit with the place in the array.
    np.testing.assert_allclose(found, layer(all_real(tokens)), atol=1e-6)


def test_single_positions_are_rows_of_the_whole() -> None:
    for layer in (SinusoidalPositions(6), LearnedPositions(6, max_positions=8)):
        whole = layer(all_real(8))[0]
        for position in (0, 3, 7):
            vector = layer.vectors(tf.constant(position))
            np.testing.assert_allclose(vector, whole[position], atol=1e-6)


def test_learned_positions_are_the_rows_of_a_trained_matrix() -> None:
    layer = LearnedPositions(2, max_positions=3)
    layer.build()
    layer.matrix.assign([[1, 2], [3, 4], [5, 6]])
    assert [weight.name for weight in layer.trainable_weights] == ["matrix"]
    vectors = layer(np.array([[True, True, True], [False, True, True]]))
    np.testing.assert_array_equal(vectors, [[[1, 2], [3, 4], [5, 6]], [[1, 2], [1, 2], [3, 4]]])


def test_learned_positions_end() -> None:
    layer = LearnedPositions(6, max_positions=8)
    assert layer(all_real(8)).shape == (1, 8, 6)
    with pytest.raises(ValueError, match=r"9 tokens is longer than max_positions \(8\): shorten"):
        layer(all_real(9))


def test_learned_positions_end_in_a_graph_of_any_length_too() -> None:
    layer = LearnedPositions(6, max_positions=8)
    run = tf.function(layer, input_signature=[tf.TensorSpec((None, None), tf.bool)])
    assert run(tf.ones((1, 8), tf.bool)).shape == (1, 8, 6)
    with pytest.raises(tf.errors.InvalidArgumentError):
        run(tf.ones((1, 9), tf.bool))


@pytest.mark.parametrize("argument", ["model_dim", "max_positions"])
def test_sizes_are_checked(argument: str) -> None:
    with pytest.raises(ValueError, match=f"{argument} must be at least 1, got 0"):
        LearnedPositions(**{"model_dim": 4, "max_positions": 4, argument: 0})
