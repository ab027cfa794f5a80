"""TensorBoard logs of a run: one point per round for each metric, over the number of updates."""

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import keras
import tensorflow as tf

from keras_transformer.runs.figure_names import names_for

_FIGURES = (
    "loss",
    "token_accuracy",
    "accuracy",
    "tag_accuracy",
    "retrieval_accuracy",
    "next_sentence_accuracy",
    "perplexity",
    "learning_rate",
    "bleu",
    "chrf",
)
_VALIDATION = "val_"


class SampledValidation(keras.callbacks.Callback):
    """Judges the model after each round by its output for some samples."""

    def table(self) -> str:
        """Returns samples of the newest round in Markdown, for TensorBoard."""
        raise NotImplementedError


def progress(
    validation: SampledValidation | None, directory: Path
) -> list[keras.callbacks.Callback]:
    """Returns the callbacks that report the progress of a run.

    Args:
        validation: Judges the model beside its loss; None for the loss alone.
        directory: Directory of the TensorBoard logs.
    """
    log = TensorBoardLog(directory, validation)
    return [log] if validation is None else [validation, log]


class TensorBoardLog(keras.callbacks.Callback):
    """Writes the metrics of each round, under the same names in `train/` and `validation/`.

    `tokens_per_second` counts target tokens without padding, `texts_per_second`, `words_per_second`
    and `pairs_per_second` what other models predict; they count the time of training without what
    follows a round. A round that is trained again after a kill is written again.

    Args:
        directory: Directory of the TensorBoard logs.
        validation: Provides samples; None for no samples.
    """

    def __init__(self, directory: Path, validation: SampledValidation | None = None) -> None:
        super().__init__()
        self._directory = directory
        self._validation = validation
        self._writers: dict[str, tf.summary.SummaryWriter] = {}
        self._started = 0.0
        self._per_second: float | None = None

    def on_epoch_begin(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Starts the clock."""
        self._started = time.perf_counter()
        self._per_second = None

    def on_test_begin(self, logs: dict[str, Any] | None = None) -> None:
        """Stops the clock: validation is not timed, and it resets the token count."""
        seconds = time.perf_counter() - self._started
        self._per_second = _count_predictions(self.model) / seconds

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Writes the round's points."""
        if self._per_second is None:  # there was no validation
            self.on_test_begin()
        step = int(self.model.optimizer.iterations)
        training, validation = _by_side(logs or {})
        self._write("train", {**training, self._rate_name(): self._per_second}, step)
        if validation:
            self._write("validation", validation, step)
        if self._validation is not None:
            with self._writer("validation").as_default():
                tf.summary.text("translations", self._validation.table(), step)
        for writer in self._writers.values():
            writer.flush()

    def on_train_end(self, logs: dict[str, Any] | None = None) -> None:
        """Closes the files."""
        for writer in self._writers.values():
            writer.close()

    def _rate_name(self) -> str:
        return f"{names_for(self.model.transformer).predicted}s_per_second"

    def _write(self, side: str, figures: Mapping[str, float | None], step: int) -> None:
        with self._writer(side).as_default():
            for name, value in figures.items():
                tf.summary.scalar(name, value, step)

    def _writer(self, side: str) -> tf.summary.SummaryWriter:
        if side not in self._writers:
            self._writers[side] = tf.summary.create_file_writer(str(self._directory / side))
        return self._writers[side]


def _by_side(logs: Mapping[str, Any]) -> tuple[dict[str, float], dict[str, float]]:
    """Splits a round's metrics into those of training and, without prefix, of validation."""
    training = {name: float(logs[name]) for name in _FIGURES if name in logs}
    validation = {
        name: float(logs[_VALIDATION + name]) for name in _FIGURES if _VALIDATION + name in logs
    }
    return training, validation


def _count_predictions(model: Any) -> float:
    """Returns the predictions since the round began: the sum of the accuracy's weights."""
    return float(keras.ops.convert_to_numpy(model.accuracy.count))
