"""How many updates a run makes, in an epoch, in a round and in all."""

from dataclasses import dataclass

from keras_transformer.data.batching.batches import batches_per_epoch
from keras_transformer.training.run.options import TrainOptions

MOST_STEPS_BETWEEN_CHECKPOINTS = 1000


@dataclass(frozen=True)
class Pace:
    """Numbers of updates.

    Attributes:
        epoch: Of an epoch, in which every pair is seen once.
        round: Of a round, at whose end stands a checkpoint.
        total: Of the whole run, where nothing ends it before.
    """

    epoch: int
    round: int
    total: int

    @classmethod
    def of(cls, pairs: object, options: TrainOptions, workers: int = 1) -> "Pace":
        """Computes the numbers.

        Args:
            pairs: What is trained on, as `batches_per_epoch` takes it.
            options: How.
            workers: Processes that train together.
        """
        epoch = batches_per_epoch(pairs, options.batch_tokens, workers)
        total = options.epochs * epoch
        if options.max_steps is not None:
            total = min(total, options.max_steps)
        between_checkpoints = min(MOST_STEPS_BETWEEN_CHECKPOINTS, epoch)
        return cls(epoch, min(options.checkpoint_steps or between_checkpoints, total), total)
