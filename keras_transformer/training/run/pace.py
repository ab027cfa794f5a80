"""Takes training pairs and options and returns the number of updates in an epoch, a round and a
run.
"""

from dataclasses import dataclass

from keras_transformer.data.batching.batches import batches_per_epoch
from keras_transformer.training.run.options import TrainOptions

MOST_STEPS_BETWEEN_CHECKPOINTS = 1000


@dataclass(frozen=True)
class Pace:
    """Numbers of updates.

    Attributes:
        epoch: In an epoch, which sees every pair once.
        round: In a round, which ends with a checkpoint.
        total: In the whole run, unless it ends early.
    """

    epoch: int
    round: int
    total: int

    @classmethod
    def of(cls, pairs: object, options: TrainOptions, workers: int = 1) -> "Pace":
        """Computes the numbers.

        Args:
            pairs: The training pairs, as `batches_per_epoch` takes them.
            options: How to train.
            workers: Number of processes that train together.
        """
        epoch = batches_per_epoch(pairs, options.batch_tokens, workers)
        total = options.epochs * epoch
        if options.max_steps is not None:
            total = min(total, options.max_steps)
        between_checkpoints = min(MOST_STEPS_BETWEEN_CHECKPOINTS, epoch)
        return cls(epoch, min(options.checkpoint_steps or between_checkpoints, total), total)
