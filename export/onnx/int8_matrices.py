"""Symmetric 8-bit quantisation of matrices: float32 values come in, integers and scales leave whose
product is nearest to them.
"""

import numpy as np

LARGEST = 127


def quantize_lines(values: np.ndarray, axis: int) -> tuple[np.ndarray, np.ndarray]:
    """Quantises a matrix with one scale for each place on an axis.

    Args:
        values: float32, two axes.
        axis: 0 for a scale per row, 1 for a scale per column.

    Returns:
        int8 of the same shape within ±127, and float32 scales `(values.shape[axis],)`.
    """
    largest = np.abs(values).max(axis=1 - axis, keepdims=True)
    scales = _scales(largest)
    return np.rint(values / scales).astype(np.int8), scales.reshape(-1)


def _scales(largest: np.ndarray) -> np.ndarray:
    """Returns the scale for each largest absolute value; 1 where all are zero or next to it."""
    scales = (largest / np.float32(LARGEST)).astype(np.float32)
    return np.where(scales >= np.finfo(np.float32).tiny, scales, np.float32(1))
