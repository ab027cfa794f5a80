"""Exact selection of the largest of many numbers, with ties settled by place, and the softmax that
comes before it: logits come in, log-probabilities and their best places leave.
"""

import numpy as np
import numpy.typing as npt

_BLOCK = 256


def log_softmax(logits: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Returns the log of the softmax over the last axis, in float32.

    Args:
        logits: float32 `(rows, vocabulary)`; at least one finite value in each row.
    """
    shifted = logits - logits.max(axis=-1, keepdims=True)
    shifted -= np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
    return shifted


def top_candidates(
    values: npt.NDArray[np.float32], count: int
) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.int64]]:
    """Returns the `count` largest values of each row and their places, largest first.

    Among equal values the lowest place comes first, so that every implementation of the search
    makes the same choice. A row with fewer values is filled up with -inf at place 0.

    Args:
        values: float32 `(rows, width)`, no NaN.
        count: How many, at least 1.

    Returns:
        Values float32 `(rows, count)` and places int64 `(rows, count)`.
    """
    rows, width = values.shape
    places = _places_of_best_blocks(values, count)  # [rows, some], ascending in each row
    chosen = np.take_along_axis(values, np.minimum(places, width - 1), axis=1)
    chosen[places >= width] = -np.inf
    order = np.argsort(-chosen, axis=1, kind="stable")[:, :count]
    best, where = np.take_along_axis(chosen, order, 1), np.take_along_axis(places, order, 1)
    missing = count - best.shape[1]
    if missing > 0:
        best = np.pad(best, ((0, 0), (0, missing)), constant_values=-np.inf)
        where = np.pad(where, ((0, 0), (0, missing)))
    return best, where


def _places_of_best_blocks(values: npt.NDArray[np.float32], count: int) -> npt.NDArray[np.int64]:
    """Returns places that surely hold the `count` best of each row, ascending; few if it is wide.

    The `count` blocks of largest maximum (the lower block first among equals) hold them: an element
    of any other block has `count` maxima before it in the order.
    """
    rows, width = values.shape
    whole = width // _BLOCK
    if whole + 1 <= count:
        return np.broadcast_to(np.arange(width), (rows, width))
    maxima = values[:, : whole * _BLOCK].reshape(rows, whole, _BLOCK).max(axis=2)
    if width % _BLOCK:
        tail = values[:, whole * _BLOCK :].max(axis=1, keepdims=True)
        maxima = np.concatenate([maxima, tail], axis=1)
    blocks = np.sort(np.argsort(-maxima, axis=1, kind="stable")[:, :count], axis=1)
    return (blocks[:, :, None] * _BLOCK + np.arange(_BLOCK)).reshape(rows, -1)
