"""The shards of a prepared corpus: TFRecord files of encoded pairs, written and read.

A record is a `tf.train.Example` of up to 1,000 pairs with five lists of integers: the concatenated
ids of all rows (`source_ids`, each row ending in eos; `target_ids`, each from the decoder's start
token to eos), the rows' lengths, and the pairs' line numbers in the text, from 0.
"""

from pathlib import Path
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from keras_transformer.data.batching.assembly import source_rows, target_rows
from keras_transformer.data.encoding.id_pairs import EncodedPairs, RaggedIds

# Measured on shards of 250,000 pairs: one pair per record takes 11 times as long to write, 10 times
# as long to read and 5 times the space (docs/large_corpora.md).
_PAIRS_PER_RECORD = 1_000
_LISTS = ("source_ids", "source_lengths", "target_ids", "target_lengths", "pair_numbers")


class ShardTable(NamedTuple):
    """Some shards in memory, as tensors.

    `source` and `target` are ragged int32 (pairs, None), as in the file; `pair_numbers` is int64
    (pairs,).
    """

    source: tf.RaggedTensor
    target: tf.RaggedTensor
    pair_numbers: tf.Tensor


def write_shard(path: Path, pairs: EncodedPairs) -> None:
    """Writes a shard; the same pairs always give the same bytes."""
    source = source_rows(pairs.source, pairs.special_ids)
    target = target_rows(pairs.target, pairs.special_ids)
    with tf.io.TFRecordWriter(str(path)) as writer:
        for start in range(0, len(pairs), _PAIRS_PER_RECORD):
            rows = slice(start, start + _PAIRS_PER_RECORD)
            lists = (
                *_flat_rows(source, rows),
                *_flat_rows(target, rows),
                pairs.pair_numbers[rows],
            )
            features = {
                name: tf.train.Feature(int64_list=tf.train.Int64List(value=values))
                for name, values in zip(_LISTS, lists, strict=True)
            }
            example = tf.train.Example(features=tf.train.Features(feature=features))
            writer.write(example.SerializeToString(deterministic=True))


def read_shards(files: tf.Tensor) -> ShardTable:
    """Reads whole shards, in a graph or eagerly.

    Args:
        files: Names of the shards, strings (shards,).

    Raises:
        tf.errors.DataLossError: A checksum of the records is wrong.
    """
    records = tf.data.TFRecordDataset(files).batch(np.iinfo(np.int64).max).get_single_element()
    lists = tf.io.parse_example(
        records, {name: tf.io.RaggedFeature(tf.int64, row_splits_dtype=tf.int64) for name in _LISTS}
    )
    source, target = (
        tf.RaggedTensor.from_row_lengths(
            tf.cast(lists[f"{side}_ids"].flat_values, tf.int32),
            lists[f"{side}_lengths"].flat_values,
            validate=False,
        )
        for side in ("source", "target")
    )
    return ShardTable(source, target, lists["pair_numbers"].flat_values)


def _flat_rows(ids: RaggedIds, rows: slice) -> tuple[np.ndarray, np.ndarray]:
    """Returns the concatenated ids of some rows, and the rows' lengths."""
    offsets = ids.offsets[rows.start : rows.stop + 1]
    return ids.values[offsets[0] : offsets[-1]], np.diff(offsets)
