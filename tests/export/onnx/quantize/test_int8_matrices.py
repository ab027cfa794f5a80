"""8-bit matrices: values by hand, and the largest error."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from keras_transformer.export.onnx.heads.screening import Screen
from keras_transformer.export.onnx.quantize import byte_screen, int8_matrices
from keras_transformer.export.onnx.quantize.int8_matrices import largest_sums, quantize_lines

# Values so small that they become zero.
_NEXT_TO_ZERO = 1e-35
_MATRICES = arrays.arrays(
    np.float32,
    arrays.array_shapes(min_dims=2, max_dims=2, max_side=150),
    elements=st.floats(-100, 100, width=32),
)


def test_a_line_is_scaled_by_its_largest_value() -> None:
    values, scales = quantize_lines(np.array([[1.27, -0.5], [0.004, 2.54]], np.float32), axis=1)
    np.testing.assert_array_equal(values, [[127, -25], [0, 127]])
    np.testing.assert_allclose(scales, [0.01, 0.02], rtol=1e-6)
    values, scales = quantize_lines(np.array([[1.27, -0.5], [0.004, 2.54]], np.float32), axis=0)
    np.testing.assert_array_equal(values, [[127, -50], [0, 127]])
    assert scales.shape == (2,)


def test_sums_are_of_neighbours_of_one_sign() -> None:
    lines = np.array([[1, 2, 2, -3, 1], [-1, -4, 2, 2, 1], [0, 0, 0, 0, 6]], np.float32)
    np.testing.assert_array_equal(largest_sums(lines), [3, 5, 6])


@given(_MATRICES)
@pytest.mark.parametrize("axis", [0, 1])
def test_products_of_bytes_with_two_neighbours_fit_16_bits(axis: int, matrix: np.ndarray) -> None:
    values, _ = quantize_lines(matrix, axis, summed=True)
    lines = (values if axis == 0 else values.T).astype(int)
    # The worst inputs: 255 at weights of one sign, 0 at the others.
    for inputs in (255 * (lines > 0), 255 * (lines < 0)):
        products = inputs * lines
        products = np.pad(products, ((0, 0), (0, products.shape[1] % 2)))
        sums = products.reshape(len(products), -1, 2).sum(axis=2)
        assert -(2**15) <= sums.min() and sums.max() < 2**15


@given(_MATRICES, st.booleans())
@pytest.mark.parametrize("axis", [0, 1])
def test_no_value_moves_by_more_than_half_a_step(
    axis: int, matrix: np.ndarray, summed: bool
) -> None:
    values, scales = quantize_lines(matrix, axis, summed=summed)
    steps = np.expand_dims(scales.astype(np.float64), 1 - axis)
    assert values.dtype == np.int8 and np.abs(values.astype(int)).max() <= 127
    assert (np.abs(values * steps - matrix) <= steps * 0.50001 + _NEXT_TO_ZERO).all()


@pytest.mark.parametrize(
    "compute",
    [
        largest_sums,
        Screen.of,
        byte_screen.ByteScreen.of,
        lambda matrix: quantize_lines(matrix, 0, summed=True),
        lambda matrix: quantize_lines(matrix, 1, summed=True),
    ],
)
def test_a_matrix_in_blocks_gives_what_it_gives_at_once(
    compute: Callable[[np.ndarray], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    matrix = np.random.default_rng(0).standard_normal((100, 31), np.float32)
    whole = compute(matrix)
    monkeypatch.setattr(int8_matrices, "_BLOCK", 7 * 31)
    for found, expected in zip(compute(matrix), whole, strict=True):
        np.testing.assert_array_equal(found, expected)
