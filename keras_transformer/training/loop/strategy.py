"""The devices of a run: `Replicas` that share every batch, by the name of a strategy.

A replica is a copy of the model on one device; a worker is a process with one replica or more.
"""

import json
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache

import tensorflow as tf

from keras_transformer.data.batching.assembly import Batch

# The errors of the remaining workers' collective operations when a worker is gone.
_LOST_WORKER = (tf.errors.UnavailableError, tf.errors.AbortedError, tf.errors.InternalError)


class Replicas:
    """The copies of the model that train in lockstep.

    Args:
        strategy: Keeps the copies equal; None for one device.
        worker: Number of this process, from 0; worker 0 is the chief.
        workers: Number of processes.

    Attributes:
        strategy: Keeps the copies equal; None for one device.
        worker: Number of this process, from 0; worker 0 is the chief.
        workers: Number of processes.
        count: Number of replicas of all workers together.
    """

    def __init__(
        self, strategy: tf.distribute.Strategy | None = None, worker: int = 0, workers: int = 1
    ) -> None:
        self.strategy = strategy
        self.worker = worker
        self.workers = workers
        self.count = 1 if strategy is None else strategy.num_replicas_in_sync

    @property
    def is_chief(self) -> bool:
        """Whether this process writes the run directory; the others read it."""
        return self.worker == 0

    def scope(self) -> AbstractContextManager:
        """Returns a context in which each variable is created once per replica."""
        return nullcontext() if self.strategy is None else self.strategy.scope()

    def distribute(
        self, share: Callable[[tuple[int, int]], tf.data.Dataset]
    ) -> tf.data.Dataset | tf.distribute.DistributedDataset:
        """Gives every replica its rows of every batch.

        Args:
            share: Takes a worker (index, count) and returns its part of each batch as elements
                `({"source_ids", "target_ids"}, labels, sample_weight)`. All workers' parts must
                have the same number of elements.

        Returns:
            The data set for `fit`; for one device, what `share` returns.
        """
        if self.strategy is None:
            return share((0, 1))
        local = self.count // self.workers

        def of_worker(context: tf.distribute.InputContext) -> tf.data.Dataset:
            dataset = share((context.input_pipeline_id, context.num_input_pipelines))
            # Each local replica takes the next element.
            return dataset.flat_map(
                lambda *batch: tf.data.Dataset.range(local).map(
                    lambda replica: rows_of(batch, replica, local)
                )
            )

        return self.strategy.distribute_datasets_from_function(of_worker)

    def from_chief(self, number: int) -> int:
        """Returns the chief's number on every worker, once all workers have called this."""
        if self.strategy is None:
            return number

        @tf.function
        def give() -> tf.Tensor:
            context = tf.distribute.get_replica_context()
            is_first = tf.equal(context.replica_id_in_sync_group, 0)
            return context.all_reduce("sum", tf.where(is_first, tf.constant(number, tf.int64), 0))

        return int(self.strategy.experimental_local_results(self.strategy.run(give))[0])

    def wait(self) -> None:
        """Returns once all workers have called this."""
        self.from_chief(0)

    @contextmanager
    def chief_first(self) -> Iterator[None]:
        """Runs the block on the chief first; the other workers wait until it is done."""
        if not self.is_chief:
            self.wait()
        yield
        if self.is_chief:
            self.wait()

    @contextmanager
    def clear_worker_errors(self) -> Iterator[None]:
        """Explains what to do if another worker is lost.

        Raises:
            ConnectionError: Replaces TensorFlow's error of a collective operation.
        """
        try:
            yield
        except _LOST_WORKER as error:
            if self.workers == 1:
                raise
            raise ConnectionError(
                f"worker {self.worker} of {self.workers} has lost another worker (see its output). "
                "Start all workers again with --resume: training goes on from the last checkpoint."
            ) from error


def rows_of(batch: Batch, index: int | tf.Tensor, count: int) -> Batch:
    """Returns every `count`-th row of a batch, from `index` on.

    If there are none, returns the first row with weight 0, so each replica has a row to compute.
    """
    inputs, labels, weights = batch
    lent = tf.cast(tf.size(weights[index::count, 0]) == 0, tf.int32)

    def take(rows: tf.Tensor) -> tf.Tensor:
        return tf.concat([rows[index::count], rows[:lent]], axis=0)

    return (
        {name: take(rows) for name, rows in inputs.items()},
        take(labels),
        take(weights) * tf.cast(1 - lent, weights.dtype),
    )


def share_rows(dataset: tf.data.Dataset, worker: tuple[int, int]) -> tf.data.Dataset:
    """Returns a worker's rows of each batch of a data set that holds all workers' rows."""
    index, count = worker
    return dataset if count == 1 else dataset.map(lambda *batch: rows_of(batch, index, count))


# A second cluster in one process is an error in TensorFlow.
@cache
def open_replicas(strategy: str | None) -> Replicas:
    """Returns the replicas on the devices that a run uses.

    For "multi-worker" this must be called before anything else asks TensorFlow for a device; it
    waits for the other workers.

    Args:
        strategy: None for one device; "mirrored" for all GPUs of this machine, or all its logical
            CPUs if it has no GPU; "multi-worker" for the cluster that the environment variable
            TF_CONFIG describes.

    Raises:
        ValueError: The strategy is unknown, or TF_CONFIG describes no cluster of workers.
    """
    if strategy is None:
        return Replicas()
    if strategy == "mirrored":
        devices = tf.config.list_logical_devices("GPU") or tf.config.list_logical_devices("CPU")
        return Replicas(tf.distribute.MirroredStrategy([device.name for device in devices]))
    if strategy == "multi-worker":
        worker, workers = _place_in_cluster(os.environ.get("TF_CONFIG", ""))
        return Replicas(tf.distribute.MultiWorkerMirroredStrategy(), worker, workers)
    raise ValueError(f"strategy must be None, 'mirrored' or 'multi-worker', got {strategy!r}.")


def _place_in_cluster(tf_config: str) -> tuple[int, int]:
    """Returns the index of this worker and the number of workers."""
    try:
        config = json.loads(tf_config)
        worker, addresses = config["task"]["index"], config["cluster"]["worker"]
        if config["task"]["type"] == "worker" and 0 <= worker < len(addresses):
            return worker, len(addresses)
    except (ValueError, KeyError, TypeError):
        pass
    raise ValueError(
        "strategy 'multi-worker' needs the environment variable TF_CONFIG on each worker, such as "
        '{"cluster": {"worker": ["host0:2222", "host1:2222"]}, "task": {"type": "worker", "index": '
        f"0}}}}, got {tf_config!r}."
    )
