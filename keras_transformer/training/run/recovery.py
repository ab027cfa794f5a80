"""Chooses intact checkpoints in a directory and loads or averages them; renames damaged ones, with
a warning.
"""

import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

import keras
import numpy as np

from keras_transformer.models.lora.adaptation import merge_low_rank
from keras_transformer.runs.checkpoints import (
    DamagedCheckpointError,
    average_checkpoints,
    check_whole,
    checkpoint_step,
    list_checkpoints,
    list_to_resume,
    load_checkpoint,
)
from keras_transformer.runs.history import History
from keras_transformer.training.loop.training_model import TrainingModel

Model = TypeVar("Model", bound=keras.Model)


def restore_newest(model: keras.Model, directory: Path) -> int:
    """Loads the newest intact checkpoint.

    Args:
        model: Compiled and built as the one that was saved.
        directory: Directory of the checkpoints.

    Returns:
        The number of updates it has seen; 0 if there is no checkpoint.

    Raises:
        DamagedCheckpointError: There are checkpoints, but none is intact.
    """
    damaged: list[tuple[Path, DamagedCheckpointError]] = []
    for path in reversed(list_to_resume(directory)):
        try:
            load_checkpoint(model, path)
        except DamagedCheckpointError as error:
            damaged.append((path, error))
        else:
            _set_aside(damaged, f"training goes on from {path.name}")
            return checkpoint_step(path)
    if damaged:
        raise _none_left(directory, damaged)
    return 0


def average_merged(model: TrainingModel, paths: Sequence[Path]) -> None:
    """Sets the weights of an adapted model to the mean of its merged weights over checkpoints.

    The mean of W + AB is what averaging means without adaptation. The mean of A times the mean of B
    is another matrix, which no checkpoint is near if A and B have turned between them: AB is the
    same as (AR)(R⁻¹B). The mean of products may have a higher rank, but merged it needs no factors.

    Args:
        model: The model, which `load_checkpoint` accepts the files for.
        paths: At least one intact checkpoint.
    """
    sums: dict[str, np.ndarray] = {}
    for path in paths:
        load_checkpoint(model, path)
        merge_low_rank(model.transformer)
        for weight in model.transformer.weights:
            sums[weight.path] = sums.get(weight.path, 0.0) + np.asarray(weight, np.float64)
    for weight in model.transformer.weights:
        weight.assign((sums[weight.path] / len(paths)).astype(np.float32))


def average_newest(
    model: Model,
    directory: Path,
    count: int,
    average: Callable[[Model, Sequence[Path]], None] = average_checkpoints,
) -> list[Path]:
    """Sets the model's weights to the mean of the newest `count` intact checkpoints.

    Args:
        model: Compiled and built as the one that was saved.
        directory: Directory of the checkpoints.
        count: How many to average.
        average: `average_checkpoints`, or `average_merged` for an adapted model.

    Returns:
        The averaged checkpoints, oldest first; fewer than `count` if there are no more.

    Raises:
        DamagedCheckpointError: None of the checkpoints is intact.
        ValueError: There is no checkpoint.
    """
    whole: list[Path] = []
    damaged: list[tuple[Path, DamagedCheckpointError]] = []
    for path in reversed(list_checkpoints(directory)):
        if len(whole) == count:
            break
        try:
            check_whole(path)
        except DamagedCheckpointError as error:
            damaged.append((path, error))
        else:
            whole.insert(0, path)
    if damaged and not whole:
        raise _none_left(directory, damaged)
    _set_aside(damaged, "it is left out of the mean")
    average(model, whole)
    return whole


def restore_best(model: keras.Model, directory: Path, history: History) -> Path:
    """Loads the best intact checkpoint by the history's criterion.

    Args:
        model: Compiled and built as the one that was saved.
        directory: Directory of the checkpoints.
        history: The rounds that ended with them.

    Returns:
        The checkpoint that was loaded.

    Raises:
        DamagedCheckpointError: None of those with a score is intact.
    """
    damaged: list[tuple[Path, DamagedCheckpointError]] = []
    paths = {checkpoint_step(path): path for path in list_checkpoints(directory)}
    for path in map(paths.__getitem__, history.best_first(paths)):
        try:
            load_checkpoint(model, path)
        except DamagedCheckpointError as error:
            damaged.append((path, error))
        else:
            _set_aside(damaged, f"the next best, {path.name}, is used")
            return path
    raise _none_left(directory, damaged)


def _set_aside(damaged: list[tuple[Path, DamagedCheckpointError]], instead: str) -> None:
    """Renames damaged files, so that they do not count among the newest that are kept."""
    for path, error in damaged:
        renamed = path.rename(path.with_name(path.name + ".damaged"))
        message = f"{error}; it is now {renamed.name}, and {instead}."
        warnings.warn(message, RuntimeWarning, stacklevel=3)


def _none_left(
    directory: Path, damaged: list[tuple[Path, DamagedCheckpointError]]
) -> DamagedCheckpointError:
    causes = "; ".join(str(error) for _, error in damaged)
    return DamagedCheckpointError(
        f"no checkpoint in {directory} can be read: {causes}. Copy one back from a backup, or "
        "train into another directory."
    )
