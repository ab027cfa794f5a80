"""Batches hold every sentence once, like lengths together, within the budget."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from keras_transformer.decoding.batches import batches, pad


@given(
    lengths=st.dictionaries(st.integers(0, 50), st.integers(1, 30), max_size=20),
    budget=st.integers(1, 100),
    rows=st.integers(1, 4),
)
def test_every_sentence_is_in_one_batch_within_the_budget(
    lengths: dict[int, int], budget: int, rows: int
) -> None:
    found = list(batches(lengths, budget, rows))
    order = [place for batch in found for place in batch]
    assert order == sorted(lengths, key=lambda place: (lengths[place], place))
    for batch in found:
        longest = max(lengths[place] for place in batch)
        assert len(batch) == 1 or len(batch) * rows * longest <= budget


def test_a_batch_is_as_full_as_it_can_be() -> None:
    assert list(batches({0: 3, 1: 2, 2: 2, 3: 3}, 6)) == [[1, 2], [0, 3]]
    assert list(batches({}, 6)) == []


def test_padding_stands_behind_the_shorter_rows() -> None:
    padded = pad([[4, 5], [], [6]], -1)
    assert padded.dtype == np.int32
    assert padded.tolist() == [[4, 5], [-1, -1], [6, -1]]
