"""Pairs in shards: the same promises as in memory, and workers that read their own shards."""

from itertools import islice

import numpy as np
import pytest
import tensorflow as tf

from keras_transformer.data.batching.batches import (
    batch_pairs,
    batches_per_epoch,
    evaluation_batches,
    training_batches,
)
from keras_transformer.data.encoding.id_pairs import EncodedPairs, FilterReport
from keras_transformer.data.prepared.batches import ShardedPairs
from keras_transformer.data.prepared.pieces import scatter
from keras_transformer.data.prepared.record import Split
from keras_transformer.data.prepared.shards import write_shard
from keras_transformer.data.prepared.splitting import describe_shard

PAIRS = 400
SHARDS = 7
BUDGET = 60


def make_shards(directory, encoded, num_shards):
    """Writes pairs into shards, without preparing text."""
    of_pair = scatter(len(encoded), num_shards, seed=0, number=0)
    shards = []
    for number in range(num_shards):
        rows = np.flatnonzero(of_pair == number)
        part = EncodedPairs(
            encoded.source.take(rows),
            encoded.target.take(rows),
            FilterReport(len(rows), len(rows), 0, 0),
            encoded.pair_numbers[rows],
            encoded.special_ids,
        )
        path = directory / f"{number}.tfrecord"
        write_shard(path, part)
        shards.append(describe_shard(path, part))
    return ShardedPairs(directory, Split(encoded.report, tuple(shards)), encoded.special_ids.pad)


@pytest.fixture(scope="module")
def encoded():
    random = np.random.default_rng(0)
    ids = iter(range(4, 10**6))
    lengths = random.integers(1, 12, (2, PAIRS)).tolist()
    source, target = ([list(islice(ids, length)) for length in side] for side in lengths)
    return EncodedPairs.from_ids(source, target)


@pytest.fixture(scope="module")
def pairs(encoded, tmp_path_factory):
    return make_shards(tmp_path_factory.mktemp("shards"), encoded, SHARDS)


def stream(pairs, start=0, count=None, seed=0, worker=(0, 1)):
    batches = training_batches(pairs, BUDGET, seed, start, worker)
    return list(islice(batches.as_numpy_iterator(), count))


def rows(batches):
    """Source and label ids of every row that counts."""
    return [
        (tuple(source[source != 0]), tuple(label[label != 0]))
        for inputs, labels, weights in batches
        for source, label, weight in zip(inputs["source_ids"], labels, weights, strict=True)
        if weight.any()
    ]


def pair_rows(encoded):
    return [((*encoded.source[row], 3), (*encoded.target[row], 3)) for row in range(len(encoded))]


def expected_rows(encoded):
    return sorted(pair_rows(encoded))


def same(one, other):
    flat = [tf.nest.flatten(batches) for batches in (one, other)]
    return len(flat[0]) == len(flat[1]) and all(map(np.array_equal, *flat))


def test_every_epoch_holds_each_pair_once_within_the_budget(pairs, encoded):
    size = batches_per_epoch(pairs, BUDGET)
    batches = stream(pairs, count=2 * size)
    for epoch in (batches[:size], batches[size:]):
        assert sorted(rows(epoch)) == expected_rows(encoded)
    assert not same(batches[:size], batches[size:])
    for inputs, labels, weights in batches:
        assert len(labels) * max(inputs["source_ids"].shape[1], labels.shape[1]) <= BUDGET
        assert np.array_equal(weights, (labels != 0).astype(np.float32))
        assert (inputs["target_ids"][:, 0] == 2).all()


def test_the_same_seed_gives_the_same_stream_and_a_start_goes_on_with_it(pairs):
    size = batches_per_epoch(pairs, BUDGET)
    unbroken = stream(pairs, count=2 * size + 9, seed=3)
    assert not same(stream(pairs, count=20, seed=4), unbroken[:20])
    for start in np.random.default_rng(1).integers(0, 2 * size, 3).tolist():
        assert same(stream(pairs, start, 9, seed=3), unbroken[start : start + 9])


def test_the_elements_are_those_of_pairs_in_memory(pairs, encoded):
    on_disk, in_memory = (training_batches(kind, BUDGET, seed=0) for kind in (pairs, encoded))
    assert on_disk.element_spec == in_memory.element_spec
    assert int(on_disk.cardinality()) == tf.data.INFINITE_CARDINALITY


def test_evaluation_holds_each_pair_once_and_knows_its_length(pairs, encoded):
    dataset = evaluation_batches(pairs, BUDGET)
    batches = list(dataset.as_numpy_iterator())
    assert sorted(rows(batches)) == expected_rows(encoded)
    assert int(dataset.cardinality()) == len(batches) == batches_per_epoch(pairs, BUDGET)
    assert same(batches, list(evaluation_batches(pairs, BUDGET).as_numpy_iterator()))


def test_the_batches_of_shards_that_are_open_together_come_mixed(pairs, encoded):
    shards = scatter(PAIRS, SHARDS, seed=0, number=0)
    of_source = {source: shards[row] for row, (source, _) in enumerate(pair_rows(encoded))}
    first = [{of_source[source] for source, _ in rows([batch])} for batch in stream(pairs, 0, 20)]
    assert all(len(found) == 1 for found in first)
    assert len(set.union(*first[:8])) > 1


def test_the_lines_of_a_batch_are_told(pairs, encoded):
    batches = stream(pairs, start=11, count=2, seed=5)
    for step, (inputs, _, _) in enumerate(batches, start=11):
        numbers = batch_pairs(pairs, BUDGET, 5, step)
        assert len(numbers) > 1
        for number, source in zip(numbers.tolist(), inputs["source_ids"], strict=True):
            assert source[source != 0].tolist() == [*encoded.source[number], 3]


def test_workers_read_their_own_shards_in_equally_many_steps(pairs, encoded):
    count = 3
    size = batches_per_epoch(pairs, BUDGET, count)
    shares = [stream(pairs, count=size, worker=(index, count)) for index in range(count)]
    assert sorted(row for share in shares for row in rows(share)) == expected_rows(encoded)
    shards = scatter(PAIRS, SHARDS, seed=0, number=0)
    of_source = {source: shards[row] for row, (source, _) in enumerate(pair_rows(encoded))}
    for index, share in enumerate(shares):
        assert all(len(labels) * labels.shape[1] <= BUDGET // count for _, labels, _ in share)
        assert {of_source[source] % count for source, _ in rows(share)} == {index}
    assert batch_pairs(pairs, BUDGET, 0, 0, (1, count)).tolist() != []


def test_a_worker_with_fewer_batches_fills_its_epoch_with_weight_0_and_resumes_there(pairs):
    count = 3  # of seven shards the first worker has three, the others two
    size = batches_per_epoch(pairs, BUDGET, count)
    unbroken = stream(pairs, count=2 * size, worker=(2, count))
    idle = [step for step, (_, _, weights) in enumerate(unbroken) if not weights.any()]
    assert idle and idle[0] > size / 2 and len(idle) % 2 == 0
    for start in (idle[0], size - 1, size):
        resumed = stream(pairs, start, 5, worker=(2, count))
        assert same(resumed, unbroken[start : start + 5])


def test_empty_shards_do_no_harm(tmp_path):
    few = EncodedPairs.from_ids([[4], [5]], [[6], [7]])
    pairs = make_shards(tmp_path, few, 5)
    assert batches_per_epoch(pairs, BUDGET) == 2
    assert sorted(rows(stream(pairs, count=4))) == sorted(2 * expected_rows(few))
    assert len(list(evaluation_batches(pairs, BUDGET))) == 2


def test_more_workers_than_shards_are_refused(pairs):
    with pytest.raises(ValueError, match=r"has 7 shards, too few for 8 workers.*--shards"):
        batches_per_epoch(pairs, 400, 8)


def test_a_pair_longer_than_a_worker_s_batch_is_refused(pairs):
    with pytest.raises(ValueError, match="batch_tokens=11, shared by 1 workers, .* has 12 tokens"):
        training_batches(pairs, 11, seed=0)
    with pytest.raises(ValueError, match="batch_tokens=20, shared by 2 workers"):
        training_batches(pairs, 20, seed=0, worker=(1, 2))


def test_wrong_starts_and_workers_are_refused(pairs):
    with pytest.raises(ValueError, match="start_step must be at least 0, got -1"):
        training_batches(pairs, BUDGET, seed=0, start_step=-1)
    with pytest.raises(ValueError, match=r"worker must be \(index, count\).*got \(2, 2\)"):
        training_batches(pairs, BUDGET, seed=0, worker=(2, 2))


def test_a_damaged_or_missing_shard_is_refused_by_name(encoded, tmp_path):
    pairs = make_shards(tmp_path, encoded, 4)
    path = tmp_path / "2.tfrecord"
    whole = path.read_bytes()
    flipped = bytearray(whole)
    flipped[len(whole) // 2] ^= 1
    for damaged in (bytes(flipped), whole[:-1], b""):
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match=r"shard .*2\.tfrecord is damaged"):
            training_batches(pairs, BUDGET, seed=0)
        with pytest.raises(ValueError, match=r"shard .*2\.tfrecord is damaged"):
            evaluation_batches(pairs, BUDGET)
    # Another worker's shards may be elsewhere.
    training_batches(pairs, BUDGET, seed=0, worker=(1, 2))
    path.unlink()
    with pytest.raises(FileNotFoundError, match=r"shard .*2\.tfrecord is missing"):
        training_batches(pairs, BUDGET, seed=0)


def test_a_shard_that_changes_while_it_is_read_is_noticed_in_the_next_epoch(encoded, tmp_path):
    pairs = make_shards(tmp_path, encoded, 2)
    size, path = batches_per_epoch(pairs, BUDGET), tmp_path / "1.tfrecord"
    whole = path.read_bytes()
    batches = iter(training_batches(pairs, BUDGET, seed=0).as_numpy_iterator())
    evaluation = evaluation_batches(pairs, BUDGET)
    assert len(list(islice(batches, size))) == size

    def replace(content: bytes) -> None:
        # At once, as the pipeline may read ahead from the old file meanwhile.
        (tmp_path / "new").write_bytes(content)
        (tmp_path / "new").replace(path)

    # Copied again it is the same; a shard of other pairs is not, though its records are whole.
    replace(whole)
    assert len(list(islice(batches, size))) == size
    replace((tmp_path / "0.tfrecord").read_bytes())
    for later in (batches, evaluation.as_numpy_iterator()):
        with pytest.raises(tf.errors.OpError, match=r"shard .*1\.tfrecord is damaged"):
            list(islice(later, 3 * size))
    path.unlink()
    with pytest.raises(tf.errors.OpError, match=r"shard .*1\.tfrecord is missing"):
        list(evaluation)
