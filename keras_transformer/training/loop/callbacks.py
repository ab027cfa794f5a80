"""What happens between updates: progress, the end, the learning rate, the record, checkpoints."""

import math
from typing import Any

import keras

from keras_transformer.training.run.checkpoints import (
    checkpoint_path,
    prune_checkpoints,
    save_checkpoint,
)
from keras_transformer.training.run.history import History
from keras_transformer.training.run.run_directory import RunDirectory

# A checkpoint that turns out damaged needs one before it.
_FEWEST_CHECKPOINTS = 2


class RoundProgress(keras.callbacks.ProgbarLogger):
    """Keras's progress, with rounds called rounds: to `fit` they are epochs.

    Args:
        round_steps: Updates in a round.
        epoch_steps: Updates in an epoch, in which every pair is seen once.
        total: Updates of the whole run.
    """

    def __init__(self, round_steps: int, epoch_steps: int, total: int) -> None:
        super().__init__()
        self._round_steps = round_steps
        self._epoch_steps = epoch_steps
        self._rounds, self._epochs = (
            math.ceil(total / steps) for steps in (round_steps, epoch_steps)
        )

    def set_params(self, params: dict[str, Any]) -> None:
        """Takes what `fit` was called with, but for the number of its epochs."""
        # Of one epoch Keras prints no number.
        super().set_params({**params, "epochs": 1})

    def on_epoch_begin(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Prints the round and the epoch that it begins in."""
        if self.verbose:
            seen = 1 + epoch * self._round_steps // self._epoch_steps
            print(f"Round {epoch + 1}/{self._rounds} (epoch {seen}/{self._epochs})", flush=True)
        super().on_epoch_begin(epoch, logs)


class RoundEnd(keras.callbacks.Callback):
    """Ends a round of `fit`: its figures go into the record, then the state into a checkpoint.

    A kill between the two leaves a round too many in the record, which resuming drops.

    Args:
        run: Where both go.
        history: The rounds so far; the new ones are added.
        record: What `training.json` holds beside the history.
        keep: How many of the newest checkpoints to keep; the best one stays besides.
    """

    def __init__(
        self, run: RunDirectory, history: History, record: dict[str, Any], keep: int
    ) -> None:
        super().__init__()
        self.run = run
        self.history = history
        self.record = record
        self.keep = max(keep, _FEWEST_CHECKPOINTS)

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Writes the record and a checkpoint named for the updates made."""
        step = int(self.model.optimizer.iterations)
        self.history.append(step, {name: float(value) for name, value in (logs or {}).items()})
        if not self.run.is_chief:
            return
        self.run.save_training(self.record, self.history, finished=False)
        save_checkpoint(self.model, checkpoint_path(self.run.checkpoints, step))
        best = self.history.best_step
        prune_checkpoints(self.run.checkpoints, self.keep, also=() if best is None else (best,))


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


class StopWithoutGain(keras.callbacks.Callback):
    """Ends training when the validation loss has not fallen for some rounds.

    Args:
        history: The rounds so far.
        patience: How many rounds may pass after the best; infinite for any number.
    """

    def __init__(self, history: History, patience: float) -> None:
        super().__init__()
        self.history = history
        self.patience = patience

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Asks `fit` to stop once the patience is over."""
        if self.history.rounds_since_best >= self.patience:
            print(
                f"no lower validation loss for {self.patience} rounds: training ends; the best "
                f"was after {self.history.best_step} updates"
            )
            self.model.stop_training = True


class LearningRateLog(keras.callbacks.Callback):
    """Adds the learning rate to the logs, where the progress bar and TensorBoard find it."""

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Writes `learning_rate` into the logs."""
        if logs is not None:
            logs["learning_rate"] = float(self.model.optimizer.learning_rate)
