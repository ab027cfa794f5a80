"""Batches of pairs in shards on disk, with a few shards in memory at a time.

`ShardReader` is registered for `ShardedPairs`, so that the functions of `batching/batches.py` take
them.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import tensorflow as tf

from keras_transformer.data.batching.assembly import (
    PARALLEL_CALLS,
    in_order,
    padded_batch,
    shuffled_epoch,
)
from keras_transformer.data.batching.open_shards import open_shards
from keras_transformer.data.batching.plan import cut_batches
from keras_transformer.data.batching.reading import ONE_WORKER, BatchReader, Place, reader_of
from keras_transformer.data.encoding.id_pairs import FilterReport
from keras_transformer.data.prepared.intact import IntactShards
from keras_transformer.data.prepared.record import Shard, Split
from keras_transformer.data.prepared.shards import ShardTable, read_shards

# Takes shards in memory, row numbers (B,) and a weight; returns an element of the data set.
Element = Callable[[ShardTable, tf.Tensor, tf.Tensor], Any]


@dataclass(frozen=True)
class ShardedPairs:
    """Pairs on disk, which batching takes like `EncodedPairs`.

    With several workers, each reads its own shards (every count-th from its index on), in batches
    of `batch_tokens // count`.

    Attributes:
        directory: Directory of the shards.
        split: The description of the shards.
        pad: The id that fills rows.
    """

    # Ids that each row gets when it is read.
    added: ClassVar[int] = 0

    directory: Path
    split: Split
    pad: int

    def __len__(self) -> int:
        return self.split.report.kept

    @property
    def report(self) -> FilterReport:
        """The report of the pairs dropped when the corpus was prepared."""
        return self.split.report


@reader_of.register(ShardedPairs)
class ShardReader(BatchReader):
    """Reads `ShardedPairs`.

    Args:
        pairs: The pairs.
    """

    def __init__(self, pairs: ShardedPairs) -> None:
        self.pairs = pairs

    def per_epoch(self, batch_tokens: int, workers: int) -> int:
        """As `batches_per_epoch`: the number of batches of the worker that has the most."""
        return max(
            sum(_batch_counts(self.pairs, batch_tokens, (index, workers)))
            for index in range(workers)
        )

    def training(self, place: Place) -> tf.data.Dataset:
        """As `training_batches`, with a few shards open at a time."""
        intact = self.check_files(place.worker)
        dataset = _training_elements(self.pairs, place, self.element, intact)
        endless = tf.data.experimental.assert_cardinality(tf.data.INFINITE_CARDINALITY)
        return in_order(dataset.apply(endless))

    def evaluation(self, batch_tokens: int) -> tf.data.Dataset:
        """As `evaluation_batches`: reads the shards in their order."""
        intact = self.check_files(ONE_WORKER)
        counts = _batch_counts(self.pairs, batch_tokens, ONE_WORKER)
        shards = self.pairs.split.shards
        filled = [shard for shard, own in zip(shards, counts, strict=True) if own]

        def shard_batches(file: tf.Tensor, size: tf.Tensor) -> tf.data.Dataset:
            table = read_shards(file[tf.newaxis])
            order, _, starts = _plan(table, size[tf.newaxis], batch_tokens, self.pairs.added)
            return tf.data.Dataset.range(tf.size(starts, tf.int64) - 1).map(
                lambda batch: self.element(
                    table, order[starts[batch] : starts[batch + 1]], tf.ones(())
                ),
                num_parallel_calls=PARALLEL_CALLS,
            )

        def files() -> Iterator[tuple[str, int]]:
            for shard in filled:
                yield intact.check(shard), shard.pairs

        signature = (tf.TensorSpec((), tf.string), tf.TensorSpec((), tf.int64))
        dataset = tf.data.Dataset.from_generator(files, output_signature=signature)
        dataset = dataset.flat_map(shard_batches)
        return in_order(dataset.apply(tf.data.experimental.assert_cardinality(sum(counts))))

    def check_files(self, worker: tuple[int, int]) -> IntactShards:
        """As `BatchReader.check_files`; what it returns notices later changes."""
        intact = IntactShards(self.pairs.directory)
        for shard in _own_shards(self.pairs, worker):
            intact.check(shard)
        return intact

    def element(self, table: ShardTable, rows: tf.Tensor, weight: tf.Tensor) -> Any:
        """Returns the batch of some rows of open shards."""
        return padded_batch(table.source, table.target, rows, weight, self.pairs.pad)

    def lines(self, place: Place) -> npt.NDArray[np.int64]:
        """As `batch_pairs`: reads the shards that are open at the batch."""

        def numbers(table: ShardTable, rows: tf.Tensor, weight: tf.Tensor) -> tf.Tensor:
            return tf.gather(table.pair_numbers, rows)

        intact = IntactShards(self.pairs.directory)
        return next(iter(_training_elements(self.pairs, place, numbers, intact))).numpy()


def _own_shards(pairs: ShardedPairs, worker: tuple[int, int]) -> tuple[Shard, ...]:
    index, count = worker
    return pairs.split.shards[index::count]


def _batch_counts(
    pairs: ShardedPairs, batch_tokens: int, worker: tuple[int, int]
) -> tuple[int, ...]:
    """Returns the number of batches in each of a worker's shards."""
    shards = _own_shards(pairs, worker)
    own_tokens = batch_tokens // worker[1]
    longest = max((shard.longest[-1] + pairs.added for shard in shards if shard.pairs), default=0)
    if not longest:
        raise ValueError(
            f"{pairs.directory} has {len(pairs.split.shards)} shards, too few for {worker[1]} "
            "workers: prepare it again with more (--shards)"
        )
    if longest > own_tokens:
        raise ValueError(
            f"batch_tokens={batch_tokens}, shared by {worker[1]} workers, cannot hold the longest "
            f"pair, which has {longest} tokens; raise batch_tokens or prepare the corpus with a "
            "lower max_length"
        )
    return tuple(shard.num_batches(own_tokens, pairs.added) for shard in shards)


def _training_elements(
    pairs: ShardedPairs, place: Place, element: Element, intact: IntactShards
) -> tf.data.Dataset:
    """Returns the results of `element` for the training batches."""
    worker, batch_tokens = place.worker, place.batch_tokens
    shards = _own_shards(pairs, worker)
    counts = _batch_counts(pairs, batch_tokens, worker)
    epoch_steps = ShardReader(pairs).per_epoch(batch_tokens, worker[1])

    def opened_shards() -> Iterator[tuple[Any, ...]]:
        for part in open_shards(counts, epoch_steps, place.seed, place.step):
            opened = [shards[number] for number in part.shards]
            files = [intact.check(shard) for shard in opened]
            sizes = [shard.pairs for shard in opened]
            yield files, sizes, (place.seed, part.seed), (part.first, part.steps)

    def read_opened(
        files: tf.Tensor, sizes: tf.Tensor, shuffle_seed: tf.Tensor, steps: tf.Tensor
    ) -> tuple[Any, ...]:
        table = read_shards(files)
        return (
            table,
            _plan(table, sizes, batch_tokens // worker[1], pairs.added),
            shuffle_seed,
            steps,
        )

    def elements_of(
        table: ShardTable, plan: tuple[tf.Tensor, ...], shuffle_seed: tf.Tensor, steps: tf.Tensor
    ) -> tf.data.Dataset:
        order, groups, starts = plan
        shuffled, batches = shuffled_epoch(order, groups, starts, shuffle_seed)
        # Steps beyond the shards' own batches repeat some with weight 0: see `OpenShards`.
        own = tf.size(batches, tf.int64)
        numbers = tf.range(steps[0], steps[1])
        chosen = tf.gather(batches, numbers % own), tf.cast(numbers < own, tf.float32)
        return tf.data.Dataset.from_tensor_slices(chosen).map(
            lambda batch, weight: element(
                table, shuffled[starts[batch] : starts[batch + 1]], weight
            ),
            num_parallel_calls=PARALLEL_CALLS,
        )

    signature = (
        tf.TensorSpec((None,), tf.string),
        tf.TensorSpec((None,), tf.int64),
        tf.TensorSpec((2,), tf.int64),
        tf.TensorSpec((2,), tf.int64),
    )
    opened = tf.data.Dataset.from_generator(opened_shards, output_signature=signature)
    # The next shards are read while some are in use, so that no step waits for a disk.
    return opened.map(read_opened).prefetch(1).flat_map(elements_of)


def _plan(
    table: ShardTable, sizes: tf.Tensor, batch_tokens: int, added: int
) -> tuple[tf.Tensor, ...]:
    """Returns order, groups and starts (as in `Plan`) of concatenated shards, each cut separately.

    Cut together, they would have other batches, and a different number of them.
    """

    def plan(source: np.ndarray, target: np.ndarray, sizes: np.ndarray) -> list[np.ndarray]:
        orders, groups, starts = [], [], [np.zeros(1, np.int64)]
        first = first_group = 0
        for size in sizes.tolist():
            own = cut_batches(
                source[first : first + size], target[first : first + size], batch_tokens
            )
            orders.append(own.order + first)
            groups.append(own.groups + first_group)
            starts.append(own.starts[1:] + first)
            first += size
            first_group = int(groups[-1][-1]) + 1
        return [np.concatenate(parts) for parts in (orders, groups, starts)]

    # Labels are one token shorter than the rows that they are cut from.
    lengths = (table.source.row_lengths() + added, table.target.row_lengths() - 1, sizes)
    parts = tf.numpy_function(plan, lengths, [tf.int64] * 3, stateful=False)
    for part in parts:
        part.set_shape((None,))
    return tuple(parts)
