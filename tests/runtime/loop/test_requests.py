"""What the searches share: sentences leave a batch, and as few of the others as can be move."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keras_transformer.runtime.loop.requests import keep_rows, staying, take_beams


@given(done=st.lists(st.booleans(), min_size=1, max_size=20))
def test_all_that_are_not_done_stay_and_as_few_move_as_leave_a_gap(done: list[bool]) -> None:
    order = staying(np.array(done))
    kept = np.flatnonzero(~np.array(done))
    np.testing.assert_array_equal(np.sort(order), kept)
    moved = order != np.arange(len(order))
    assert moved.sum() == sum(done[: len(kept)])


@given(seed=st.integers(0, 2**32 - 1), rows=st.integers(1, 8))
def test_rows_are_moved_in_place_to_any_order(seed: int, rows: int) -> None:
    random = np.random.default_rng(seed)
    arrays = [random.random((rows, 3)), random.random(rows)]
    kept = random.permutation(rows)[: random.integers(0, rows + 1)]
    expected = [array[kept] for array in arrays]
    for found, wanted, array in zip(keep_rows(arrays, kept), expected, arrays, strict=True):
        np.testing.assert_array_equal(found, wanted)
        assert not found.size or np.shares_memory(found, array)


@pytest.mark.parametrize("length", [0, 5])
def test_beams_are_taken_from_their_own_sentence(length: int) -> None:
    random = np.random.default_rng(length)
    table = random.integers(0, 100, (3, 4, length), np.int32)
    parents = random.integers(0, 4, (3, 4), np.int32)
    expected = np.take_along_axis(table, parents[:, :, None], axis=1)
    np.testing.assert_array_equal(take_beams(table, parents), expected)
