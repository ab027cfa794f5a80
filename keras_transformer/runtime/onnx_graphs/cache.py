"""The decoder's cache: keys and values, or a recurrence's states, in buffers that the graph writes
in place and that grow by blocks, a table of the rows that hold each hypothesis's earlier tokens,
and the pool that lends batches their memory.
"""

import itertools
import math
import threading
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from keras_transformer.artefact.entries import GraphTensor
from keras_transformer.runtime.loop.requests import Ids, Rows, keep_rows, rows_of, take_beams

Block = npt.NDArray[np.uint8]

BLOCK_TOKENS = 16
# Bytes of cache memory that an engine keeps for later batches: enough for a small model's largest
# with four beams on two threads. A batch that needs more computes longer than it takes to allocate.
KEPT_BYTES = 256 << 20
_KINDS = ("cache_key_", "cache_value_", "cache_state_")


def cache_inputs(inputs: Sequence[GraphTensor]) -> list[GraphTensor]:
    """Returns a decoder's cache inputs: all keys, all values, or all states."""
    return [spec for kind in _KINDS for spec in inputs if spec.name.startswith(kind)]


class Memory:
    """Lends blocks of bytes to batches; any number of threads may use it at once.

    For a small model, the first access to fresh memory costs more than the arithmetic of a step.

    Args:
        most_kept: Most bytes to keep for later batches.

    Attributes:
        peak_bytes: Most bytes that the cache of a batch has taken so far.
    """

    def __init__(self, most_kept: int) -> None:
        self.peak_bytes = 0
        self._most_kept = most_kept
        self._lock = threading.Lock()
        self._kept: list[Block] = []  # Smallest first.

    @property
    def kept_bytes(self) -> int:
        """Bytes that wait to be lent again."""
        return sum(map(len, self._kept))

    def note(self, size: int) -> None:
        """Takes note of the bytes that a batch's cache took."""
        with self._lock:
            self.peak_bytes = max(self.peak_bytes, size)

    def close(self) -> None:
        """Frees the blocks that wait, and those that are given back from now on."""
        with self._lock:
            self._most_kept = 0
            self._kept.clear()

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


class KeyValueCache:
    """Buffers `(rows, heads, capacity, width)`, finite everywhere.

    A state of a recurrence has as many places as its input says, however many tokens there are: one
    that a step reads and one that it writes, in turn.

    Hypotheses never move: if one continues another, `beams` records which row holds each of its
    earlier tokens.

    Args:
        inputs: The decoder's cache inputs, of shape `(rows, heads, cache_length, width)`, where a
            recurrence has a number in place of `cache_length`.
        sentences: Sentences in the batch.
        capacity: Tokens to make room for initially; the buffers grow when they are full.
        limit: Most tokens there will ever be; the buffers never grow beyond them.
        memory: Where the buffers' memory comes from.
        beams: Rows that each sentence has at first.
        room: Tokens before one that are ever read, so that older ones may be forgotten; None for
            all.

    Attributes:
        buffers: One array for each of `inputs`.
        beams: int32 `(sentences, beams, capacity)`.
    """

    def __init__(
        self,
        inputs: Sequence[GraphTensor],
        sentences: int,
        capacity: int,
        limit: int,
        memory: Memory,
        beams: int = 1,
        room: int | None = None,
    ) -> None:
        self._room = room
        # Twice the room: what is left is moved once for as many tokens.
        self._limit = limit if room is None else min(limit, max(capacity, 2 * room))
        self._memory = memory
        self._inputs = inputs
        self._dtype = np.dtype(inputs[0].dtype)
        capacity = whole_blocks(min(capacity, self._limit))
        self._block, self.buffers = self._zeros(sentences * beams, capacity)
        self.beams = self._own(sentences, beams, capacity)

    @property
    def capacity(self) -> int:
        """Tokens that the buffers have room for."""
        return self.beams.shape[2]

    @property
    def bytes(self) -> int:
        """Bytes that the buffers take."""
        return sum(buffer.nbytes for buffer in self.buffers)

    def forget(self, step: int) -> int:
        """Drops the oldest of `step` tokens if the buffers are full and may not grow; returns how
        many, by which places count from less.
        """
        if self._room is None or step < max(self.capacity, self._limit, self._room + 1):
            return 0
        dropped = step - self._room
        for held in (*self.buffers, self.beams):
            held[:, :, : self._room] = held[:, :, dropped:step].copy()
        self.beams[:, :, self._room :] = np.arange(self.beams.shape[1])[:, None]
        return dropped

    def make_room(self, step: int) -> bool:
        """Grows the buffers if they have no room for token `step`; returns whether they grew."""
        if step < self.capacity:
            return False
        wanted = min(step + max(BLOCK_TOKENS, step // 2), self._limit)
        capacity = whole_blocks(max(step + 1, wanted))
        block, grown = self._zeros(len(self.buffers[0]), capacity)
        for old, new in zip(self.buffers, grown, strict=True):
            new[:, :, : old.shape[2]] = old
        self._replace(block, grown)
        more = self._own(len(self.beams), self.beams.shape[1], capacity - self.capacity)
        self.beams = np.concatenate([self.beams, more], axis=2)
        return True

    def follow(self, parents: Ids, step: int) -> bool:
        """Makes beam w of sentence s continue its beam `parents[s, w]`.

        Args:
            parents: `(sentences, beams)`; the number of beams may grow from 1.
            step: Tokens held; each row wrote the newest into its own buffer.

        Returns:
            Whether the number of rows, and with it the buffers, changed.
        """
        beams = parents.shape[1]
        widened = beams != self.beams.shape[1]
        if widened:
            self._widen(beams, step)
        elif step:
            held = self.beams[:, :, : step - 1]
            held[:] = take_beams(self.beams, parents)[:, :, : step - 1]
        if step and not widened:
            self.beams[:, :, step - 1] = parents
        return widened

    def keep(self, sentences: Rows, step: int) -> None:
        """Drops all sentences but these and puts their buffers in this order."""
        rows = rows_of(sentences, self.beams.shape[1])
        keep_rows([buffer[:, :, :step] for buffer in self.buffers], rows)
        self.buffers = [buffer[: len(rows)] for buffer in self.buffers]
        self.beams = self.beams[sentences]

    def join(self, other: "KeyValueCache", step: int) -> None:
        """Puts the sentences of another cache, which holds as many tokens, behind its own."""
        self._limit = max(self._limit, other._limit)
        parts, capacity = (self, other), max(self.capacity, other.capacity)
        block, wide = self._zeros(sum(len(one.buffers[0]) for one in parts), capacity)
        first = 0
        for one in parts:
            end = first + len(one.buffers[0])
            for old, new in zip(one.buffers, wide, strict=True):
                new[first:end, :, :step] = old[:, :, :step]
            first = end
        self._replace(block, wide)
        sentences, beams = sum(len(one.beams) for one in parts), self.beams.shape[1]
        beams_of = self._own(sentences, beams, capacity)
        beams_of[:, :, :step] = np.concatenate([one.beams[:, :, :step] for one in parts])
        self.beams = beams_of

    def close(self) -> None:
        """Gives the memory back; the buffers must not be used any more."""
        self._memory.give(self._block)
        self.buffers = []

    def _widen(self, beams: int, step: int) -> None:
        """Gives each sentence more rows, all of which continue its only one and share it."""
        block, wide = self._zeros(len(self.beams) * beams, self.capacity)
        for old, new in zip(self.buffers, wide, strict=True):
            new[::beams, :, :step] = old[:, :, :step]
        self._replace(block, wide)
        self.beams = self._own(len(self.beams), beams, self.capacity)
        self.beams[:, :, :step] = 0

    @staticmethod
    def _own(sentences: int, beams: int, tokens: int) -> Ids:
        """Returns a table that points each hypothesis to its own row."""
        table = np.empty((sentences, beams, tokens), np.int32)
        table[:] = np.arange(beams)[:, None]
        return table

    def _replace(self, block: Block, buffers: list[npt.NDArray]) -> None:
        self._memory.give(self._block)
        self._block, self.buffers = block, buffers

    def _zeros(self, rows: int, capacity: int) -> tuple[Block, list[npt.NDArray]]:
        """Returns a block of memory and the buffers in it."""
        shapes = [_buffer_shape(spec, rows, capacity) for spec in self._inputs]
        ends = list(itertools.accumulate(map(math.prod, shapes)))
        block = self._memory.take(ends[-1] * self._dtype.itemsize)
        values = block[: ends[-1] * self._dtype.itemsize].view(self._dtype)
        return block, [
            values[start:end].reshape(shape)
            for start, end, shape in zip([0, *ends], ends, shapes, strict=False)
        ]


def bytes_of_row(inputs: Sequence[GraphTensor], tokens: int) -> int:
    """Returns the bytes that one row takes in all buffers together.

    Args:
        inputs: Of keys and values, or of states, which take the same for any number of tokens.
        tokens: How many each of the others has room for.
    """
    return sum(
        np.dtype(spec.dtype).itemsize * math.prod(_buffer_shape(spec, 1, tokens)) for spec in inputs
    )


def bytes_per_row(inputs: Sequence[GraphTensor]) -> Callable[[int, int], int]:
    """Returns what tells the bytes of a row's keys and values: those to its source, of as many
    tokens as the first number, and its own, of as many as the second.

    Args:
        inputs: All inputs of the decoder.
    """
    cross = [spec for spec in inputs if spec.name.startswith("cross_")]
    cache = cache_inputs(inputs)
    return lambda source, target: (
        bytes_of_row(cross, source) + bytes_of_row(cache, whole_blocks(target))
    )


def _buffer_shape(spec: GraphTensor, rows: int, tokens: int) -> tuple[int, ...]:
    _, heads, places, width = spec.shape
    return rows, int(heads), tokens if isinstance(places, str) else places, int(width)


def whole_blocks(tokens: int) -> int:
    """Rounds a number of tokens up to whole blocks, the capacity that buffers get."""
    return -(-tokens // BLOCK_TOKENS) * BLOCK_TOKENS
