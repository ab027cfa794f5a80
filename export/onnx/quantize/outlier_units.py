"""Outlier channel splitting (Zhao et al. 2019): hidden units with outliers among their outgoing
weights are copied, and the copies share these weights. The layer computes the same, but the largest
weight of each output, which determines its int8 scale, is smaller.
"""

import numpy as np

# For 768 units there are as many copies as a block of our operators has outputs.
_UNITS, _BLOCK = 768, 16
# Copies cost time: they must reduce the mean square of the scales by this factor.
_WORTH = 0.9


def with_copies(kernel: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """Returns the units to use, some of them copies, and their outgoing weights.

    Args:
        kernel: float32 `(units, outputs)`.

    Returns:
        The unit that each row is a copy of `(rows,)`, the units themselves first, and float32
        weights `(rows, outputs)`; None if copies would gain little.
    """
    typical = np.sqrt(np.mean(np.square(kernel), axis=0))
    sizes = np.abs(kernel) / np.where(typical > 0, typical, 1)
    largest, extra = sizes.max(axis=1), -(-len(kernel) // _UNITS) * _BLOCK
    copies = np.ones(len(kernel), int)
    for _ in range(extra):
        copies[np.argmax(largest / copies)] += 1
    most, before = (largest / copies).max(), sizes.max(axis=0)
    if not np.mean(np.minimum(before, most) ** 2) < _WORTH * np.mean(before**2):
        return None
    more = np.repeat(np.argsort(-copies, kind="stable"), np.sort(copies)[::-1] - 1)
    # Neighbours share a bound (`int8_matrices`), so no unit stands beside itself.
    more = more.reshape(2, -1).T.reshape(-1)
    units = np.concatenate([np.arange(len(kernel)), more])
    number = np.array([np.count_nonzero(units[:row] == units[row]) for row in range(len(units))])
    # A weight is divided among no more copies than it must be, as each part is rounded.
    shares = np.clip(np.ceil(sizes / most), 1, copies[:, None])[units]
    weights = np.where(number[:, None] < shares, kernel[units] / shares, 0)
    return units, weights.astype(np.float32)
