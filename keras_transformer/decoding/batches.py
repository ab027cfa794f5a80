"""Groups sentences of similar length into batches and pads each to its longest, with numpy only."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt


def batches(lengths: Mapping[int, int], budget: int, rows: int = 1) -> Iterator[list[int]]:
    """Yields batches of the indices of sentences of similar length, each once, shortest first.

    Args:
        lengths: The number of tokens of each sentence, by its index.
        budget: Most padded tokens in a batch; a single sentence may have more.
        rows: Number of rows per sentence.
    """
    batch: list[int] = []
    for place in sorted(lengths, key=lambda place: (lengths[place], place)):
        if batch and (len(batch) + 1) * rows * lengths[place] > budget:
            yield batch
            batch = []
        batch.append(place)
    if batch:
        yield batch


def run_in_batches(
    lengths: Sequence[int], budget: int, run: Callable[[list[int]], Iterable[Any]]
) -> list[Any]:
    """Returns what `run` gives for each row, in the order of the rows.

    Args:
        lengths: The number of tokens of each row.
        budget: Most padded tokens in a batch.
        run: Takes the indices of a batch's rows; returns a result for each.
    """
    found: dict[int, Any] = {}
    for places in batches(dict(enumerate(lengths)), budget):
        found.update(zip(places, run(places), strict=True))
    return [found[place] for place in range(len(lengths))]


def pad(rows: Sequence[Sequence[int]], filler: int) -> npt.NDArray[np.int32]:
    """Returns the rows as int32 `(rows, longest)`, the shorter ones padded with `filler`."""
    padded = np.full((len(rows), max(map(len, rows))), filler, np.int32)
    for line, row in zip(padded, rows, strict=True):
        line[: len(row)] = row
    return padded
