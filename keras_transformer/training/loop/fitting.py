"""The updates of a run: a compiled model and its data come in; `fit` goes through them in rounds
that end at checkpoints, from the newest checkpoint on.
"""

import contextlib
import errno
import math
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import keras
import numpy as np
import numpy.typing as npt
import tensorflow as tf

from keras_transformer.data.batching.batches import (
    batch_pairs,
    batches_per_epoch,
    evaluation_batches,
    training_batches,
)
from keras_transformer.training.loop.callbacks import (
    LearningRateLog,
    RoundEnd,
    RoundProgress,
    StopAtStep,
    StopWithoutGain,
)
from keras_transformer.training.loop.guards import FiniteGuard
from keras_transformer.training.loop.interrupts import Interrupts
from keras_transformer.training.loop.progress import progress
from keras_transformer.training.loop.strategy import Replicas, open_replicas, share_rows
from keras_transformer.training.loop.training_model import TrainingModel
from keras_transformer.training.run.checkpoints import checkpoint_path, load_checkpoint
from keras_transformer.training.run.encoded_corpus import TrainingData
from keras_transformer.training.run.history import History
from keras_transformer.training.run.loss_record import LossRecord
from keras_transformer.training.run.options import TrainOptions
from keras_transformer.training.run.recovery import restore_newest
from keras_transformer.training.run.run_directory import RunDirectory
from keras_transformer.whole_files import no_room_error

MOST_STEPS_BETWEEN_CHECKPOINTS = 1000
# What a round adds to TensorBoard's files, for the message where the disk is full.
_LOG_BYTES = 10_000


def fit_rounds(
    run: RunDirectory,
    model: TrainingModel,
    data: TrainingData,
    options: TrainOptions,
    record: dict[str, Any],
    history: History,
    callbacks: list[keras.callbacks.Callback],
) -> History:
    """Trains until the last update, or until the patience is over.

    Args:
        run: Where checkpoints, logs and the record go.
        model: Compiled, its optimizer built.
        data: What to train on.
        options: How.
        record: What `training.json` holds beside the history.
        history: The rounds before.
        callbacks: More Keras callbacks.

    Returns:
        The history with all rounds.

    Raises:
        DamagedCheckpointError: There are checkpoints, but none is whole.
        FloatingPointError: A loss or the weights became NaN or Inf.
        OSError: Something cannot be written, such as on a full disk.
        ConnectionError: Another worker is gone.
        KeyboardInterrupt: Ctrl-C, also where library code dropped it.
    """
    replicas = open_replicas(options.strategy)
    done = _restore(run, model, replicas)
    history = history.until(done)
    total = planned_updates(data, options)
    round_steps = _updates_in_round(data, options)
    patience = options.patience or math.inf
    if done >= total or history.rounds_since_best >= patience:
        return history
    run.save_training(record, history, finished=False)
    losses = LossRecord(run.losses)
    with (
        Interrupts() as interrupts,
        replicas.clear_worker_errors(),
        _clear_log_errors(run.logs),
        contextlib.closing(losses),
    ):
        model.fit(
            replicas.distribute(
                lambda worker: training_batches(
                    data.train, options.batch_tokens, options.seed, done, worker
                )
            ),
            steps_per_epoch=round_steps,
            initial_epoch=done // round_steps,
            epochs=math.ceil(total / round_steps),
            **_validation(data, options, replicas),
            callbacks=[
                FiniteGuard(
                    lambda step: _batch_lines(data, options, step, replicas.workers),
                    run.bad_batch,
                ),
                losses,
                StopAtStep(total),
                LearningRateLog(),
                *progress(model.transformer, data, options, run.logs),
                # Between what may lose an interrupt and what would keep the round.
                interrupts,
                RoundEnd(run, history, record, options.average_checkpoints),
                StopWithoutGain(history, patience),
                *callbacks,
                # Last, so that it shows what the others add.
                RoundProgress(round_steps, _per_epoch(data, options), total),
            ],
            shuffle=False,
            verbose=1 if sys.stdout.isatty() else 2,
        )
    return history


@contextlib.contextmanager
def _clear_log_errors(logs: Path) -> Iterator[None]:
    """Says what to do where TensorBoard's writer, which has errors of its own, finds no room."""
    full = os.strerror(errno.ENOSPC)
    try:
        yield
    except tf.errors.ResourceExhaustedError as error:
        if full not in error.message:  # it may be the memory, too
            raise
        raise no_room_error(logs, full, _LOG_BYTES) from error


def planned_updates(data: TrainingData, options: TrainOptions) -> int:
    """Returns the number of all updates of a run that nothing ends before."""
    total = options.epochs * _per_epoch(data, options)
    return total if options.max_steps is None else min(total, options.max_steps)


def _updates_in_round(data: TrainingData, options: TrainOptions) -> int:
    between_checkpoints = min(MOST_STEPS_BETWEEN_CHECKPOINTS, _per_epoch(data, options))
    wanted = options.checkpoint_steps or between_checkpoints
    return min(wanted, planned_updates(data, options))


def _per_epoch(data: TrainingData, options: TrainOptions) -> int:
    workers = open_replicas(options.strategy).workers
    return batches_per_epoch(data.train, options.batch_tokens, workers)


def _restore(run: RunDirectory, model: TrainingModel, replicas: Replicas) -> int:
    """Loads the checkpoint that the chief finds; returns the number of updates behind it."""
    done = replicas.from_chief(restore_newest(model, run.checkpoints) if run.is_chief else 0)
    if done and not run.is_chief:
        load_checkpoint(model, checkpoint_path(run.checkpoints, done))
    return done


def _validation(data: TrainingData, options: TrainOptions, replicas: Replicas) -> dict[str, Any]:
    """Returns what `fit` takes for validation."""
    valid = data.valid
    if valid is None:
        return {}
    return {
        "validation_data": replicas.distribute(
            lambda worker: share_rows(evaluation_batches(valid, options.batch_tokens), worker)
        ),
        # Several replicas' data sets do not know their lengths.
        "validation_steps": batches_per_epoch(valid, options.batch_tokens),
    }


def _batch_lines(
    data: TrainingData, options: TrainOptions, step: int, workers: int
) -> npt.NDArray[np.int64]:
    """Returns the lines of a batch, those of all workers."""
    return np.concatenate(
        [
            batch_pairs(data.train, options.batch_tokens, options.seed, step, (worker, workers))
            for worker in range(workers)
        ]
    )
