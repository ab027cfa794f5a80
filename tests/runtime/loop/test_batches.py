"""Batches: every sentence once, within the budget, alike in length; padding ends each with eos."""

import math
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keras_transformer.runtime.loop.batches import MemoryBound, plan_batches

LENGTHS = st.lists(st.integers(1, 60), max_size=50)


def bytes_per_row(source_length: int, target_length: int) -> int:
    """A cache of the source, one of the target and what does not depend on either."""
    return 40 * source_length + 24 * target_length + 100


@st.composite
def memory_bounds(draw: st.DrawFn, lengths: list[int]) -> MemoryBound:
    targets = draw(st.lists(st.integers(1, 80), min_size=len(lengths), max_size=len(lengths)))
    limit = draw(st.integers(1, 50_000))
    return MemoryBound(limit=limit, bytes_per_row=bytes_per_row, target_lengths=targets)


@given(lengths=LENGTHS, batch_tokens=st.integers(1, 400), rows=st.integers(1, 6), data=st.data())
def test_each_filled_sentence_comes_once_and_budgets_hold(
    lengths: list[int], batch_tokens: int, rows: int, data: st.DataObject
) -> None:
    memory = data.draw(st.none() | memory_bounds(lengths))
    options = {"batch_tokens": batch_tokens, "rows_per_sentence": rows, "memory": memory}
    batches = plan_batches(lengths, **options)
    assert sorted(sum(batches, [])) == [n for n, length in enumerate(lengths) if length > 1]
    planned = [lengths[number] for batch in batches for number in batch]
    assert planned == sorted(planned, reverse=True)
    for batch in batches:
        source_length, count = lengths[batch[0]], len(batch) * rows
        assert batch
        if len(batch) > 1:
            assert source_length * count <= batch_tokens
        if len(batch) > 1 and memory is not None:
            target_length = max(memory.target_lengths[number] for number in batch)
            assert bytes_per_row(source_length, target_length) * count <= memory.limit
    assert batches == plan_batches(lengths, **options)


@given(
    lengths=st.lists(st.integers(2, 300), min_size=1, max_size=300),
    batch_tokens=st.integers(1, 4096),
    rows=st.integers(1, 6),
)
def test_padding_does_not_grow_with_the_number_of_sentences(
    lengths: list[int], batch_tokens: int, rows: int
) -> None:
    batches = plan_batches(lengths, batch_tokens=batch_tokens, rows_per_sentence=rows)
    padding = sum(lengths[batch[0]] - lengths[number] for batch in batches for number in batch)
    assert padding <= batch_tokens / rows * math.log(max(lengths) / min(lengths)) + 1e-6


@given(lengths=LENGTHS, batch_tokens=st.integers(1, 400), rows=st.integers(1, 6))
def test_no_batch_could_have_taken_the_next_sentence(
    lengths: list[int], batch_tokens: int, rows: int
) -> None:
    batches = plan_batches(lengths, batch_tokens=batch_tokens, rows_per_sentence=rows)
    for batch in batches[:-1]:
        assert (len(batch) + 1) * rows * lengths[batch[0]] > batch_tokens


def test_equal_lengths_keep_their_order() -> None:
    assert plan_batches([3, 1, 5, 3, 5, 3], batch_tokens=10) == [[2, 4], [0, 3, 5]]


def test_beams_take_their_part_of_the_budget() -> None:
    assert plan_batches([4] * 6, batch_tokens=24) == [[0, 1, 2, 3, 4, 5]]
    assert plan_batches([4] * 6, batch_tokens=24, rows_per_sentence=2) == [[0, 1, 2], [3, 4, 5]]
    assert plan_batches([4] * 2, batch_tokens=24, rows_per_sentence=9) == [[0], [1]]


def test_memory_counts_the_longest_target_of_the_batch() -> None:
    memory = MemoryBound(
        limit=20, bytes_per_row=lambda source, target: target, target_lengths=[2, 10, 2, 2]
    )
    # Sentence 1 makes every row as long as its own; without it ten rows would fit.
    assert plan_batches([5] * 4, batch_tokens=1000, memory=memory) == [[0, 1], [2, 3]]


def test_nothing_to_translate_makes_no_batch() -> None:
    assert plan_batches([], batch_tokens=10) == plan_batches([1, 1], batch_tokens=10) == []


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: plan_batches([2], batch_tokens=0), "batch_tokens must be at least 1, got 0"),
        (
            lambda: plan_batches([2], batch_tokens=9, rows_per_sentence=-1),
            "rows_per_sentence must be at least 1, got -1",
        ),
        (lambda: plan_batches([2, 0], batch_tokens=9), "count eos.*at least 1, got 0"),
        (
            lambda: MemoryBound(limit=0, bytes_per_row=bytes_per_row, target_lengths=[]),
            "limit must be at least 1 byte, got 0",
        ),
        (
            lambda: plan_batches(
                [2, 3],
                batch_tokens=9,
                memory=MemoryBound(limit=9, bytes_per_row=bytes_per_row, target_lengths=[1]),
            ),
            "memory has 1 target_lengths for 2 sentences",
        ),
    ],
)
def test_wrong_arguments_are_named(call: Callable[[], object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


@given(
    lengths=LENGTHS,
    batch_tokens=st.integers(1, 400),
    rows=st.integers(1, 6),
    workers=st.integers(1, 8),
    least=st.integers(1, 8),
)
def test_workers_get_the_same_sentences_within_the_same_budget(
    lengths: list[int], batch_tokens: int, rows: int, workers: int, least: int
) -> None:
    options = {"batch_tokens": batch_tokens, "rows_per_sentence": rows}
    one = plan_batches(lengths, **options)
    many = plan_batches(lengths, **options, workers=workers, least=least)
    assert sorted(sum(many, [])) == sorted(sum(one, []))
    assert len(one) <= len(many) <= -(-len(one) // workers) * workers
    for batch in many:
        assert [lengths[n] for n in batch] == sorted((lengths[n] for n in batch), reverse=True)
        assert len(batch) == 1 or len(batch) * rows * lengths[batch[0]] <= batch_tokens
        assert batch in one or len(batch) >= least


@pytest.mark.parametrize(
    ("sentences", "workers", "least", "expected"),
    [
        (8, 2, 4, [4, 4]),
        (8, 2, 5, [8]),
        (32, 2, 4, [16, 16]),
        (64, 2, 4, [25, 25, 7, 7]),
        (51, 2, 4, [25, 25, 1]),
        (52, 4, 4, [13, 13, 13, 13]),
    ],
)
def test_the_last_round_of_workers_is_shared_evenly(
    sentences: int, workers: int, least: int, expected: list[int]
) -> None:
    batches = plan_batches([20] * sentences, batch_tokens=500, workers=workers, least=least)
    assert [len(batch) for batch in batches] == expected


def test_workers_get_long_and_short_sentences_alike() -> None:
    batches = plan_batches([9, 8, 7, 6, 5, 4, 3, 2], batch_tokens=100, workers=2)
    assert batches == [[0, 2, 4, 6], [1, 3, 5, 7]]


def test_sentences_too_unlike_to_share_a_budget_stay_apart() -> None:
    lengths = [100] * 5 + [10] * 50
    batches = plan_batches(lengths, batch_tokens=500, workers=2)
    assert [len(batch) for batch in batches] == [5, 50]
