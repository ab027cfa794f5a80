"""Checks every update: NaN or Inf in the loss or in the weights ends training at the batch that
caused it, before it can reach a checkpoint.
"""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import keras
import numpy.typing as npt
import tensorflow as tf

from keras_transformer.training.loss.metrics import BATCH_LOSS
from keras_transformer.whole_files import write_text

_SHOWN_LINES = 20


class FiniteGuard(keras.callbacks.Callback):
    """Checks the loss and the weights after every update.

    A gradient that is not finite shows in the weights of the same update. Checking the weights
    attributes it to its own batch instead of the next one.

    Args:
        batch_lines: Takes the number of updates before a batch and returns the positions of its
            pairs in the training text, from 0.
        bad_batch: File to write the line numbers of the batch to, from 1, one per line.
        has_checkpoints: Returns whether the run has checkpoints.

    Raises:
        FloatingPointError: The loss, the weights or the validation loss is not finite.
    """

    def __init__(
        self,
        batch_lines: Callable[[int], npt.NDArray[Any]],
        bad_batch: Path,
        has_checkpoints: Callable[[], bool],
    ) -> None:
        super().__init__()
        self.batch_lines = batch_lines
        self.bad_batch = bad_batch
        self.has_checkpoints = has_checkpoints
        self.step = 0

    def on_train_begin(self, logs: dict[str, Any] | None = None) -> None:
        """Starts counting at the number of updates made so far."""
        self.step = int(self.model.optimizer.iterations)
        self._weights_are_finite = _finite_check(self.model)

    def on_train_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """Ends training if this update's loss or the resulting weights are not finite."""
        self.step += 1
        loss = (logs or {})[BATCH_LOSS]
        if not math.isfinite(loss):
            raise self._error(f"the loss of update {self.step} is {loss}")
        if not self._weights_are_finite():
            raise self._error(
                f"update {self.step} left NaN or Inf in the weights, though its loss was {loss:.4g}"
            )

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Ends training if the validation loss is not finite."""
        loss = (logs or {}).get("val_loss", 0.0)
        if not math.isfinite(loss):
            raise FloatingPointError(
                f"the validation loss after update {self.step} is {loss}, though the training "
                f"loss was finite: look for odd validation pairs. {self._advice()}"
            )

    def _error(self, what: str) -> FloatingPointError:
        lines = sorted(int(line) + 1 for line in self.batch_lines(self.step - 1))
        write_text(self.bad_batch, "".join(f"{line}\n" for line in lines))
        shown = ", ".join(map(str, lines[:_SHOWN_LINES]))
        more = f" and {len(lines) - _SHOWN_LINES} more" if len(lines) > _SHOWN_LINES else ""
        return FloatingPointError(
            f"{what}. Its batch holds {len(lines)} training pairs, on lines {shown}{more} (all in "
            f"{self.bad_batch}). {self._advice()}"
        )

    def _advice(self) -> str:
        kept = "The checkpoints are from before and good. " if self.has_checkpoints() else ""
        return (
            f"{kept}Look at these pairs; if nothing is wrong with them, train into another "
            "directory with a lower learning rate or clip norm."
        )


def _finite_check(model: keras.Model) -> Callable[[], bool]:
    weights = [variable.value for variable in model.trainable_variables]

    # A variable's sum is NaN or Inf if one of its values is: 1 ms for 2.6 million values.
    @tf.function
    def check() -> tf.Tensor:
        return tf.math.is_finite(tf.add_n([tf.reduce_sum(weight) for weight in weights]))

    return lambda: bool(check())
