"""Encoded pairs become padded batches: grouped by length, shuffled by seed, resumable by step.

Comes in: pairs and a budget of tokens a batch. Leaves: a tf.data pipeline of
`({"source_ids", "target_ids"}, labels, sample_weight)` as `model.fit` takes it. Pairs in memory
are batched here; `sharded.py` registers the same functions for those on disk.
"""

from collections.abc import Callable
from functools import singledispatch
from typing import NoReturn

import numpy as np
import numpy.typing as npt
import tensorflow as tf

from keras_transformer.data.batching.assembly import (
    PARALLEL_CALLS,
    check_worker,
    in_order,
    padded_batch,
    shuffled_epoch,
    source_rows,
    target_rows,
    worker_share,
)
from keras_transformer.data.batching.plan import Plan, cut_batches
from keras_transformer.data.encoding.id_pairs import EncodedPairs, RaggedIds

ONE_WORKER = (0, 1)


@singledispatch
def batches_per_epoch(pairs: object, batch_tokens: int, workers: int = 1) -> int:
    """Number of steps in every epoch of `training_batches`, for each worker.

    Args:
        pairs: as in `training_batches`.
        batch_tokens: as in `training_batches`.
        workers: number of workers that train together; in memory it changes nothing.
    """
    _refuse(pairs)


@singledispatch
def training_batches(
    pairs: object,
    batch_tokens: int,
    seed: int,
    start_step: int = 0,
    worker: tuple[int, int] = ONE_WORKER,
) -> tf.data.Dataset:
    """Endless batches; epoch after epoch, each pair exactly once an epoch.

    Args:
        pairs: the pairs: `EncodedPairs`, or `ShardedPairs` of a prepared corpus.
        batch_tokens: the most padded tokens a batch may hold, counted as rows * the longer of
            the two padded lengths; all workers' shares together.
        seed: decides, with the number of the epoch, all shuffling.
        start_step: number of batches to leave out: the stream goes on exactly as the unbroken
            one does after that many.
        worker: (index, count) of the worker that takes its share of every batch. Where there is
            none left for it, it gets something of weight 0.

    Returns:
        A data set of `({"source_ids": (B, S), "target_ids": (B, T)}, labels (B, T),
        sample_weight (B, T))`, ids int32, weights float32: 1.0 where a label stands, 0.0 on
        padding. `source_ids` end with eos, `target_ids` begin with bos, `labels` are the target
        one step on, eos last.

    Raises:
        ValueError: a pair is longer than `batch_tokens`, `start_step` is negative, `worker`
            names no worker, or a shard is damaged.
    """
    _refuse(pairs)


@singledispatch
def evaluation_batches(pairs: object, batch_tokens: int) -> tf.data.Dataset:
    """Each pair once, in an order that is always the same; the data set knows its length.

    Arguments, elements and errors are those of `training_batches`.
    """
    _refuse(pairs)


@singledispatch
def batch_pairs(
    pairs: object,
    batch_tokens: int,
    seed: int,
    step: int,
    worker: tuple[int, int] = ONE_WORKER,
) -> npt.NDArray[np.int64]:
    """Line numbers, from 0, of the pairs in the batch of update `step`, for error messages.

    Args:
        pairs: as in `training_batches`.
        batch_tokens: as in `training_batches`.
        seed: as in `training_batches`.
        step: number of updates before that batch.
        worker: as in `training_batches`; the lines of its share.

    Returns:
        int64 (rows of the batch,), positions in the text that the pairs come from.
    """
    _refuse(pairs)


def _refuse(pairs: object) -> NoReturn:
    raise TypeError(
        f"pairs must be EncodedPairs or ShardedPairs, got {type(pairs).__name__}; encode_pairs "
        "makes them of sentences"
    )


@batches_per_epoch.register
def _(pairs: EncodedPairs, batch_tokens: int, workers: int = 1) -> int:
    return plan_pairs(pairs, batch_tokens).num_batches


@training_batches.register
def _(
    pairs: EncodedPairs,
    batch_tokens: int,
    seed: int,
    start_step: int = 0,
    worker: tuple[int, int] = ONE_WORKER,
) -> tf.data.Dataset:
    check_worker(worker)
    return _gather_batches(_endless_rows(pairs, batch_tokens, seed, start_step), pairs, worker)


@evaluation_batches.register
def _(pairs: EncodedPairs, batch_tokens: int) -> tf.data.Dataset:
    plan = plan_pairs(pairs, batch_tokens)
    with tf.device("CPU:0"):
        order, starts = tf.constant(plan.order), tf.constant(plan.starts)
    rows = tf.data.Dataset.range(plan.num_batches).map(
        lambda batch: order[starts[batch] : starts[batch + 1]]
    )
    return _gather_batches(rows, pairs, ONE_WORKER)


@batch_pairs.register
def _(
    pairs: EncodedPairs,
    batch_tokens: int,
    seed: int,
    step: int,
    worker: tuple[int, int] = ONE_WORKER,
) -> npt.NDArray[np.int64]:
    check_worker(worker)
    index, count = worker
    epochs, epoch_rows = training_rows(plan_pairs(pairs, batch_tokens).starts, seed, step)
    epoch = next(iter(epochs))
    order = pairs.epoch_order(seed, int(epoch))
    rows = next(iter(epoch_rows(epoch, *map(tf.constant, order)))).numpy()
    return pairs.pair_numbers[rows[index::count]]


def padding_fraction(encoded: EncodedPairs, batch_tokens: int) -> float:
    """Share of padding in all positions of `source_ids` and `target_ids` of an epoch's batches.

    Computed for the evaluation order; training draws differ from it by less than a point.
    """
    plan = plan_pairs(encoded, batch_tokens)
    positions = 0
    rows = np.diff(plan.starts)
    for lengths in (encoded.source_lengths, encoded.target_lengths):
        positions += int((rows * np.maximum.reduceat(lengths[plan.order], plan.starts[:-1])).sum())
    tokens = int(encoded.source_lengths.sum() + encoded.target_lengths.sum())
    return 1.0 - tokens / positions


def plan_pairs(encoded: EncodedPairs, batch_tokens: int) -> Plan:
    """Plans the batches of pairs in memory; raises `ValueError` where one fits into none."""
    longest = np.maximum(encoded.source_lengths, encoded.target_lengths)
    if longest.max() > batch_tokens:
        pair = int(longest.argmax())
        raise ValueError(
            f"batch_tokens={batch_tokens} cannot hold pair {int(encoded.pair_numbers[pair])}, "
            f"which has {int(longest[pair])} tokens; raise batch_tokens or lower max_length"
        )
    return cut_batches(encoded.source_lengths, encoded.target_lengths, batch_tokens)


def training_rows(
    starts: npt.NDArray[np.int64], seed: int, start_step: int
) -> tuple[tf.data.Dataset, Callable[..., tf.data.Dataset]]:
    """Which pairs each batch of training holds.

    Args:
        starts: as in `Plan`, of every epoch.
        seed: as in `training_batches`.
        start_step: as in `training_batches`.

    Returns:
        The numbers of the epochs from that of `start_step` on, int64; and what makes of such a
        number, and of the epoch's `order` and `groups` as in `Plan`, a data set of the row numbers,
        int64 (B,), of its batches.

    Raises:
        ValueError: `start_step` is negative.
    """
    if start_step < 0:
        raise ValueError(f"start_step must be at least 0, got {start_step}")
    first_epoch, skipped = divmod(start_step, len(starts) - 1)
    with tf.device("CPU:0"):
        cuts = tf.constant(starts)

    def epoch_rows(epoch: tf.Tensor, order: tf.Tensor, groups: tf.Tensor) -> tf.data.Dataset:
        epoch_seed = tf.stack([tf.cast(seed, tf.int64), epoch])
        shuffled, batches = shuffled_epoch(order, groups, cuts, epoch_seed)
        batches = batches[tf.where(epoch == first_epoch, skipped, 0) :]
        return tf.data.Dataset.from_tensor_slices(batches).map(
            lambda batch: shuffled[cuts[batch] : cuts[batch + 1]]
        )

    return tf.data.Dataset.range(first_epoch, np.iinfo(np.int64).max), epoch_rows


def _endless_rows(
    encoded: EncodedPairs, batch_tokens: int, seed: int, start_step: int
) -> tf.data.Dataset:
    plan = plan_pairs(encoded, batch_tokens)
    epochs, epoch_rows = training_rows(plan.starts, seed, start_step)
    with tf.device("CPU:0"):
        order, groups = tf.constant(plan.order), tf.constant(plan.groups)
    rows = epochs.flat_map(lambda epoch: epoch_rows(epoch, order, groups))
    return rows.apply(tf.data.experimental.assert_cardinality(tf.data.INFINITE_CARDINALITY))


def _gather_batches(
    rows: tf.data.Dataset, encoded: EncodedPairs, worker: tuple[int, int]
) -> tf.data.Dataset:
    """Row numbers (B,) to padded batches, in parallel and in order."""
    with tf.device("CPU:0"):
        source = _ragged(source_rows(encoded.source))
        target = _ragged(target_rows(encoded.target))
    batches = rows.map(
        lambda numbers: padded_batch(source, target, *worker_share(numbers, worker)),
        num_parallel_calls=PARALLEL_CALLS,
    )
    return in_order(batches)


def _ragged(ids: RaggedIds) -> tf.RaggedTensor:
    return tf.RaggedTensor.from_row_splits(ids.values, ids.offsets, validate=False)
