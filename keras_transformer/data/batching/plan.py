"""The plan of batches: an order of the pairs and where to cut it, within a budget of tokens.

Pairs are sorted by their longer side, then by the difference of the sides; batches are consecutive
pairs in that order. The cuts depend on lengths alone, so every epoch has the same number of
batches, while the groups tell which pairs of nearly equal lengths may swap places.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Lengths = npt.NDArray[np.int64]

# Pairs whose sides differ by the same number of tokens, up to this step, are drawn together:
# wider mixes more, narrower pads less.
_DIFFERENCE_STEP = 3


@dataclass(frozen=True)
class Plan:
    """The order and the cuts of one epoch.

    `order` int64 (pairs,) sorts the pairs; `groups` int64 (pairs,) is, in that order, the group of
    each pair, within which pairs may swap places; batch b holds `order[starts[b]:starts[b + 1]]`.
    """

    order: npt.NDArray[np.int64]
    groups: npt.NDArray[np.int64]
    starts: npt.NDArray[np.int64]

    @property
    def num_batches(self) -> int:
        """Number of batches."""
        return len(self.starts) - 1


def cut_batches(source_lengths: Lengths, target_lengths: Lengths, batch_tokens: int) -> Plan:
    """Orders and cuts pairs, none of them longer than `batch_tokens` on either side.

    Args:
        source_lengths: Tokens of each source row, int64 (pairs,), at least one pair.
        target_lengths: Tokens of each target row, int64 (pairs,).
        batch_tokens: The most padded tokens of a batch: rows * the longest side of any.
    """
    order, groups = order_pairs(source_lengths, target_lengths)
    longest = np.maximum(source_lengths, target_lengths)
    return Plan(order, groups, batch_starts(longest[order], batch_tokens))


def order_pairs(
    source_lengths: Lengths, target_lengths: Lengths
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Sorts pairs by their lengths; returns `order` and `groups` as in `Plan`."""
    longest = np.maximum(source_lengths, target_lengths)
    difference = (source_lengths - target_lengths) // _DIFFERENCE_STEP
    # Ascending and descending in turn, so that a batch that spans two lengths joins pairs of
    # similar difference.
    difference = np.where(longest % 2 == 0, difference, -difference)
    order = np.lexsort((difference, longest))
    changed = (np.diff(longest[order]) != 0) | (np.diff(difference[order]) != 0)
    groups = np.concatenate([np.zeros(1, np.int64), np.cumsum(changed, dtype=np.int64)])
    return order.astype(np.int64), groups


def batch_starts(longest: Lengths, batch_tokens: int) -> npt.NDArray[np.int64]:
    """Returns the batches' starts for ascending longest sides, then the number of pairs."""
    starts = [0]
    while starts[-1] < len(longest):
        start = starts[-1]
        # Lengths ascend, so rows * longest ascends too: the budget ends at the first excess.
        window = longest[start : start + batch_tokens // int(longest[start])]
        fits = window * np.arange(1, len(window) + 1) <= batch_tokens
        starts.append(start + int(fits.sum()))
    return np.asarray(starts, np.int64)


def count_batches(lengths: Lengths, counts: Lengths, batch_tokens: int) -> int:
    """Returns the number of batches of `batch_starts`, from a histogram of the longest sides.

    Args:
        lengths: Distinct longest sides, ascending, none above `batch_tokens`.
        counts: Number of pairs of each.
        batch_tokens: As in `cut_batches`.
    """
    batches = 0
    rows = 0  # of the batch that is still open
    for length, count in zip(lengths.tolist(), counts.tolist(), strict=True):
        capacity = batch_tokens // length
        added = min(count, max(capacity - rows, 0)) if rows else 0
        rest = count - added
        if not rest:
            rows += added
            continue
        batches += -(-rest // capacity)
        rows = rest % capacity
    return batches
