"""Batches: what they hold, their budget, their order, resuming, determinism, padding."""

from itertools import islice

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from keras_transformer.data.batching.batches import (
    batch_pairs,
    batches_per_epoch,
    evaluation_batches,
    padding_fraction,
    training_batches,
)
from keras_transformer.data.encoding.encode import EncodedPairs

# Each example makes a pipeline or several.
PROPERTY = settings(max_examples=3, deadline=None)


def make(lengths):
    """Pairs of the given (source, target) lengths; ids are distinct, so that rows are too."""
    counter = iter(range(4, 10**6))
    source = [list(islice(counter, s)) for s, _ in lengths]
    target = [list(islice(counter, t)) for _, t in lengths]
    return EncodedPairs.from_ids(source, target)


PAIRS = st.lists(st.tuples(st.integers(1, 9), st.integers(1, 9)), min_size=1, max_size=40).map(make)
BUDGETS = st.integers(10, 60)


def natural_lengths(count, seed=0):
    """Lengths spread as in translated captions: a long tail, the two sides correlated."""
    random = np.random.default_rng(seed)
    source = np.clip(random.lognormal(2.55, 0.3, count), 2, 40).astype(int)
    target = np.clip(source * random.lognormal(0.0, 0.2, count), 2, 40).astype(int)
    return list(zip(source.tolist(), target.tolist(), strict=True))


MANY = make(natural_lengths(3000))


def batches(dataset, count=None):
    return list(islice(dataset.as_numpy_iterator(), count))


def epoch(encoded, batch_tokens, seed=0, number=0):
    size = batches_per_epoch(encoded, batch_tokens)
    return batches(training_batches(encoded, batch_tokens, seed, number * size), size)


def without_padding(row):
    kept = row[row != 0].tolist()
    assert row[: len(kept)].tolist() == kept, "padding must stand on the right"
    return tuple(kept)


def rows(batch):
    inputs, labels, _ = batch
    return [
        tuple(without_padding(row) for row in triple)
        for triple in zip(inputs["source_ids"], inputs["target_ids"], labels, strict=True)
    ]


def expected_rows(encoded):
    pairs = [
        (tuple(encoded.source[i].tolist()), tuple(encoded.target[i].tolist()))
        for i in range(len(encoded))
    ]
    return sorted(((*source, 3), (2, *target), (*target, 3)) for source, target in pairs)


def same(one, other):
    flat = [tf.nest.flatten(stream) for stream in (one, other)]
    return len(flat[0]) == len(flat[1]) and all(map(np.array_equal, *flat))


def test_a_batch_worked_out_by_hand():
    encoded = EncodedPairs.from_ids([[10, 11], [12]], [[20], [21, 22, 23]])
    [(inputs, labels, weights)] = batches(evaluation_batches(encoded, 100))
    assert inputs["source_ids"].tolist() == [[10, 11, 3], [12, 3, 0]]
    assert inputs["target_ids"].tolist() == [[2, 20, 0, 0], [2, 21, 22, 23]]
    assert labels.tolist() == [[20, 3, 0, 0], [21, 22, 23, 3]]
    assert weights.tolist() == [[1, 1, 0, 0], [1, 1, 1, 1]]


def test_the_elements_have_the_promised_structure():
    ids = tf.TensorSpec((None, None), tf.int32)
    weights = tf.TensorSpec((None, None), tf.float32)
    for dataset in (training_batches(MANY, 512, seed=0), evaluation_batches(MANY, 512)):
        assert dataset.element_spec == ({"source_ids": ids, "target_ids": ids}, ids, weights)


@PROPERTY
@given(encoded=PAIRS, batch_tokens=BUDGETS, seed=st.integers(0, 5), number=st.integers(0, 3))
def test_every_epoch_holds_each_pair_once_shifted_and_weighted(encoded, batch_tokens, seed, number):
    stream = epoch(encoded, batch_tokens, seed, number)
    assert sorted(row for batch in stream for row in rows(batch)) == expected_rows(encoded)
    for _, labels, weights in stream:
        assert np.array_equal(weights, (labels != 0).astype(np.float32))


@PROPERTY
@given(encoded=PAIRS, batch_tokens=BUDGETS, seed=st.integers(0, 5))
def test_no_batch_exceeds_the_budget_and_none_is_padded_beyond_its_longest(
    encoded, batch_tokens, seed
):
    for inputs, labels, weights in epoch(encoded, batch_tokens, seed):
        source_ids, target_ids = inputs["source_ids"], inputs["target_ids"]
        assert len(source_ids) * max(source_ids.shape[1], target_ids.shape[1]) <= batch_tokens
        assert target_ids.shape == labels.shape == weights.shape
        assert (source_ids != 0).any(axis=0).all()
        assert (labels != 0).any(axis=0).all()


@PROPERTY
@given(encoded=PAIRS, batch_tokens=BUDGETS, seed=st.integers(0, 5), start=st.integers(0, 40))
def test_a_resumed_stream_equals_the_unbroken_one(encoded, batch_tokens, seed, start):
    unbroken = batches(training_batches(encoded, batch_tokens, seed), start + 6)
    resumed = batches(training_batches(encoded, batch_tokens, seed, start_step=start), 6)
    assert same(resumed, unbroken[start:])


@PROPERTY
@given(encoded=PAIRS, batch_tokens=BUDGETS)
def test_evaluation_holds_each_pair_once_and_knows_its_length(encoded, batch_tokens):
    dataset = evaluation_batches(encoded, batch_tokens)
    stream = batches(dataset)
    assert sorted(row for batch in stream for row in rows(batch)) == expected_rows(encoded)
    assert int(dataset.cardinality()) == len(stream) == batches_per_epoch(encoded, batch_tokens)
    assert same(stream, batches(evaluation_batches(encoded, batch_tokens)))


def test_training_never_ends_and_says_so():
    dataset = training_batches(MANY, 512, seed=0)
    assert int(dataset.cardinality()) == tf.data.INFINITE_CARDINALITY


def test_a_far_epoch_is_reached_without_reading_the_earlier_ones():
    size = batches_per_epoch(MANY, 512)
    stream = batches(training_batches(MANY, 512, seed=0, start_step=size * 10**9 + 3), 2)
    assert len(stream) == 2


def test_the_same_seed_gives_the_same_stream_and_another_seed_another():
    first = batches(training_batches(MANY, 512, seed=7), 20)
    assert same(batches(training_batches(MANY, 512, seed=7), 20), first)
    assert not same(batches(training_batches(MANY, 512, seed=8), 20), first)


def test_epochs_differ_in_the_order_and_in_the_members_of_batches():
    first, second = (epoch(MANY, 512, number=number) for number in (0, 1))
    assert not same(first, second)
    first_members, second_members = (
        {frozenset(rows(batch)) for batch in stream} for stream in (first, second)
    )
    assert len(first_members & second_members) < len(first_members) / 10


def test_batches_do_not_come_from_short_to_long():
    widths = [labels.shape[1] for _, labels, _ in epoch(MANY, 512)]
    rank_correlation = np.corrcoef(np.arange(len(widths)), np.argsort(np.argsort(widths)))[0, 1]
    assert abs(rank_correlation) < 0.3


def test_padding_is_small_on_lengths_like_those_of_text():
    stream = epoch(MANY, 1024)
    tokens = sum(int((b[0]["source_ids"] != 0).sum() + (b[1] != 0).sum()) for b in stream)
    positions = sum(b[0]["source_ids"].size + b[1].size for b in stream)
    padding = 1 - tokens / positions
    assert padding < 0.12
    assert padding_fraction(MANY, 1024) == pytest.approx(padding, abs=0.01)


def test_batches_are_full():
    tokens = int(np.maximum(MANY.source_lengths, MANY.target_lengths).sum())
    assert batches_per_epoch(MANY, 1024) <= 1.05 * tokens / 1024 + 1


def test_a_batch_ends_where_one_more_pair_would_break_the_budget():
    encoded = make([(5, 5), (5, 5), (6, 6)])  # 6, 6 and 7 tokens with eos: 3 rows of 7 make 21
    assert [len(labels) for _, labels, _ in batches(evaluation_batches(encoded, 20))] == [2, 1]
    assert [len(labels) for _, labels, _ in batches(evaluation_batches(encoded, 21))] == [3]


def test_the_smallest_budget_makes_batches_of_one():
    encoded = make([(4, 4), (4, 2)])
    assert [len(batch[1]) for batch in epoch(encoded, 5)] == [1, 1]


def test_a_pair_longer_than_a_batch_names_the_option_and_the_pair():
    encoded = EncodedPairs.from_ids([[], [4], [4] * 9], [[4], [4], [4]])
    for use in (batches_per_epoch, evaluation_batches, lambda *a: training_batches(*a, seed=0)):
        with pytest.raises(
            ValueError, match="batch_tokens=9 cannot hold pair 2, which has 10 tokens"
        ):
            use(encoded, 9)


def test_a_negative_start_is_refused():
    with pytest.raises(ValueError, match="start_step must be at least 0, got -1"):
        training_batches(MANY, 512, seed=0, start_step=-1)


@settings(PROPERTY, max_examples=2)
@given(encoded=PAIRS, batch_tokens=BUDGETS, seed=st.integers(0, 5), count=st.integers(2, 4))
def test_the_workers_shares_are_together_the_whole_batch(encoded, batch_tokens, seed, count):
    whole = batches(training_batches(encoded, batch_tokens, seed), 5)
    shares = [
        batches(training_batches(encoded, batch_tokens, seed, worker=(index, count)), 5)
        for index in range(count)
    ]
    for step, batch in enumerate(whole):
        parts = [share[step] for share in shares]
        assert all(len(labels) > 0 for _, labels, _ in parts)
        counted = [
            row
            for part in parts
            for row, weights in zip(rows(part), part[2], strict=True)
            if weights.any()
        ]
        assert sorted(counted) == sorted(rows(batch))
        assert sum(part[2].sum() for part in parts) == batch[2].sum()


@PROPERTY
@given(encoded=PAIRS, batch_tokens=BUDGETS, seed=st.integers(0, 5), step=st.integers(0, 40))
def test_the_lines_of_a_batch_are_told(encoded, batch_tokens, seed, step):
    [(inputs, _, _)] = batches(training_batches(encoded, batch_tokens, seed, step), 1)
    numbers = batch_pairs(encoded, batch_tokens, seed, step).tolist()
    expected = [[*encoded.source[number], 3] for number in numbers]
    assert [row[row != 0].tolist() for row in inputs["source_ids"]] == expected
    shares = [batch_pairs(encoded, batch_tokens, seed, step, (index, 2)) for index in range(2)]
    assert sorted(np.concatenate(shares).tolist()) == sorted(numbers)


def test_the_lines_of_a_batch_count_pairs_that_were_dropped():
    encoded = EncodedPairs.from_ids([[], [4], []], [[4], [5], [6]])
    assert batch_pairs(encoded, 100, seed=0, step=0).tolist() == [1]


@pytest.mark.parametrize("worker", [(2, 2), (-1, 2), (0, 0)])
def test_a_worker_that_is_none_is_refused(worker):
    for use in (training_batches, batch_pairs):
        with pytest.raises(ValueError, match=r"worker must be \(index, count\) .*, got"):
            use(MANY, 512, 0, 0, worker)


@pytest.mark.parametrize(
    "use", [batches_per_epoch, evaluation_batches, lambda *a: training_batches(*a, seed=0)]
)
def test_what_is_not_encoded_is_refused(use):
    with pytest.raises(TypeError, match="pairs must be EncodedPairs or ShardedPairs, got list"):
        use([["a", "b"]], 512)


@pytest.mark.parametrize("make_batches", [training_batches, evaluation_batches])
def test_whoever_lets_go_of_an_iterator_waits_for_no_autotuning(make_batches):
    arguments = (MANY, 1000, 0) if make_batches is training_batches else (MANY, 1000)
    assert make_batches(*arguments).options().autotune.enabled is False
