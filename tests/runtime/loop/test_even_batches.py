"""Batches of rows that are read once: every row in one of them, within the budget."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keras_transformer.runtime.loop.even_batches import even_batches

LENGTHS = st.lists(st.integers(1, 60), max_size=60)


@given(LENGTHS, st.integers(1, 400), st.integers(1, 4))
def test_every_row_is_in_one_batch_within_the_budget(
    lengths: list[int], batch_tokens: int, workers: int
) -> None:
    batches = even_batches(lengths, batch_tokens=batch_tokens, workers=workers)
    assert sorted(row for rows in batches for row in rows) == list(range(len(lengths)))
    for rows in batches:
        assert len(rows) == 1 or len(rows) * max(lengths[row] for row in rows) <= batch_tokens
    assert len(batches) >= min(workers, len(lengths))
    assert batches == even_batches(lengths, batch_tokens=batch_tokens, workers=workers)


@given(LENGTHS.filter(bool))
def test_rows_are_joined_only_if_that_costs_less_than_a_batch(lengths: list[int]) -> None:
    batches = even_batches(lengths, batch_tokens=10_000)
    cost = sum(len(rows) * lengths[rows[0]] + 48 for rows in batches)
    assert cost <= len(lengths) * max(lengths) + 48
    assert cost <= sum(lengths) + 48 * len(set(lengths))


def test_like_rows_share_a_batch_and_unlike_ones_do_not() -> None:
    assert even_batches([5, 100, 6, 98], batch_tokens=1000) == [[1, 3], [2, 0]]
    assert even_batches([], batch_tokens=10) == []
    assert even_batches([7] * 4, batch_tokens=1000, workers=2) == [[0, 1], [2, 3]]


def test_a_budget_below_one_token_is_refused() -> None:
    with pytest.raises(ValueError, match="batch_tokens must be at least 1, got 0"):
        even_batches([1], batch_tokens=0)
