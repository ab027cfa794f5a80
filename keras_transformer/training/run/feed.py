"""The batches of a run, for training and validation, shared by its replicas."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import tensorflow as tf

from keras_transformer.data.batching.batches import (
    batch_pairs,
    batches_per_epoch,
    evaluation_batches,
    training_batches,
)
from keras_transformer.data.batching.reading import ONE_WORKER, reader_of
from keras_transformer.training.loop.strategy import Replicas, share_rows
from keras_transformer.training.run.options import TrainPlan
from keras_transformer.training.tasks.training_data import TrainingData


@dataclass(frozen=True)
class Feed:
    """The batches of a run's updates and validations.

    Attributes:
        data: The pairs.
        options: Size of the batches and the seed of their order.
        replicas: The replicas that share each batch.
    """

    data: TrainingData
    options: TrainPlan
    replicas: Replicas

    def training(self, done: int) -> Any:
        """Returns the endless batches that follow the first `done` updates, for `fit`."""
        tokens, seed = self.options.batch_tokens, self.options.seed
        return self.replicas.distribute(
            lambda worker: training_batches(self.data.train, tokens, seed, done, worker)
        )

    def validation(self) -> dict[str, Any]:
        """Returns the arguments of `fit` for validation; none without validation pairs."""
        valid, tokens = self.data.valid, self.options.batch_tokens
        if valid is None:
            return {}
        return {
            "validation_data": self.replicas.distribute(
                lambda worker: share_rows(evaluation_batches(valid, tokens), worker)
            ),
            # The data sets of several replicas do not know their lengths.
            "validation_steps": batches_per_epoch(valid, tokens),
        }

    def lines(self, step: int) -> npt.NDArray[np.int64]:
        """Returns the lines, from 0, of the batch that follows `step` updates, on all workers."""
        tokens, seed = self.options.batch_tokens, self.options.seed
        workers = self.replicas.workers
        return np.concatenate(
            [
                batch_pairs(self.data.train, tokens, seed, step, (worker, workers))
                for worker in range(workers)
            ]
        )

    @contextlib.contextmanager
    def clear_file_errors(self) -> Iterator[None]:
        """Names the file that has changed if batches cannot be read on.

        Raises:
            FileNotFoundError: A file of the data has gone.
            ValueError: It was damaged or replaced.
        """
        try:
            yield
        except tf.errors.OpError as error:
            for pairs in filter(None, (self.data.train, self.data.valid)):
                try:
                    reader_of(pairs).check_files(ONE_WORKER)
                except (FileNotFoundError, ValueError) as changed:
                    raise type(changed)(
                        f"{changed}. It was whole when training began; once it is again, --resume "
                        "goes on from the newest checkpoint, if there is one"
                    ) from error
            raise
