"""Batches with the fewest padded tokens, for rows that are read once and not decoded."""

import itertools
import math
from collections.abc import Sequence

# What a batch costs beside its tokens, in tokens: reading the weights and starting the products.
_BATCH_COST = 48


def even_batches(lengths: Sequence[int], *, batch_tokens: int, workers: int = 1) -> list[list[int]]:
    """Groups rows of like length; the same lengths always give the same batches.

    Args:
        lengths: Tokens of each row, at least 1.
        batch_tokens: Most padded tokens of a batch; one row alone may have more.
        workers: Batches that run at the same time: there are as many, if there are enough rows.

    Returns:
        Numbers of rows, the longest first.

    Raises:
        ValueError: `batch_tokens` is below 1.
    """
    if batch_tokens < 1:
        raise ValueError(f"batch_tokens must be at least 1, got {batch_tokens}.")
    order = sorted(range(len(lengths)), key=lambda row: -lengths[row])
    groups = [list(rows) for _, rows in itertools.groupby(order, key=lambda row: lengths[row])]
    batches: list[list[int]] = []
    for rows in _joined(groups, lengths, batch_tokens):
        batches += _split(rows, _parts(len(rows), lengths[rows[0]], batch_tokens))
    while 0 < len(batches) < workers:
        divisible = [rows for rows in batches if len(rows) > 1]
        if not divisible:
            break
        largest = max(divisible, key=lambda rows: len(rows) * lengths[rows[0]])
        place = batches.index(largest)
        batches[place : place + 1] = _split(largest, 2)
    return batches


def _joined(
    groups: Sequence[list[int]], lengths: Sequence[int], batch_tokens: int
) -> list[list[int]]:
    """Joins neighbouring groups of equal rows such that the sum of all costs is least."""
    # For the first groups: the least cost, and where the last join of them begins.
    best: list[tuple[float, int]] = [(0.0, 0)]
    for end in range(1, len(groups) + 1):
        count, found = 0, (math.inf, 0)
        for begin in range(end - 1, -1, -1):
            count += len(groups[begin])
            length = lengths[groups[begin][0]]
            cost = count * length + _BATCH_COST * _parts(count, length, batch_tokens)
            found = min(found, (best[begin][0] + cost, begin))
        best.append(found)
    joined, end = [], len(groups)
    while end:
        begin = best[end][1]
        joined.append([row for group in groups[begin:end] for row in group])
        end = begin
    return joined[::-1]


def _parts(count: int, length: int, batch_tokens: int) -> int:
    """Returns the batches that `count` rows of a length need."""
    return -(-count // max(1, batch_tokens // length))


def _split(rows: list[int], parts: int) -> list[list[int]]:
    """Divides rows into parts of like size, neighbours together."""
    ends = [len(rows) * part // parts for part in range(parts + 1)]
    return [rows[begin:end] for begin, end in itertools.pairwise(ends)]
