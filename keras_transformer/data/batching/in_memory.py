"""Batches of pairs in memory: one plan for all epochs, rows gathered from two tables."""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import tensorflow as tf

from keras_transformer.data.batching.assembly import (
    PARALLEL_CALLS,
    in_order,
    padded_batch,
    shuffled_epoch,
    source_rows,
    target_rows,
    worker_share,
)
from keras_transformer.data.batching.plan import Plan, cut_batches
from keras_transformer.data.batching.reading import ONE_WORKER, BatchReader, Place, reader_of
from keras_transformer.data.encoding.id_pairs import EncodedPairs, RaggedIds


@reader_of.register(EncodedPairs)
class MemoryReader(BatchReader):
    """Reads `EncodedPairs`.

    Args:
        pairs: The pairs.
    """

    def __init__(self, pairs: EncodedPairs) -> None:
        self.pairs = pairs

    def per_epoch(self, batch_tokens: int, workers: int) -> int:
        """As `batches_per_epoch`: the same for any number of workers, which share each batch."""
        return plan_pairs(self.pairs, batch_tokens).num_batches

    def training(self, place: Place) -> tf.data.Dataset:
        """As `training_batches`: shuffles the plan anew in every epoch."""
        plan = plan_pairs(self.pairs, place.batch_tokens)
        epochs, epoch_rows = training_rows(plan.starts, place)
        with tf.device("CPU:0"):
            order, groups = tf.constant(plan.order), tf.constant(plan.groups)
        rows = epochs.flat_map(lambda epoch: epoch_rows(epoch, order, groups))
        rows = rows.apply(tf.data.experimental.assert_cardinality(tf.data.INFINITE_CARDINALITY))
        return _gather_batches(rows, self.pairs, place.worker)

    def evaluation(self, batch_tokens: int) -> tf.data.Dataset:
        """As `evaluation_batches`: follows the plan without shuffling."""
        plan = plan_pairs(self.pairs, batch_tokens)
        with tf.device("CPU:0"):
            order, starts = tf.constant(plan.order), tf.constant(plan.starts)
        rows = tf.data.Dataset.range(plan.num_batches).map(
            lambda batch: order[starts[batch] : starts[batch + 1]]
        )
        return _gather_batches(rows, self.pairs, ONE_WORKER)

    def lines(self, place: Place) -> npt.NDArray[np.int64]:
        """As `batch_pairs`: draws the epoch of the batch again."""
        index, count = place.worker
        epochs, epoch_rows = training_rows(plan_pairs(self.pairs, place.batch_tokens).starts, place)
        epoch = next(iter(epochs))
        order = self.pairs.epoch_order(place.seed, int(epoch))
        rows = next(iter(epoch_rows(epoch, *map(tf.constant, order)))).numpy()
        return self.pairs.pair_numbers[rows[index::count]]


def plan_pairs(encoded: EncodedPairs, batch_tokens: int) -> Plan:
    """Plans the batches of pairs in memory; raises `ValueError` if a pair fits into no batch."""
    longest = np.maximum(encoded.source_lengths, encoded.target_lengths)
    if longest.max() > batch_tokens:
        pair = int(longest.argmax())
        raise ValueError(
            f"batch_tokens={batch_tokens} cannot hold pair {int(encoded.pair_numbers[pair])}, "
            f"which has {int(longest[pair])} tokens; raise batch_tokens or lower max_length"
        )
    return cut_batches(encoded.source_lengths, encoded.target_lengths, batch_tokens)


def training_rows(
    starts: npt.NDArray[np.int64], place: Place
) -> tuple[tf.data.Dataset, Callable[..., tf.data.Dataset]]:
    """Returns which pairs each training batch holds.

    Args:
        starts: As in `Plan`, for every epoch.
        place: Where training begins.

    Returns:
        The numbers of the epochs from that of `place` on, int64; and a function that takes such a
        number and the epoch's `order` and `groups` as in `Plan`, and returns a data set of the row
        numbers, int64 (B,), of its batches.
    """
    first_epoch, skipped = divmod(place.step, len(starts) - 1)
    with tf.device("CPU:0"):
        cuts = tf.constant(starts)

    def epoch_rows(epoch: tf.Tensor, order: tf.Tensor, groups: tf.Tensor) -> tf.data.Dataset:
        epoch_seed = tf.stack([tf.cast(place.seed, tf.int64), epoch])
        shuffled, batches = shuffled_epoch(order, groups, cuts, epoch_seed)
        batches = batches[tf.where(epoch == first_epoch, skipped, 0) :]
        return tf.data.Dataset.from_tensor_slices(batches).map(
            lambda batch: shuffled[cuts[batch] : cuts[batch + 1]]
        )

    return tf.data.Dataset.range(first_epoch, np.iinfo(np.int64).max), epoch_rows


def _gather_batches(
    rows: tf.data.Dataset, encoded: EncodedPairs, worker: tuple[int, int]
) -> tf.data.Dataset:
    """Maps row numbers (B,) to padded batches, in parallel and in order."""
    special_ids = encoded.special_ids
    with tf.device("CPU:0"):
        source = _ragged(source_rows(encoded.source, special_ids, encoded.begins))
        target = _ragged(target_rows(encoded.target, special_ids, encoded.begins))
    pad = special_ids.pad
    batches = rows.map(
        lambda numbers: padded_batch(source, target, *worker_share(numbers, worker), pad),
        num_parallel_calls=PARALLEL_CALLS,
    )
    return in_order(batches)


def _ragged(ids: RaggedIds) -> tf.RaggedTensor:
    return tf.RaggedTensor.from_row_splits(ids.values, ids.offsets, validate=False)
