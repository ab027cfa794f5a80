"""Token embedding: scaled look-up, and logits with the same matrix."""

import keras
import numpy as np
import pytest

from keras_transformer.layers import TokenEmbedding


@pytest.fixture
def layer() -> TokenEmbedding:
    layer = TokenEmbedding(vocab_size=5, model_dim=4)
    layer.build()
    layer.matrix.assign(np.arange(20).reshape(5, 4))
    return layer


def test_rows_are_scaled_by_the_root_of_the_width(layer: TokenEmbedding) -> None:
    vectors = layer(np.array([[1, 0], [4, 1]]))
    expected = 2 * np.array([[[4, 5, 6, 7], [0, 1, 2, 3]], [[16, 17, 18, 19], [4, 5, 6, 7]]])
    np.testing.assert_array_equal(vectors, expected)


def test_reverse_multiplies_by_the_same_matrix_unscaled(layer: TokenEmbedding) -> None:
    logits = layer(np.array([[[1.0, 0, 0, 2]]]), reverse=True)
    # Row r of the matrix is 4r, 4r + 1, 4r + 2, 4r + 3: 4r + 2 · (4r + 3).
    np.testing.assert_array_equal(logits, [[[6, 18, 30, 42, 54]]])


def test_reverse_takes_any_leading_axes(layer: TokenEmbedding) -> None:
    assert layer(np.ones((3, 4), np.float32), reverse=True).shape == (3, 5)
    symbolic = layer(keras.Input((None, 4)), reverse=True)
    assert tuple(symbolic.shape) == (None, None, 5)


def test_scaled_vectors_start_with_unit_variance() -> None:
    layer = TokenEmbedding(vocab_size=400, model_dim=64)
    assert np.std(layer(np.arange(400)[None])) == pytest.approx(1.0, rel=0.02)


@pytest.mark.parametrize("argument", ["vocab_size", "model_dim"])
def test_sizes_are_checked(argument: str) -> None:
    with pytest.raises(ValueError, match=f"{argument} must be at least 1, got 0"):
        TokenEmbedding(**{"vocab_size": 5, "model_dim": 4, argument: 0})
