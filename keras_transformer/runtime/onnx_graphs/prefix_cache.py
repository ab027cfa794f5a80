"""The keys and values of what prompts began with, kept for later prompts that begin alike."""

import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from hashlib import blake2b

import numpy as np
import numpy.typing as npt

# Tokens that are kept and found together.
BLOCK = 16
Block = list[npt.NDArray]
# A digest of a block's tokens and of all before it.
_Key = bytes


class PrefixCache:
    """Blocks of keys and values by all tokens up to their last; any number of threads may use it.

    The blocks that were used longest ago go first, of one prompt the last before those that it
    builds on.

    Args:
        most_tokens: Most tokens to keep; 0 keeps nothing.

    Attributes:
        reused: How many tokens later prompts had of it so far.

    Raises:
        ValueError: It is negative.
    """

    def __init__(self, most_tokens: int) -> None:
        if most_tokens < 0:
            raise ValueError(f"prefix_cache_tokens must be at least 0, got {most_tokens}.")
        self._most_blocks = most_tokens // BLOCK
        self.reused = 0
        self._lock = threading.Lock()
        self._blocks: OrderedDict[_Key, Block] = OrderedDict()

    def __bool__(self) -> bool:
        """Whether it keeps anything."""
        return self._most_blocks > 0

    @property
    def tokens(self) -> int:
        """How many tokens are kept."""
        return BLOCK * len(self._blocks)

    def restore(
        self, tokens: npt.NDArray[np.int32], caches: Sequence[npt.NDArray], reader: bytes = b""
    ) -> int:
        """Writes what is known of a row's first tokens into its caches; returns how many these are.

        Args:
            tokens: The ids that the row begins with: `(length,)`.
            caches: Its caches `(…, capacity, width)`.
            reader: What tells apart who reads the same tokens to other keys and values.
        """
        with self._lock:
            found = [self._blocks[key] for key in self._known(tokens, reader)]
            self.reused += BLOCK * len(found)
        for place, block in enumerate(found):
            for cache, part in zip(caches, block, strict=True):
                cache[..., place * BLOCK : (place + 1) * BLOCK, :] = part
        return BLOCK * len(found)

    def keep(
        self, tokens: npt.NDArray[np.int32], caches: Sequence[npt.NDArray], reader: bytes = b""
    ) -> None:
        """Keeps the whole blocks of a row's first tokens; arguments as for `restore`."""
        keys = list(_keys(tokens, reader))[: self._most_blocks]
        for place, key in enumerate(keys):
            if key not in self._blocks:
                part = slice(place * BLOCK, (place + 1) * BLOCK)
                block = [cache[..., part, :].copy() for cache in caches]
                with self._lock:
                    self._blocks[key] = block
        with self._lock:
            self._use(keys)
            while len(self._blocks) > self._most_blocks:
                self._blocks.popitem(last=False)

    def _known(self, tokens: npt.NDArray[np.int32], reader: bytes) -> list[_Key]:
        found = []
        for key in _keys(tokens, reader):
            if key not in self._blocks:
                break
            found.append(key)
        self._use(found)
        return found

    def _use(self, keys: Sequence[_Key]) -> None:
        # What others build on is used last, and so stays longest.
        for key in reversed(keys):
            if key in self._blocks:
                self._blocks.move_to_end(key)


def _keys(tokens: npt.NDArray[np.int32], reader: bytes) -> Iterator[_Key]:
    key = reader
    for end in range(BLOCK, len(tokens) + 1, BLOCK):
        # Nobody can make a prompt that is mistaken for another one.
        key = blake2b(key + tokens[end - BLOCK : end].tobytes(), digest_size=16).digest()
        yield key
