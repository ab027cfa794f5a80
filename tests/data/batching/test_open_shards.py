"""Which shards are open: every one once an epoch, equal epochs, and a start anywhere."""

from itertools import islice

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keras_transformer.data.batching.open_shards import OPEN_SHARDS, open_shards

COUNTS = st.lists(st.integers(0, 9), min_size=1, max_size=15).filter(any)
PROPERTY = settings(max_examples=100, deadline=None)


def steps(batches, epoch_steps, seed, start, count):
    """The first `count` steps, each as (shards open, seed of their batches, step with them)."""
    every = (
        (part.shards, part.seed, step)
        for part in open_shards(batches, epoch_steps, seed, start)
        for step in range(part.first, part.steps)
    )
    return list(islice(every, count))


@PROPERTY
@given(batches=COUNTS, idle=st.integers(0, 5), seed=st.integers(0, 9))
def test_an_epoch_opens_every_shard_with_batches_once(batches, idle, seed):
    epoch_steps = sum(batches) + idle
    filled = [shard for shard, own in enumerate(batches) if own]
    turns = list(islice(open_shards(batches, epoch_steps, seed, 0), -(-len(filled) // OPEN_SHARDS)))
    assert sorted(shard for part in turns for shard in part.shards) == filled
    assert sum(part.steps for part in turns) == epoch_steps
    assert all(len(part.shards) <= OPEN_SHARDS for part in turns)


@PROPERTY
@given(batches=COUNTS, idle=st.integers(0, 5), seed=st.integers(0, 9), start=st.integers(0, 300))
def test_a_later_start_goes_on_as_the_unbroken_way(batches, idle, seed, start):
    epoch_steps = sum(batches) + idle
    unbroken = steps(batches, epoch_steps, seed, 0, start + 40)
    assert steps(batches, epoch_steps, seed, start, 40) == unbroken[start:]


def test_the_order_of_shards_differs_by_epoch_and_by_seed():
    batches = [1] * 40

    def order(seed, epoch):
        turns = islice(open_shards(batches, 40, seed, 40 * epoch), 10)
        return [shard for part in turns for shard in part.shards]

    orders = [order(0, 0), order(0, 1), order(1, 0), order(-1, 0)]
    assert len({tuple(found) for found in orders}) == 4
    assert order(0, 1) == orders[1]


def test_no_two_turns_have_the_same_seed():
    seeds = [part.seed for part in islice(open_shards([1] * 9, 9, 0, 0), 60)]
    assert len(set(seeds)) == 60


@pytest.mark.parametrize("start", [10**12, 10**12 + 7])
def test_a_far_start_takes_no_time(start):
    assert len(steps([3, 4], 7, 0, start, 1)) == 1
