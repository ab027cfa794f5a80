"""Callbacks of `fit`: progress, the end of a round, early stopping and the learning rate log."""

import math
from collections.abc import Callable
from typing import Any

import keras

from keras_transformer.runs.history import History
from keras_transformer.training.plan.pace import Pace


class RoundProgress(keras.callbacks.ProgbarLogger):
    """Keras's progress bar, with rounds named as such: `fit` calls them epochs.

    Args:
        pace: Number of updates in a round, in an epoch and in the run.
    """

    def __init__(self, pace: Pace) -> None:
        super().__init__()
        self._pace = pace
        self._rounds, self._epochs = (
            math.ceil(pace.total / steps) for steps in (pace.round, pace.epoch)
        )

    def set_params(self, params: dict[str, Any]) -> None:
        """Takes the arguments of `fit`, except for the number of epochs."""
        # With a single epoch, Keras does not print its number.
        super().set_params({**params, "epochs": 1})

    def on_epoch_begin(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Prints the round and the epoch in which it begins."""
        if self.verbose:
            seen = 1 + epoch * self._pace.round // self._pace.epoch
            print(f"Round {epoch + 1}/{self._rounds} (epoch {seen}/{self._epochs})", flush=True)
        # The last round, and one that was broken off, have what is left.
        end = min((epoch + 1) * self._pace.round, self._pace.total)
        self.target = end - int(self.model.optimizer.iterations)
        super().on_epoch_begin(epoch, logs)


class RoundEnd(keras.callbacks.Callback):
    """Calls a function after each round of `fit`.

    Args:
        end_round: Takes the number of updates made and the round's metrics.
    """

    def __init__(self, end_round: Callable[[int, dict[str, float]], None]) -> None:
        super().__init__()
        self.end_round = end_round

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Calls `end_round`."""
        figures = {name: float(value) for name, value in (logs or {}).items()}
        self.end_round(int(self.model.optimizer.iterations), figures)


class EndRounds(keras.callbacks.Callback):
    """Ends training after its last update, and the round that an interrupted run goes on with.

    `fit` counts a round's updates from where it begins, so that a round that was broken off would
    end late.

    Args:
        pace: Number of updates in a round and in the run.
    """

    def __init__(self, pace: Pace) -> None:
        super().__init__()
        self._pace = pace
        self._is_early = False

    def on_train_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """Asks `fit` to stop once the round's or the run's last update is made."""
        done = int(self.model.optimizer.iterations)
        is_last = done >= self._pace.total
        self._is_early = (
            not is_last and done % self._pace.round == 0 and batch + 1 < self._pace.round
        )
        if is_last or self._is_early:
            self.model.stop_training = True

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Lets `fit` go on after a round that ended early."""
        if self._is_early:
            self.model.stop_training = False


class StopWithoutGain(keras.callbacks.Callback):
    """Ends training if the history's criterion has not improved for some rounds.

    Args:
        history: The rounds so far.
        patience: How many rounds may pass after the best; infinite for no limit.
    """

    def __init__(self, history: History, patience: float) -> None:
        super().__init__()
        self.history = history
        self.patience = patience

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Asks `fit` to stop once the patience is used up."""
        if self.history.rounds_since_best >= self.patience:
            criterion = self.history.criterion
            print(
                f"no {criterion.gain} {criterion.noun} for {self.patience} rounds: training ends; "
                f"the best was after {self.history.best_step} updates"
            )
            self.model.stop_training = True


class LearningRateLog(keras.callbacks.Callback):
    """Adds the learning rate to the logs, for the progress bar and TensorBoard."""

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Writes `learning_rate` into the logs."""
        if logs is not None:
            logs["learning_rate"] = float(self.model.optimizer.learning_rate)
