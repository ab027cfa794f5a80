"""Rows of token ids in a graph: what a request brings becomes rows that the model may read. Nothing
here can fail, as one row of a batch must not spoil the others.
"""

from typing import Any

import tensorflow as tf

from keras_transformer.config.special_ids import SpecialIds

Tensor = Any


def read_rows(ids: Tensor, vocab_size: int, limit: int, special_ids: SpecialIds) -> Tensor:
    """Returns rows of ordinary ids, each padded behind its end.

    Args:
        ids: int32 `(batch, length)`, anything. A row ends at its first padding.
        vocab_size: Ids that are not below it, and special ones, become unknown.
        limit: Longest row; what is longer is cut.
        special_ids: Those of the vocabulary.

    Returns:
        int32 `(batch, at most limit)`.
    """
    ids = ids[:, :limit]
    inside = tf.cumsum(tf.cast(ids == special_ids.pad, tf.int32), axis=1) == 0
    ordinary = (ids >= 0) & (ids < vocab_size)
    for token in sorted(special_ids.without_text):
        ordinary &= ids != token
    return tf.where(inside, tf.where(ordinary, ids, special_ids.unk), special_ids.pad)


def row_lengths(ids: Tensor, special_ids: SpecialIds) -> Tensor:
    """Returns the tokens of each row, int32 `(batch,)`, of rows padded behind their ends."""
    return tf.reduce_sum(tf.cast(ids != special_ids.pad, tf.int32), axis=1)


def with_end(ids: Tensor, special_ids: SpecialIds) -> Tensor:
    """Returns the rows with an end token behind each: int32 `(batch, length + 1)`."""
    wider = tf.pad(ids, [[0, 0], [0, 1]], constant_values=special_ids.pad)
    ends = tf.range(tf.shape(wider)[1]) == row_lengths(ids, special_ids)[:, None]
    return tf.where(ends, special_ids.eos, wider)
