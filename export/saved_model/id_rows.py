"""The ids of a request, in a graph, as rows that the model can read. Nothing here can fail, as one
row of a batch must not spoil the others.
"""

from collections.abc import Collection, Sequence

import tensorflow as tf

from keras_transformer.config.special_ids import SpecialIds
from keras_transformer.tensors import Tensor


def read_rows(
    ids: Tensor,
    vocab_size: int,
    limit: int | None,
    special_ids: SpecialIds,
    *,
    kept: Collection[int] = (),
) -> Tensor:
    """Returns rows of ordinary ids, each padded after its end.

    Args:
        ids: int32 `(batch, length)`, of any values. A row ends at its first padding.
        vocab_size: Size of the vocabulary; ids outside it, and special ones, become unknown,
            or eos if the vocabulary has no unknown.
        limit: Most tokens of a row; longer rows are cut. None for no limit.
        special_ids: The vocabulary's special ids.
        kept: Special ids that a row may hold.

    Returns:
        int32 `(batch, at most limit)`.
    """
    ids = ids[:, :limit]
    inside = tf.cumsum(tf.cast(ids == special_ids.pad, tf.int32), axis=1) == 0
    ordinary = (ids >= 0) & (ids < vocab_size)
    for token in sorted(special_ids.without_text.difference(kept)):
        ordinary &= ids != token
    return tf.where(inside, tf.where(ordinary, ids, special_ids.substitute), special_ids.pad)


def row_lengths(ids: Tensor, special_ids: SpecialIds) -> Tensor:
    """Returns the number of tokens of each row, int32 `(batch,)`; rows are padded at their ends."""
    return tf.reduce_sum(tf.cast(ids != special_ids.pad, tf.int32), axis=1)


def last_tokens(ids: Tensor, limit: int, special_ids: SpecialIds) -> Tensor:
    """Returns the last tokens of each row, padded after its end: int32 `(batch, at most limit)`."""
    begin = tf.maximum(row_lengths(ids, special_ids) - limit, 0)
    width = tf.minimum(tf.shape(ids)[1], limit)
    return tf.gather(ids, begin[:, None] + tf.range(width), batch_dims=1)


def with_end(ids: Tensor, special_ids: SpecialIds, ends: Sequence[int] | None = None) -> Tensor:
    """Returns the rows, each followed by what ends it.

    Args:
        ids: int32 `(batch, length)`.
        special_ids: Those of the vocabulary.
        ends: What ends a row; eos if None.

    Returns:
        int32 `(batch, length + ends)`.
    """
    for token in (special_ids.eos,) if ends is None else ends:
        wider = tf.pad(ids, [[0, 0], [0, 1]], constant_values=special_ids.pad)
        is_end = tf.range(tf.shape(wider)[1]) == row_lengths(ids, special_ids)[:, None]
        ids = tf.where(is_end, token, wider)
    return ids
