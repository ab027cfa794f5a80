"""The decoder's key and value buffers between two steps: what the last step wrote comes in, grown
and reordered buffers for the next step leave.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ..manifest import TensorSpec

Buffers = list[npt.NDArray[np.float32]]
Rows = npt.NDArray[np.int64]
BLOCK_TOKENS = 16


class KeyValueCache:
    """Two sets of buffers, one that the step reads and one that it writes, swapped every step.

    Buffers are `(rows, heads, cache_length, width)`, float32, zero where nothing was written yet:
    the graph multiplies those places by a weight of 0, which only finite numbers survive.

    Args:
        inputs: The decoder's cache inputs, of shape `(rows, heads, cache_length, width)`.
        rows: Rows of the first step.
    """

    def __init__(self, inputs: Sequence[TensorSpec], rows: int) -> None:
        self._sizes = [(int(spec.shape[1]), int(spec.shape[3])) for spec in inputs]
        self._rows = rows
        self._front = self._zeros(rows, BLOCK_TOKENS)
        self._back = self._zeros(rows, BLOCK_TOKENS)

    @property
    def read(self) -> Buffers:
        """What the step reads."""
        return [buffer[: self._rows] for buffer in self._front]

    @property
    def write(self) -> Buffers:
        """What the step writes: as `read` with one more place filled."""
        return [buffer[: self._rows] for buffer in self._back]

    def swap(self) -> None:
        """Makes what the step wrote the next step's input."""
        self._front, self._back = self._back, self._front

    def prepare(self, step: int, parents: Rows | None) -> None:
        """Makes `read` hold what the next step continues, with a free place at `step`.

        Args:
            step: Tokens already held, the place that the next step writes.
            parents: Row of the last step that each row continues; None where nothing moves.
        """
        rows = self._rows if parents is None else len(parents)
        allocated_rows, _, capacity, _ = self._front[0].shape
        if step == capacity or rows > allocated_rows:
            self._grow(step, parents, rows, capacity + BLOCK_TOKENS * (step == capacity))
        elif parents is not None:
            for old, new in zip(self._front, self._back, strict=True):
                # Unlike "raise", "clip" writes straight into `out`; the rows are in range.
                np.take(old, parents, axis=0, out=new[:rows], mode="clip")
            self.swap()
        self._rows = rows

    def _grow(self, step: int, parents: Rows | None, rows: int, capacity: int) -> None:
        source = slice(self._rows) if parents is None else parents
        grown = self._zeros(rows, capacity)
        for old, new in zip(self._front, grown, strict=True):
            new[:, :, :step] = old[source, :, :step]
        self._front, self._back = grown, self._zeros(rows, capacity)

    def _zeros(self, rows: int, capacity: int) -> Buffers:
        return [
            np.zeros((rows, heads, capacity, width), np.float32) for heads, width in self._sizes
        ]
