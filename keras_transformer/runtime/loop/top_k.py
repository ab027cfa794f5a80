"""Log-probabilities of logits and the largest of them, by an exact selection in which the lower id
wins a tie.
"""

import numpy as np
import numpy.typing as npt

Values = npt.NDArray[np.float32]
Places = npt.NDArray[np.int64]

# Widths of the blocks that rows are narrowed down to before they are sorted: the fastest measured.
_BLOCKS = (256, 16)


def log_softmax(logits: Values) -> Values:
    """Returns the log of the softmax over the last axis, in float32.

    Args:
        logits: float32 `(rows, vocabulary)`; at least one finite value in each row.
    """
    shifted = logits - logits.max(axis=-1, keepdims=True)
    shifted -= np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
    return shifted


def top_candidates(values: Values, count: int) -> tuple[Values, Places]:
    """Returns the `count` largest values of each row and their places, largest first.

    Among equal values the lowest place comes first, so that every implementation of the search
    makes the same choice. A row with fewer values is filled up with -inf at place 0.

    Args:
        values: float32 `(rows, width)`, no NaN.
        count: How many, at least 1.

    Returns:
        Values float32 `(rows, count)` and places int64 `(rows, count)`.
    """
    chosen, places = values, np.broadcast_to(np.arange(values.shape[1]), values.shape)
    for block in _BLOCKS:
        if chosen.shape[1] > count * block:
            chosen, places = _best_blocks(chosen, places, count, block)
    order = np.argsort(-chosen, axis=1, kind="stable")[:, :count]
    best, where = np.take_along_axis(chosen, order, 1), np.take_along_axis(places, order, 1)
    missing = count - best.shape[1]
    if missing > 0:
        best = np.pad(best, ((0, 0), (0, missing)), constant_values=-np.inf)
        where = np.pad(where, ((0, 0), (0, missing)))
    return best, where


def _best_blocks(values: Values, places: Places, count: int, block: int) -> tuple[Values, Places]:
    """Narrows each row down to the `count` blocks with the largest maxima, which hold its best.

    Among equal maxima the lower block counts as larger. An element of any other block has `count`
    maxima before it in the order, so it is not among the `count` best. Blocks keep their order.
    """
    rows, width = values.shape
    whole = width // block
    maxima = values[:, : whole * block].reshape(rows, whole, block).max(axis=2)
    if width % block:
        tail = values[:, whole * block :].max(axis=1, keepdims=True)
        maxima = np.concatenate([maxima, tail], axis=1)
    blocks = np.sort(np.argsort(-maxima, axis=1, kind="stable")[:, :count], axis=1)
    inside = (blocks[:, :, None] * block + np.arange(block)).reshape(rows, -1)
    # The last block may reach past the row's end: it is filled up with -inf, which sorts last.
    real = np.minimum(inside, width - 1)
    chosen = np.where(inside < width, np.take_along_axis(values, real, 1), np.float32(-np.inf))
    return chosen, np.take_along_axis(places, real, 1)
