"""KeyValueCache: rows follow their parents, leave, and keep what was written when buffers grow."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keras_transformer.export.manifest import TensorSpec
from keras_transformer.export.runtime.cache import BLOCK_TOKENS, KeyValueCache

# Key and value of one layer, of different widths: (rows, heads, cache_length, width).
INPUTS = [
    TensorSpec(name=name, dtype="float32", shape=("rows", 2, "cache_length", width))
    for name, width in (("cache_key_0", 3), ("cache_value_0", 5))
]


def write_one_token(cache: KeyValueCache, step: int, mark: float) -> None:
    """Does what the graph does: copies everything and fills the place `step`."""
    for read, write in zip(cache.read, cache.write, strict=True):
        write[:] = read
        rows = np.arange(len(read), dtype=np.float32)[:, None, None]
        write[:, :, step] = mark + rows / 100
    cache.swap()


@given(
    seed=st.integers(0, 2**32 - 1),
    steps=st.integers(1, 2 * BLOCK_TOKENS + 3),
    beams=st.integers(1, 4),
)
def test_it_equals_a_history_taken_by_parents(seed: int, steps: int, beams: int) -> None:
    random = np.random.default_rng(seed)
    rows = int(random.integers(1, 5))
    cache = KeyValueCache(INPUTS, rows)
    history = [np.zeros((rows, 2, 0, 3), np.float32), np.zeros((rows, 2, 0, 5), np.float32)]
    for step in range(steps):
        parents = None
        if step == 1:  # Every sentence branches into its beams.
            parents = np.repeat(np.arange(rows), beams)
        elif step > 1 and random.random() < 0.7:  # Rows are swapped, doubled and dropped.
            count = int(random.integers(1, len(history[0]) + 1))
            parents = random.integers(0, len(history[0]), count)
        cache.prepare(step, parents)
        if parents is not None:
            history = [np.take(old, parents, axis=0) for old in history]
        for read, expected in zip(cache.read, history, strict=True):
            np.testing.assert_array_equal(read[:, :, :step], expected)
        write_one_token(cache, step, float(step + 1))
        history = [
            np.concatenate([old, new[:, :, step : step + 1]], axis=2)
            for old, new in zip(history, cache.read, strict=True)
        ]


def test_it_grows_by_one_block_only_when_full() -> None:
    cache = KeyValueCache(INPUTS, rows=2)
    lengths = []
    for step in range(2 * BLOCK_TOKENS + 1):
        cache.prepare(step, None)
        lengths.append({buffer.shape[2] for buffer in (*cache.read, *cache.write)})
        write_one_token(cache, step, 1.0)
    assert lengths == [{BLOCK_TOKENS * (1 + step // BLOCK_TOKENS)} for step in range(len(lengths))]


@pytest.mark.parametrize("step", [3, BLOCK_TOKENS], ids=["with room", "while growing"])
def test_dropped_rows_are_gone_and_the_rest_keeps_its_order(step: int) -> None:
    cache = KeyValueCache(INPUTS, rows=4)
    for place in range(step):
        cache.prepare(place, None)
        write_one_token(cache, place, float(place))
    before = [buffer.copy() for buffer in cache.read]
    cache.prepare(step, np.array([1, 3]))
    for read, write, old in zip(cache.read, cache.write, before, strict=True):
        assert len(read) == len(write) == 2
        np.testing.assert_array_equal(read[:, :, :step], old[[1, 3], :, :step])


def test_unused_places_are_finite() -> None:
    cache = KeyValueCache(INPUTS, rows=1)
    for step in range(BLOCK_TOKENS + 1):
        cache.prepare(step, np.zeros(3, np.int64) if step in (1, BLOCK_TOKENS) else None)
        assert all(np.isfinite(buffer).all() for buffer in (*cache.read, *cache.write))
        write_one_token(cache, step, 1.0)
