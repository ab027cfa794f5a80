"""Shards: what is written is read, as any reader of TFRecord reads it; damage is noticed."""

import numpy as np
import pytest
import tensorflow as tf

from keras_transformer.data.encoding.id_pairs import EncodedPairs
from keras_transformer.data.prepared.shards import read_shards, write_shard

PAIRS = EncodedPairs.from_ids([[4, 5], [6], [7, 8, 9]], [[10], [11, 12], [13]])


def many(count):
    random = np.random.default_rng(0)
    rows = [random.integers(4, 999, random.integers(1, 9)).tolist() for _ in range(2 * count)]
    return EncodedPairs.from_ids(rows[:count], rows[count:])


def test_rows_stand_as_the_model_reads_them(tmp_path):
    write_shard(tmp_path / "a", PAIRS)
    table = read_shards(tf.constant([str(tmp_path / "a")]))
    assert table.source.to_list() == [[4, 5, 3], [6, 3], [7, 8, 9, 3]]
    assert table.target.to_list() == [[2, 10, 3], [2, 11, 12, 3], [2, 13, 3]]
    assert table.pair_numbers.numpy().tolist() == [0, 1, 2]
    assert table.source.dtype == table.target.dtype == tf.int32


def test_many_records_and_several_shards_come_in_order(tmp_path):
    pairs = many(2500)
    write_shard(tmp_path / "a", pairs)
    write_shard(tmp_path / "b", PAIRS)
    table = read_shards(tf.constant([str(tmp_path / "a"), str(tmp_path / "b")]))
    assert table.source.nrows() == 2503
    for row in (0, 999, 1000, 2499):
        assert table.source[row].numpy().tolist() == [*pairs.source[row], 3]
        assert table.target[row].numpy().tolist() == [2, *pairs.target[row], 3]
    assert table.source[2500].numpy().tolist() == [4, 5, 3]


def test_a_record_is_an_example_with_the_documented_lists(tmp_path):
    write_shard(tmp_path / "a", PAIRS)
    (record,) = tf.data.TFRecordDataset(str(tmp_path / "a")).as_numpy_iterator()
    features = tf.train.Example.FromString(record).features.feature
    lists = {name: list(value.int64_list.value) for name, value in features.items()}
    assert lists == {
        "source_ids": [4, 5, 3, 6, 3, 7, 8, 9, 3],
        "source_lengths": [3, 2, 4],
        "target_ids": [2, 10, 3, 2, 11, 12, 3, 2, 13, 3],
        "target_lengths": [3, 4, 3],
        "pair_numbers": [0, 1, 2],
    }


def test_the_same_pairs_give_the_same_bytes(tmp_path):
    for name in ("a", "b"):
        write_shard(tmp_path / name, many(1500))
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


@pytest.mark.parametrize("place", [3, 20, -1])
def test_a_changed_byte_is_noticed_when_it_is_read(tmp_path, place):
    write_shard(tmp_path / "a", PAIRS)
    data = bytearray((tmp_path / "a").read_bytes())
    data[place] ^= 1
    (tmp_path / "a").write_bytes(data)
    with pytest.raises(tf.errors.DataLossError):
        read_shards(tf.constant([str(tmp_path / "a")]))
