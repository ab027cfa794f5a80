"""The tf.data graph that assembles batches: rows are shuffled, shared among workers and padded.

Its elements are `({"source_ids", "target_ids"}, labels, sample_weight)` for `model.fit`, made of
the parts of a `Plan` and two ragged tables of ids.
"""

import numpy as np
import tensorflow as tf

from keras_transformer.config.sentence_marks import Begins
from keras_transformer.config.special_ids import SpecialIds
from keras_transformer.data.encoding.id_pairs import RaggedIds

# Parallel calls of the functions that make elements, and elements made ahead of the reader.
PARALLEL_CALLS, _MADE_AHEAD = 4, 8

_NOTHING = Begins()

Batch = tuple[dict[str, tf.Tensor], tf.Tensor, tf.Tensor]


def shuffled_epoch(
    order: tf.Tensor, groups: tf.Tensor, starts: tf.Tensor, seed: tf.Tensor
) -> tuple[tf.Tensor, tf.Tensor]:
    """Draws one epoch from a plan.

    Args:
        order: As in `Plan`.
        groups: As in `Plan`.
        starts: As in `Plan`.
        seed: int64 (2,), decides which pairs share a batch and the order of the batches.

    Returns:
        The new order of the pairs, to be cut at `starts`, int64 (pairs,); and the numbers of the
        batches in their new order, int32 (batches,).
    """
    within, across = tf.unstack(tf.random.split(seed, 2, alg="philox"))
    return _shuffle_within_groups(order, groups, within), _random_order(tf.size(starts) - 1, across)


def worker_share(rows: tf.Tensor, worker: tuple[int, int]) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns one worker's rows of a batch, and their weight.

    Args:
        rows: Row numbers of the whole batch, int64 (B,).
        worker: (index, count). The worker takes every count-th row from its index on. If there are
            none, it takes the batch's first row with weight 0, so that it has a row to compute in
            step with the others.

    Returns:
        int64 (rows of the share,), and float32 (), 1.0 or 0.0.
    """
    index, count = worker
    share = rows[index::count]
    lent = 1 - tf.minimum(tf.size(share), 1)
    return tf.concat([share, rows[:lent]], axis=0), tf.cast(1 - lent, tf.float32)


def padded_batch(
    source: tf.RaggedTensor, target: tf.RaggedTensor, rows: tf.Tensor, weight: tf.Tensor, pad: int
) -> Batch:
    """Returns the tensors of one batch.

    Args:
        source: Ragged int32, each row ending in eos.
        target: Ragged int32, each row from the decoder's start to eos.
        rows: Row numbers of the batch, int64 (B,).
        weight: float32 (), the weight of each token of the batch.
        pad: The id that fills rows.
    """
    source_ids = tf.gather(source, rows).to_tensor(default_value=pad)  # [B, S]
    both = tf.gather(target, rows).to_tensor(default_value=pad)  # [B, T + 1]
    labels = both[:, 1:]
    is_label = labels != pad
    # The eos of a shorter row has no label after it, so the decoder never reads it.
    target_ids = tf.where(is_label, both[:, :-1], pad)
    inputs = {"source_ids": source_ids, "target_ids": target_ids}
    return inputs, labels, tf.cast(is_label, tf.float32) * weight


def in_order(dataset: tf.data.Dataset) -> tf.data.Dataset:
    """Keeps the order of elements made in parallel, and makes some of them ahead."""
    options = tf.data.Options()
    options.deterministic = True
    # Autotune's thread checks the pipeline at growing intervals, up to a minute, and releasing an
    # iterator waits for the next check: at the end of `fit`, and after every validation.
    options.autotune.enabled = False
    return dataset.prefetch(_MADE_AHEAD).with_options(options)


def source_rows(ids: RaggedIds, special_ids: SpecialIds, begins: Begins = _NOTHING) -> RaggedIds:
    """Returns the rows as an encoder reads them, with eos and the marks of sources."""
    return _surround(ids, begins=begins.source, ends=begins.behind_source(special_ids.eos))


def target_rows(ids: RaggedIds, special_ids: SpecialIds, begins: Begins = _NOTHING) -> RaggedIds:
    """Returns the rows that decoder input and labels are cut from: decoder start, ids, eos.

    What a row begins with is predicted as its ids are.
    """
    start = (special_ids.decoder_start, *begins.target)
    return _surround(ids, begins=start, ends=(special_ids.eos,))


def _shuffle_within_groups(order: tf.Tensor, groups: tf.Tensor, seed: tf.Tensor) -> tf.Tensor:
    noise = tf.random.stateless_uniform(
        tf.shape(order), seed, minval=0, maxval=1 << 31, dtype=tf.int64, alg="philox"
    )
    return tf.gather(order, tf.argsort(groups * (1 << 31) + noise, stable=True))


def _random_order(count: tf.Tensor, seed: tf.Tensor) -> tf.Tensor:
    noise = tf.random.stateless_uniform(
        (count,), seed, minval=None, maxval=None, dtype=tf.int64, alg="philox"
    )
    return tf.argsort(noise, stable=True)


def _surround(
    ids: RaggedIds, begins: tuple[int, ...] = (), ends: tuple[int, ...] = ()
) -> RaggedIds:
    """Returns the rows with fixed ids before and after each."""
    offsets = ids.offsets + np.arange(len(ids.offsets)) * (len(begins) + len(ends))
    values = np.empty(int(offsets[-1]), np.int32)
    inner = np.ones(len(values), np.bool_)
    for place, token in enumerate(begins):
        values[offsets[:-1] + place] = token
        inner[offsets[:-1] + place] = False
    for place, token in enumerate(reversed(ends)):
        values[offsets[1:] - 1 - place] = token
        inner[offsets[1:] - 1 - place] = False
    values[inner] = ids.values
    return RaggedIds(values, offsets)
