"""Symmetric 8-bit quantisation of matrices: the integers and scales whose product is nearest to the
float32 values.

x86 processors without VNNI multiply unsigned inputs by signed weights and add two such products in
16 bits, with saturation. Inputs of 0 to 255 never saturate if, of every two neighbouring weights,
those of one sign sum to 128 at most: 255 · 128 < 2¹⁵. Two neighbours of different signs may both be
as large as ±127. This makes the scales of normally distributed weights a third larger; seven bits
would double them.
"""

from collections.abc import Iterator

import numpy as np

LARGEST = 127
# Values of a block of rows: intermediate results of a large vocabulary's whole matrix would take
# gigabytes.
_BLOCK = 1 << 22


def quantize_lines(
    values: np.ndarray, axis: int, *, summed: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """Quantises a matrix with one scale for each place on an axis.

    Args:
        values: float32, two axes.
        axis: 0 for a scale per row, 1 for a scale per column.
        summed: Whether products with bytes are summed along the other axis; no two neighbours
            there then sum to more than 128.

    Returns:
        int8 of the same shape within ±127, and float32 scales `(values.shape[axis],)`.
    """
    lines = values if axis == 0 else values.T
    largest = largest_sums(lines) if summed else np.abs(lines).max(axis=1)
    scales = _scales(largest)
    divisors = np.broadcast_to(np.expand_dims(scales, 1 - axis), values.shape)
    integers = np.empty(values.shape, np.int8)
    for rows in row_blocks(values):
        integers[rows] = np.rint(values[rows] / divisors[rows])
    return integers, scales


def row_blocks(matrix: np.ndarray) -> Iterator[slice]:
    """Yields the rows of a matrix, some at a time, for results that are computed row by row."""
    rows = max(1, _BLOCK // max(1, matrix.shape[1]))
    for start in range(0, len(matrix), rows):
        yield slice(start, start + rows)


def largest_sums(lines: np.ndarray) -> np.ndarray:
    """Returns for each row its largest absolute value, or sum of two neighbours of the same sign.

    Neighbours are the first and second value, the third and fourth, and so on. Scaled so that this
    is 127, and rounded, they sum to 128 at most.
    """
    return np.concatenate([_largest_sums(lines[rows]) for rows in row_blocks(lines)])


def _largest_sums(lines: np.ndarray) -> np.ndarray:
    even, odd = lines[:, ::2], lines[:, 1::2]
    odd = np.pad(odd, ((0, 0), (0, even.shape[1] - odd.shape[1])))
    positive = np.maximum(even, 0) + np.maximum(odd, 0)
    negative = np.minimum(even, 0) + np.minimum(odd, 0)
    return np.maximum(positive.max(axis=1), -negative.min(axis=1))


def _scales(largest: np.ndarray) -> np.ndarray:
    """Returns the scale for each largest value; 1 if it is zero or close to it."""
    scales = (largest / np.float32(LARGEST)).astype(np.float32)
    return np.where(scales >= np.finfo(np.float32).tiny, scales, np.float32(1))
