"""Sentences of like length go into one batch, padded to the longest of them: numpy only."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt


def batches(lengths: Mapping[int, int], budget: int, rows: int = 1) -> Iterator[list[int]]:
    """Yields places of sentences of like length, each once, shortest first.

    Args:
        lengths: The padded tokens of each sentence, by its place.
        budget: Most padded tokens in a batch; one sentence alone may have more.
        rows: Rows that a sentence takes.
    """
    batch: list[int] = []
    for place in sorted(lengths, key=lambda place: (lengths[place], place)):
        if batch and (len(batch) + 1) * rows * lengths[place] > budget:
            yield batch
            batch = []
        batch.append(place)
    if batch:
        yield batch


def pad(rows: Sequence[Sequence[int]], filler: int) -> npt.NDArray[np.int32]:
    """Returns int32 `(rows, longest)`, `filler` behind the shorter ones."""
    padded = np.full((len(rows), max(map(len, rows))), filler, np.int32)
    for line, row in zip(padded, rows, strict=True):
        line[: len(row)] = row
    return padded
