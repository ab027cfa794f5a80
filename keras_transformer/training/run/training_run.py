"""A training run as one object: its task, directory, options, model and history. Its methods are
the stages of `train`: open, fit, finish.
"""

import contextlib
import dataclasses
import errno
import io
import math
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Literal

import keras
import tensorflow as tf

from keras_transformer.distribution import imported_versions
from keras_transformer.models.families import AnyModel
from keras_transformer.models.files.model_file import load_model_file, save_model
from keras_transformer.runs.checkpoints import (
    checkpoint_bytes,
    checkpoint_path,
    interrupted_path,
    load_checkpoint,
    prune_checkpoints,
    save_checkpoint,
)
from keras_transformer.runs.history import CRITERIA, LOSS, History
from keras_transformer.runs.run_directory import RunDirectory
from keras_transformer.training.loop.callbacks import (
    EndRounds,
    LearningRateLog,
    RoundEnd,
    RoundProgress,
    StopWithoutGain,
)
from keras_transformer.training.loop.compiling import compile_training
from keras_transformer.training.loop.first_updates import FirstUpdates
from keras_transformer.training.loop.guards import FiniteGuard
from keras_transformer.training.loop.interrupts import Interrupts
from keras_transformer.training.loop.memory import keep_freed_memory
from keras_transformer.training.loop.progress import progress
from keras_transformer.training.loop.replica_fit import fit_replicas
from keras_transformer.training.loop.strategy import Replicas, open_replicas
from keras_transformer.training.loop.training_model import TrainingModel
from keras_transformer.training.plan.lines import nothing_to_do, plan_lines
from keras_transformer.training.plan.pace import Pace, make_plan
from keras_transformer.training.recipes import Recipe
from keras_transformer.training.run.feed import Feed
from keras_transformer.training.run.final_model import plain_model, set_final_weights
from keras_transformer.training.run.loss_record import LossRecord
from keras_transformer.training.run.options import TrainOptions, TrainPlan
from keras_transformer.training.run.recovery import restore_newest
from keras_transformer.training.run.resuming import history_to_resume
from keras_transformer.training.tasks.task import Task
from keras_transformer.training.tasks.training_data import TrainingData
from keras_transformer.whole_files import no_room_error

Verbose = Literal["auto", 0, 1, 2]

# What a round adds to TensorBoard's files, for the message if the disk is full.
_LOG_BYTES = 10_000
# If the newest checkpoint turns out damaged, the one before it is needed.
_FEWEST_CHECKPOINTS = 2


@dataclasses.dataclass
class TrainingRun:
    """An open run, ready for `fit` and then for `finish`.

    Attributes:
        task: What is specific to the kind of model to train.
        directory: Holds all files of the run.
        options: How to train, with nothing left open.
        pace: Number of updates in an epoch, in a round and in the run.
        data: The data to train and validate on.
        model: The model that `fit` trains, compiled, with its optimizer built.
        record: What `training.json` holds beside the history.
        history: Metrics of the rounds so far.
    """

    task: Task
    directory: RunDirectory
    options: TrainPlan
    pace: Pace
    data: TrainingData
    model: TrainingModel
    record: dict[str, Any]
    history: History

    @classmethod
    def open(
        cls,
        task: Task,
        directory: RunDirectory,
        options: TrainOptions,
        recipe: Recipe,
        *,
        resume: bool,
    ) -> "TrainingRun":
        """Reads the data and builds the model.

        Args:
            task: What to train; its `check` has passed.
            directory: Holds all files of the run; created if missing.
            options: What is asked for.
            recipe: What suits the model where nothing is.
            resume: Whether to resume the run in the directory, if there is one.

        Raises:
            ValueError: The run to resume was started with other settings or on other data.
        """
        replicas = open_replicas(options.strategy)
        directory.path.mkdir(parents=True, exist_ok=True)
        if options.deterministic:
            tf.config.experimental.enable_op_determinism()
        keras.utils.set_random_seed(options.seed)
        with replicas.chief_first():
            data = task.read(directory)
        config = task.config(data)
        plan = make_plan(options, recipe, data, replicas.workers)
        record = {
            "config": config.to_dict(),
            "options": plan.to_dict(),
            "data": data.record,
            "start": task.start(),
            "training_text": data.training_text and dataclasses.asdict(data.training_text),
            "versions": _versions(),
        }
        figures = history_to_resume(directory, record).figures if resume else None
        pace = Pace.of(data.train, plan, replicas.workers)
        directory.save_config(config)
        with replicas.scope():
            to_train = task.to_train(task.build(config, data), data, plan)
            model = compile_training(to_train, plan, pace.total, task.fresh())
        record.update(task.built())
        keep_freed_memory()
        history = History(figures, plan.criterion)
        return cls(task, directory, plan, pace, data, model, record, history)

    @property
    def replicas(self) -> Replicas:
        """The replicas, which are the same throughout a process."""
        return open_replicas(self.options.strategy)

    @property
    def transformer(self) -> AnyModel:
        """The model whose weights are trained."""
        return self.model.transformer

    def fit(self, callbacks: list[keras.callbacks.Callback], verbose: int = 2) -> None:
        """Trains from the newest checkpoint to the last update, or until the patience is used up.

        Args:
            callbacks: Additional Keras callbacks.
            verbose: As of Keras's `fit`.

        Raises:
            DamagedCheckpointError: There are checkpoints, but none is intact.
            FloatingPointError: A loss or the weights became NaN or Inf.
            OSError: A file cannot be written, for example because the disk is full, or a shard of
                the data has gone.
            ValueError: A shard of the data was damaged or replaced.
            ConnectionError: Another worker is gone.
            KeyboardInterrupt: Ctrl-C, even if library code swallowed it.
            Terminated: SIGTERM.
        """
        done = self.restore()
        self.history = self.history.until(done)
        patience = self.options.patience or math.inf
        if done >= self.pace.total or self.history.rounds_since_best >= patience:
            print(nothing_to_do(self.options, self.pace, self.history, done))
            return
        self.directory.save_training(self.record, self.history, finished=False)
        self._tell_plan()
        feed = Feed(self.data, self.options, self.replicas)
        losses = LossRecord(self.directory.losses)
        with (
            Interrupts() as interrupts,
            self._keeping_what_is_learnt(interrupts),
            self.replicas.clear_worker_errors(),
            _clear_log_errors(self.directory.logs),
            feed.clear_file_errors(),
            contextlib.closing(losses),
        ):
            self._fit(
                feed,
                done,
                [
                    FiniteGuard(
                        feed.lines,
                        self.directory.bad_batch,
                        lambda: self.directory.has_checkpoints,
                    ),
                    losses,
                    EndRounds(self.pace),
                    LearningRateLog(),
                    *progress(
                        self.task.validation(self.transformer, self.data, self.options),
                        self.directory.logs,
                    ),
                    # After what may swallow an interrupt, before what records the round.
                    interrupts,
                    RoundEnd(self.end_round),
                    StopWithoutGain(self.history, patience),
                    FirstUpdates(self.pace.total),
                    *callbacks,
                    # Last, so that it shows what the others add to the logs.
                    RoundProgress(self.pace),
                ],
                verbose,
            )

    def try_updates(self) -> None:
        """Prints the plan, makes a few updates and prints their time and memory."""
        self._tell_plan()
        feed = Feed(self.data, self.options, self.replicas)
        with Interrupts() as interrupts:
            first = FirstUpdates(self.pace.total, is_all=True)
            self.model.fit(
                feed.training(0),
                steps_per_epoch=self.pace.total,
                callbacks=[interrupts, first],
                shuffle=False,
                verbose=0,
            )

    def restore(self) -> int:
        """Loads the checkpoint that the chief chose; returns the number of updates it has seen."""
        checkpoints, is_chief = self.directory.checkpoints, self.directory.is_chief
        found = restore_newest(self.model, checkpoints) if is_chief else 0
        done = self.replicas.from_chief(found)
        if done and not is_chief:
            load_checkpoint(self.model, checkpoint_path(checkpoints, done))
        return done

    def end_round(self, step: int, figures: Mapping[str, float]) -> None:
        """Writes a round's metrics, then a checkpoint.

        A kill between the two leaves an extra round in the record, which resuming drops.

        Args:
            step: Number of updates made.
            figures: Metrics of the round.
        """
        self.history.append(step, figures)
        if not self.directory.is_chief:
            return
        self.directory.save_training(self.record, self.history, finished=False)
        checkpoints = self.directory.checkpoints
        save_checkpoint(self.model, checkpoint_path(checkpoints, step))
        best = self.history.best_step
        keep = max(self.options.average_checkpoints, _FEWEST_CHECKPOINTS)
        prune_checkpoints(checkpoints, keep, also=() if best is None else (best,))

    def finish(self) -> keras.callbacks.History:
        """Takes the final weights from the checkpoints, saves the model, calibrates its scores.

        Returns:
            The figures of all rounds, with the finished model.
        """
        with self.replicas.chief_first():
            if self.directory.is_chief:
                chosen = set_final_weights(
                    self.model,
                    self.directory.checkpoints,
                    self.history,
                    self.options,
                    self._score,
                )
                model = self.transformer
                if self.options.lora_rank:
                    model = plain_model(self.model, self.directory, chosen["of_steps"])
                save_model(model, self.directory.model)
                min_score = self.task.calibrate(model, self.data, self.options)
                record = {**self.record, "min_score": min_score, "final_model": chosen}
                self.directory.save_training(record, self.history, finished=True)
        if self.replicas.strategy is not None:
            # A model trained in a strategy has its weights once per replica.
            model = load_model_file(self.directory.model)
        found = keras.callbacks.History()
        found.set_model(model)
        found.history, found.epoch = self.history.figures, list(range(self.history.rounds))
        return found

    def _fit(
        self, feed: Feed, done: int, callbacks: list[keras.callbacks.Callback], verbose: int
    ) -> None:
        if self.replicas.strategy is None:
            fit = partial(self.model.fit, shuffle=False)
        else:
            fit = partial(fit_replicas, self.model)
        fit(
            feed.training(done),
            steps_per_epoch=self.pace.round,
            initial_epoch=done // self.pace.round,
            epochs=math.ceil(self.pace.total / self.pace.round),
            **feed.validation(),
            callbacks=callbacks,
            verbose=verbose,
        )

    def _tell_plan(self) -> None:
        size = checkpoint_bytes(self.model)
        for line in plan_lines(self.data, self.options, self.pace, self.transformer, size):
            print(line, flush=True)

    @contextlib.contextmanager
    def _keeping_what_is_learnt(self, interrupts: Interrupts) -> Iterator[None]:
        """Writes a checkpoint where a round is broken off between two updates."""
        try:
            yield
        except KeyboardInterrupt:
            step = int(self.model.optimizer.iterations)
            # At its end a round is not over before it was validated.
            if interrupts.is_between_updates and step % self.pace.round and self.directory.is_chief:
                path = interrupted_path(self.directory.checkpoints, step)
                if not path.exists():
                    save_checkpoint(self.model, path)
            raise

    def _score(self) -> float:
        """Returns the figure by which rounds are compared, of the model as it is."""
        if self.options.criterion is not CRITERIA[LOSS]:
            figures: dict[str, Any] = {}
            translations = self.task.validation(self.transformer, self.data, self.options)
            if translations is not None:
                translations.on_epoch_end(0, figures)
            return float(figures[self.options.criterion.figure])
        given = Feed(self.data, self.options, self.replicas).validation()
        batches, count = given["validation_data"], given["validation_steps"]
        figures = self.model.evaluate(batches, steps=count, verbose=0, return_dict=True)
        return float(figures["loss"])


def run_training(
    task: Task,
    directory: RunDirectory,
    options: TrainOptions,
    recipe: Recipe,
    callbacks: list[keras.callbacks.Callback] | None = None,
    *,
    resume: bool = False,
    dry_run: bool = False,
    verbose: Verbose = "auto",
) -> keras.callbacks.History:
    """Trains from start to end; `train` describes the arguments and what is returned."""
    quiet = contextlib.redirect_stdout(io.StringIO()) if verbose == 0 else contextlib.nullcontext()
    with quiet:
        if dry_run:
            return _dry_run(task, options, recipe, tells=verbose != 0)
        run = TrainingRun.open(task, directory, options, recipe, resume=resume)
        run.fit(callbacks or [], _shown(verbose))
        return run.finish()


def _dry_run(
    task: Task, options: TrainOptions, recipe: Recipe, *, tells: bool
) -> keras.callbacks.History:
    """Plans a run; returns what it would record as a history's `params`."""
    with tempfile.TemporaryDirectory() as scratch:
        run = TrainingRun.open(task, RunDirectory(Path(scratch)), options, recipe, resume=False)
        if tells:
            run.try_updates()
    planned = keras.callbacks.History()
    planned.set_params({name: run.record[name] for name in ("options", "config")})
    return planned


def _shown(verbose: Verbose) -> int:
    """Returns Keras's 1, a bar, for a terminal or a notebook, and 2, a line a round, elsewhere."""
    if verbose == "auto":
        return 1 if sys.stdout.isatty() or "ipykernel" in sys.modules else 2
    return verbose


@contextlib.contextmanager
def _clear_log_errors(logs: Path) -> Iterator[None]:
    """Explains what to do if the disk is full, for which TensorBoard's writer has its own error."""
    full = os.strerror(errno.ENOSPC)
    try:
        yield
    except tf.errors.ResourceExhaustedError as error:
        if full not in error.message:  # it may be the memory, too
            raise
        raise no_room_error(logs, full, _LOG_BYTES) from error


def _versions() -> dict[str, str]:
    names = ("keras", "tensorflow", "tensorflow-text", "sentencepiece", "numpy")
    return {**imported_versions(*names), "backend": keras.backend.backend()}
