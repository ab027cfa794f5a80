"""What happens between updates: checkpoints, the end at a given step, the learning rate in logs."""

from pathlib import Path
from typing import Any

import keras

from keras_transformer.training.checkpoints import (
    checkpoint_path,
    prune_checkpoints,
    save_checkpoint,
)


class Checkpoints(keras.callbacks.Callback):
    """Saves the full training state after every round of `fit`, and keeps the newest ones.

    Args:
        directory: Where the checkpoints go.
        keep: How many to keep.
    """

    def __init__(self, directory: Path, keep: int) -> None:
        super().__init__()
        self.directory = directory
        self.keep = keep

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Writes a checkpoint, named for the updates made."""
        step = int(self.model.optimizer.iterations)
        save_checkpoint(self.model, checkpoint_path(self.directory, step))
        prune_checkpoints(self.directory, self.keep)


class StopAtStep(keras.callbacks.Callback):
    """Ends training when the optimizer has made `step` updates.

    Args:
        step: Number of updates.
    """

    def __init__(self, step: int) -> None:
        super().__init__()
        self.step = step

    def on_train_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """Asks `fit` to stop once the step is reached."""
        if int(self.model.optimizer.iterations) >= self.step:
            self.model.stop_training = True


class LearningRateLog(keras.callbacks.Callback):
    """Adds the learning rate to the logs, where the progress bar and TensorBoard find it."""

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Writes `learning_rate` into the logs."""
        if logs is not None:
            logs["learning_rate"] = float(self.model.optimizer.learning_rate)
