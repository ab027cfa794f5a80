"""Memory: what is lent is zero and nobody else's, and what is given back is lent again."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from keras_transformer.runtime.onnx_graphs.memory import Memory


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
