"""The batches of a run, for training and validation, shared by its replicas."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from keras_transformer.data.batching.batches import (
    batch_pairs,
    batches_per_epoch,
    evaluation_batches,
    training_batches,
)
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
