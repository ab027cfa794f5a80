"""Batches of rows in memory, planned once for all epochs; those of pairs gather from two tables."""

import abc
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

# Validation draws the same in every run and after every round, so that losses can be compared.
VALIDATION_SEED = 1


class PlannedReader(BatchReader):
    """Reads rows in memory, whose batches are planned once for all epochs.

    Args:
        line_numbers: The number of the line or pair that each row is made of: int64 (rows,).
    """

    def __init__(self, line_numbers: npt.NDArray[np.int64]) -> None:
        self._line_numbers = line_numbers

    @abc.abstractmethod
    def plan(self, batch_tokens: int) -> Plan:
        """Plans the batches; raises `ValueError` if a row fits into none."""

    @abc.abstractmethod
    def batches(
        self, numbered: tf.data.Dataset, seed: int, worker: tuple[int, int]
    ) -> tf.data.Dataset:
        """Maps (batch number, row numbers (B,)) to batches, in parallel and in order."""

    def order(
        self, plan: Plan, seed: int, epoch: int
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Returns `order` and `groups` of an epoch, as in `Plan`: the same in all epochs."""
        return plan.order, plan.groups

    def per_epoch(self, batch_tokens: int, workers: int) -> int:
        """As `batches_per_epoch`: the same for any number of workers, which share each batch."""
        return self.plan(batch_tokens).num_batches

    def training(self, place: Place) -> tf.data.Dataset:
        """As `training_batches`: shuffles the plan anew in every epoch."""
        plan = self.plan(place.batch_tokens)
        epochs, epoch_rows = training_rows(plan.starts, place)
        with tf.device("CPU:0"):
            order, groups = tf.constant(plan.order), tf.constant(plan.groups)
        rows = epochs.flat_map(lambda epoch: epoch_rows(epoch, order, groups))
        rows = rows.apply(tf.data.experimental.assert_cardinality(tf.data.INFINITE_CARDINALITY))
        return self.batches(rows.enumerate(place.step), place.seed, place.worker)

    def evaluation(self, batch_tokens: int) -> tf.data.Dataset:
        """As `evaluation_batches`: follows the plan without shuffling."""
        plan = self.plan(batch_tokens)
        with tf.device("CPU:0"):
            order, starts = tf.constant(plan.order), tf.constant(plan.starts)
        rows = tf.data.Dataset.range(plan.num_batches).map(
            lambda batch: (batch, order[starts[batch] : starts[batch + 1]])
        )
        return self.batches(rows, VALIDATION_SEED, ONE_WORKER)

    def lines(self, place: Place) -> npt.NDArray[np.int64]:
        """As `batch_pairs`: draws the epoch of the batch again."""
        index, count = place.worker
        plan = self.plan(place.batch_tokens)
        epochs, epoch_rows = training_rows(plan.starts, place)
        epoch = next(iter(epochs))
        order = self.order(plan, place.seed, int(epoch))
        rows = next(iter(epoch_rows(epoch, *map(tf.constant, order)))).numpy()
        return self._line_numbers[rows[index::count]]


@reader_of.register(EncodedPairs)
class MemoryReader(PlannedReader):
    """Reads `EncodedPairs`.

    Args:
        pairs: The pairs.
    """

    def __init__(self, pairs: EncodedPairs) -> None:
        super().__init__(pairs.pair_numbers)
        self.pairs = pairs

    def plan(self, batch_tokens: int) -> Plan:
        """Plans the batches; raises `ValueError` if a pair fits into none."""
        return plan_pairs(self.pairs, batch_tokens)

    def batches(
        self, numbered: tf.data.Dataset, seed: int, worker: tuple[int, int]
    ) -> tf.data.Dataset:
        """Maps (batch number, row numbers (B,)) to padded batches."""
        special_ids, begins = self.pairs.special_ids, self.pairs.begins
        with tf.device("CPU:0"):
            source = _ragged(source_rows(self.pairs.source, special_ids, begins))
            target = _ragged(target_rows(self.pairs.target, special_ids, begins))
        pad = special_ids.pad
        batches = numbered.map(
            lambda _, numbers: padded_batch(source, target, *worker_share(numbers, worker), pad),
            num_parallel_calls=PARALLEL_CALLS,
        )
        return in_order(batches)


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


def _ragged(ids: RaggedIds) -> tf.RaggedTensor:
    return tf.RaggedTensor.from_row_splits(ids.values, ids.offsets, validate=False)
