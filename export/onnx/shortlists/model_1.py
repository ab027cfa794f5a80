"""Lexical probabilities from parallel text, by IBM Model 1 (Brown et al. 1993, section 4.1): for
each source id, the target ids that most likely translate it.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Ids = npt.NDArray[np.int64]
Rows = Sequence[Sequence[int]]


class Lexicon(NamedTuple):
    """Which target ids translate which source ids; entries ascend by source, then by target.

    Attributes:
        source_ids: int64 `(entries,)`; `source_vocab_size` stands for the empty word.
        target_ids: int64 `(entries,)`.
        probabilities: float64 `(entries,)`, those of a source id's target ids; they sum to 1.
    """

    source_ids: Ids
    target_ids: Ids
    probabilities: npt.NDArray[np.float64]

    def best(self, count: int, source_vocab_size: int) -> list[Ids]:
        """Returns the most probable target ids of each source id, best first, `count` at most."""
        order = np.lexsort((-self.probabilities, self.source_ids))
        ends = np.searchsorted(self.source_ids, np.arange(source_vocab_size + 1))
        return [
            self.target_ids[order[begin : min(begin + count, end)]]
            for begin, end in zip(ends[:-1], ends[1:], strict=True)
        ]


def train_model_1(
    sources: Rows,
    targets: Rows,
    source_vocab_size: int,
    target_vocab_size: int,
    iterations: int = 5,
) -> Lexicon:
    """Estimates p(target id | source id) by expectation maximisation, from equal probabilities.

    Args:
        sources: Ids of each text.
        targets: Ids of its translation.
        source_vocab_size: Number of source ids; one more id stands for the empty word.
        target_vocab_size: Number of target ids.
        iterations: How often probabilities are estimated anew.
    """
    # Every target token may be due to any source token of its pair, or to the empty word.
    keys, begins, counts = _cells(sources, targets, source_vocab_size, target_vocab_size)
    entries, cells = np.unique(keys, return_inverse=True)
    source_ids, target_ids = np.divmod(entries, target_vocab_size)
    first_of_source = np.flatnonzero(np.diff(source_ids, prepend=-1))
    entries_of_source = np.diff(first_of_source, append=len(entries))
    probabilities = np.ones(len(entries))
    for _ in range(iterations if len(entries) else 0):
        shares = probabilities[cells]
        shares /= np.repeat(np.add.reduceat(shares, begins), counts)
        expected = np.bincount(cells, shares, len(entries))
        totals = np.add.reduceat(expected, first_of_source)
        probabilities = expected / np.repeat(totals, entries_of_source)
    return Lexicon(source_ids, target_ids, probabilities)


def _cells(
    sources: Rows, targets: Rows, source_vocab_size: int, target_vocab_size: int
) -> tuple[Ids, Ids, Ids]:
    """Returns the pair of ids of each source and target token of a text, target by target.

    Returns:
        source id * target_vocab_size + target id of each, and for each target token where its
        own begin and how many they are.
    """
    with_empty = [[*row, source_vocab_size] for row in sources]
    source_ids = np.array([token for row in with_empty for token in row], np.int64)
    target_ids = np.array([token for row in targets for token in row], np.int64)
    lengths = np.array([len(row) for row in with_empty], np.int64)
    starts = np.cumsum(lengths) - lengths
    repeats = np.array([len(row) for row in targets], np.int64)
    counts, first = np.repeat(lengths, repeats), np.repeat(starts, repeats)
    begins = np.cumsum(counts) - counts
    places = np.repeat(first - begins, counts) + np.arange(counts.sum())
    keys = source_ids[places] * target_vocab_size + np.repeat(target_ids, counts)
    return keys, begins, counts
