"""KeyValueCache: a hypothesis finds its earlier tokens wherever they were written, sentences leave,
and buffers grow no further than they must. Memory: what is lent is zero and nobody else's, and what
is given back is lent again."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keras_transformer.artefact.entries import GraphTensor
from keras_transformer.runtime.onnx_graphs.cache import (
    BLOCK_TOKENS,
    KeyValueCache,
    Memory,
    bytes_of_row,
    whole_blocks,
)

# Key and value of one layer, of different widths: (rows, heads, cache_length, width).
INPUTS = [
    GraphTensor(name=name, dtype="float32", shape=("rows", 2, "cache_length", width))
    for name, width in (("cache_key_0", 3), ("cache_value_0", 5))
]


def write_one_token(cache: KeyValueCache, step: int) -> np.ndarray:
    """Does what the graph does: each row writes its own place; returns the marks `(S, W)`."""
    sentences, beams, _ = cache.beams.shape
    marks = 1 + step + np.arange(sentences * beams, dtype=np.float32) / 100
    for buffer in cache.buffers:
        buffer[:, :, step] = marks[:, None, None]
    return marks.reshape(sentences, beams)


def held(cache: KeyValueCache, step: int) -> list[np.ndarray]:
    """Reads each hypothesis's tokens as the graph does, `(S, W, step)` for each buffer."""
    sentences, beams, _ = cache.beams.shape
    rows = cache.beams[:, :, :step] + beams * np.arange(sentences)[:, None, None]
    found = [buffer[rows, :, np.arange(step)] for buffer in cache.buffers]
    for tokens in found:
        assert (tokens == tokens[..., :1, :1]).all()
    return [tokens[..., 0, 0] for tokens in found]


@given(
    seed=st.integers(0, 2**32 - 1),
    steps=st.integers(1, 3 * BLOCK_TOKENS),
    beams=st.integers(1, 4),
    widened_at=st.integers(0, 3),
    room=st.sampled_from([None, 1, 5, 20]),
)
def test_each_hypothesis_finds_the_tokens_of_those_it_continues(
    seed: int, steps: int, beams: int, widened_at: int, room: int | None
) -> None:
    random = np.random.default_rng(seed)
    sentences = int(random.integers(1, 5))
    memory = Memory(1 << 20)
    cache = KeyValueCache(INPUTS, sentences, capacity=1, limit=steps, memory=memory, room=room)
    history = np.zeros((sentences, 1, 0), np.float32)
    step = -1
    for number in range(steps):
        step += 1
        if number == widened_at or (number > widened_at and random.random() < 0.7):
            parents = random.integers(0, history.shape[1], (len(history), beams), np.int32)
            cache.follow(parents, step)
            history = np.take_along_axis(history, parents[:, :, None], axis=1)
        if random.random() < 0.1:
            count = int(random.integers(1, len(history) + 1))
            kept = random.permutation(len(history))[:count]
            cache.keep(kept, step)
            history = history[kept]
        forgotten = cache.forget(step)
        step, history = step - forgotten, history[:, :, forgotten:]
        assert step == number or step >= (room or 0)
        cache.make_room(step)
        for found in held(cache, step):
            np.testing.assert_array_equal(found, history)
        marks = write_one_token(cache, step)
        history = np.concatenate([history, marks[:, :, None]], axis=2)


def test_what_forgets_does_not_grow_beyond_twice_its_room() -> None:
    cache = KeyValueCache(INPUTS, 1, capacity=1, limit=900, memory=Memory(1 << 20), room=20)
    step = 0
    for _ in range(300):
        step -= cache.forget(step)
        cache.make_room(step)
        write_one_token(cache, step)
        step += 1
    assert cache.capacity == whole_blocks(40) and 20 <= step <= cache.capacity


def test_where_nothing_is_followed_each_row_continues_itself() -> None:
    cache = KeyValueCache(INPUTS, 2, capacity=1, limit=100, memory=Memory(1 << 20))
    cache.follow(np.zeros((2, 3), np.int32), 0)
    marks = []
    for step in range(2 * BLOCK_TOKENS):
        cache.make_room(step)
        marks.append(write_one_token(cache, step))
    for found in held(cache, len(marks)):
        np.testing.assert_array_equal(found, np.stack(marks, axis=2))


@pytest.mark.parametrize(("capacity", "limit"), [(1, 200), (20, 200), (200, 20), (1, 33), (1, 1)])
def test_there_is_room_for_every_token_and_for_no_block_more(capacity: int, limit: int) -> None:
    cache = KeyValueCache(INPUTS, 1, capacity, limit, Memory(1 << 20))
    assert cache.capacity == whole_blocks(min(capacity, limit))
    grown = 0
    for step in range(limit):
        before = cache.capacity
        assert cache.make_room(step) == (cache.capacity > before)
        grown += cache.capacity > before
        assert step < cache.capacity <= whole_blocks(limit)
        assert cache.beams.shape == (1, 1, cache.capacity)
        assert {buffer.shape[2] for buffer in cache.buffers} == {cache.capacity}
    # Each time by half at least, so that copying stays cheap.
    assert grown <= 6


def test_it_tells_when_buffers_are_new() -> None:
    cache = KeyValueCache(INPUTS, 2, capacity=16, limit=32, memory=Memory(1 << 20))
    assert not cache.make_room(15)
    assert cache.make_room(16)
    assert cache.follow(np.zeros((2, 3), np.int32), 0)
    assert not cache.follow(np.zeros((2, 3), np.int32), 1)


def test_it_counts_its_bytes() -> None:
    cache = KeyValueCache(INPUTS, 3, capacity=BLOCK_TOKENS, limit=100, memory=Memory(1 << 20))
    # 2 heads, 3 + 5 floats of 4 bytes.
    assert bytes_of_row(INPUTS, 7) == 7 * 2 * 8 * 4
    assert cache.bytes == 3 * bytes_of_row(INPUTS, BLOCK_TOKENS)
    cache.follow(np.zeros((3, 2), np.int32), 0)
    assert cache.bytes == 2 * 3 * bytes_of_row(INPUTS, BLOCK_TOKENS)


def test_unused_places_are_finite() -> None:
    cache = KeyValueCache(INPUTS, 2, capacity=1, limit=40, memory=Memory(1 << 20))
    for step in range(BLOCK_TOKENS + 1):
        cache.make_room(step)
        if step in (1, BLOCK_TOKENS):
            cache.follow(np.zeros((len(cache.beams), 3), np.int32), step)
        assert all(np.isfinite(buffer).all() for buffer in cache.buffers)
        write_one_token(cache, step)
        if step == 3:
            cache.keep(np.array([1]), step + 1)


STATES = [GraphTensor(name="cache_state_0", dtype="float32", shape=("rows", 1, 2, 3))]


@given(
    seed=st.integers(0, 2**32 - 1),
    steps=st.integers(1, 3 * BLOCK_TOKENS),
    beams=st.integers(1, 4),
    widened_at=st.integers(0, 3),
)
def test_each_hypothesis_finds_the_state_of_the_one_it_continues(
    seed: int, steps: int, beams: int, widened_at: int
) -> None:
    random = np.random.default_rng(seed)
    sentences = int(random.integers(1, 5))
    cache = KeyValueCache(STATES, sentences, capacity=1, limit=steps, memory=Memory(1 << 20))
    assert bytes_of_row(STATES, 100) == cache.bytes // sentences == 2 * 3 * 4
    marks = np.zeros((sentences, 1), np.float32)
    for step in range(steps):
        if step == widened_at or (step > widened_at and random.random() < 0.7):
            parents = random.integers(0, marks.shape[1], (len(marks), beams), np.int32)
            cache.follow(parents, step)
            marks = np.take_along_axis(marks, parents, axis=1)
        if random.random() < 0.1:
            kept = random.permutation(len(marks))[: int(random.integers(1, len(marks) + 1))]
            cache.keep(kept, step)
            marks = marks[kept]
        cache.make_room(step)
        rows = cache.beams[:, :, max(step - 1, 0)]
        rows = rows + marks.shape[1] * np.arange(len(marks))[:, None]
        np.testing.assert_array_equal(cache.buffers[0][rows, 0, 1 - step % 2, 0], marks)
        marks = random.random(marks.shape, np.float32)
        cache.buffers[0][:, 0, step % 2] = marks.reshape(-1, 1)


@given(sizes=st.lists(st.integers(1, 50), min_size=1, max_size=20), seed=st.integers(0, 2**32 - 1))
def test_what_is_lent_is_zero_and_nobody_elses(sizes: list[int], seed: int) -> None:
    random, memory = np.random.default_rng(seed), Memory(1000)
    lent: list[np.ndarray] = []
    for size in sizes:
        block = memory.take(size)
        assert len(block) >= size
        assert not block[:size].any()
        assert not any(np.shares_memory(block, other) for other in lent)
        block.fill(255)
        lent.append(block)
        if random.random() < 0.6:
            memory.give(lent.pop(random.integers(len(lent))))


def test_what_is_given_back_is_lent_again_the_smallest_that_will_do_first() -> None:
    memory = Memory(10_000)
    small, large = memory.take(10), memory.take(1000)
    memory.give(large)
    memory.give(small)
    assert memory.kept_bytes == 1010
    assert memory.take(9) is small
    assert memory.take(9) is large
    assert memory.kept_bytes == 0


def test_no_more_is_kept_than_the_bound() -> None:
    memory = Memory(1000)
    kept = []
    for block in [memory.take(size) for size in (200, 240, 400, 800, 1200)]:
        memory.give(block)
        kept.append(memory.kept_bytes)
    assert kept == [200, 440, 840, 800, 0]


def test_no_two_threads_get_the_same() -> None:
    memory = Memory(10_000)

    def use(mark: int) -> bool:
        for _ in range(200):
            block = memory.take(64)
            block.fill(mark)
            if not (block == mark).all():
                return False
            memory.give(block)
        return True

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(use, range(1, 9)))
