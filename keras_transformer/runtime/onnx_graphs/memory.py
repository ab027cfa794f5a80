"""A pool of memory blocks that batches borrow and return: for a small model, the first access to
fresh memory costs more than the arithmetic of a decode step.
"""

import threading

import numpy as np
import numpy.typing as npt

Block = npt.NDArray[np.uint8]

# Bytes of cache memory that an engine keeps for later batches: enough for a small model's largest
# with four beams on two threads. A batch that needs more computes longer than it takes to allocate.
KEPT_BYTES = 256 << 20


class Memory:
    """Lends blocks of bytes; any number of threads may use it at once.

    Args:
        most_kept: Most bytes to keep for later batches.
    """

    def __init__(self, most_kept: int) -> None:
        self._most_kept = most_kept
        self._lock = threading.Lock()
        self._kept: list[Block] = []  # Smallest first.

    @property
    def kept_bytes(self) -> int:
        """Bytes that wait to be lent again."""
        return sum(map(len, self._kept))

    def take(self, size: int) -> Block:
        """Returns a block for the caller alone, whose first `size` bytes are zero."""
        with self._lock:
            place = next((i for i, block in enumerate(self._kept) if len(block) >= size), None)
            block = None if place is None else self._kept.pop(place)
        if block is None:
            return np.zeros(size, np.uint8)
        # Nothing of an earlier batch may be left, above all no values that are not finite.
        block[:size] = 0
        return block

    def give(self, block: Block) -> None:
        """Takes a block back: the caller must not touch it any more."""
        with self._lock:
            self._kept.append(block)
            self._kept.sort(key=len)
            while self.kept_bytes > self._most_kept:
                self._kept.pop(0)  # The smallest, which fits the fewest requests.
