"""Checkpoints of a run: all variables of model and optimizer in one file a step, written whole or
not at all, read back exactly, and averaged.
"""

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import keras
import numpy as np

_NAME = re.compile(r"step_(\d{8})\.npz")


def checkpoint_path(directory: Path, step: int) -> Path:
    """Returns the file that holds the state after `step` updates."""
    return directory / f"step_{step:08d}.npz"


def list_checkpoints(directory: Path) -> list[Path]:
    """Returns a run's checkpoints, oldest first."""
    if not directory.is_dir():
        return []
    return sorted(path for path in directory.iterdir() if _NAME.fullmatch(path.name))


def checkpoint_step(path: Path) -> int:
    """Returns the number of updates behind a checkpoint."""
    match = _NAME.fullmatch(path.name)
    if match is None:
        raise ValueError(f"{path} is not named like a checkpoint (step_00001000.npz).")
    return int(match.group(1))


def save_checkpoint(model: keras.Model, path: Path) -> None:
    """Writes every variable of the model (dropout seeds too) and of its optimizer.

    The file gets its name only when it is complete and on disk.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(".partial")
    with partial.open("wb") as file:
        np.savez(file, allow_pickle=False, **_arrays(model))
        file.flush()
        os.fsync(file.fileno())
    os.replace(partial, path)


def load_checkpoint(model: keras.Model, path: Path) -> None:
    """Puts a checkpoint's values into a model that was compiled and built the same way.

    Raises:
        ValueError: The file holds other variables than the model has.
    """
    variables = _variables(model)
    with np.load(path, allow_pickle=False) as saved:
        _check_fit(path, saved, variables)
        for name, variable in variables.items():
            variable.assign(saved[name])


def average_checkpoints(model: keras.Model, paths: Sequence[Path]) -> None:
    """Sets the model's trainable weights to their mean over checkpoints (paper, section 6.1).

    Raises:
        ValueError: There is no checkpoint, or one holds other variables than the model has.
    """
    if not paths:
        raise ValueError("paths must hold at least one checkpoint, got none.")
    variables = _variables(model)
    names = [
        name
        for name, variable in variables.items()
        if variable.trainable and name.startswith("model/")
    ]
    sums: dict[str, np.ndarray] = {}
    for path in paths:
        with np.load(path, allow_pickle=False) as saved:
            _check_fit(path, saved, variables)
            for name in names:
                sums[name] = sums.get(name, 0.0) + saved[name].astype(np.float64)
    for name in names:
        variables[name].assign((sums[name] / len(paths)).astype(np.float32))


def prune_checkpoints(directory: Path, keep: int) -> None:
    """Deletes all but the newest `keep` checkpoints and what a killed writer left."""
    for path in list_checkpoints(directory)[:-keep]:
        path.unlink()
    for path in directory.glob("*.partial"):
        path.unlink()


def _check_fit(path: Path, saved: Any, variables: dict[str, Any]) -> None:
    missing = sorted(set(variables) ^ set(saved.files))
    if missing:
        raise ValueError(
            f"{path} does not fit the model: {len(missing)} variables are on one side only, "
            f"such as {missing[0]!r}. Resume with the settings the run was started with."
        )
    for name, variable in variables.items():
        if tuple(variable.shape) != saved[name].shape:
            raise ValueError(
                f"{path} holds {name!r} of shape {saved[name].shape}, but the model's is "
                f"{tuple(variable.shape)}."
            )


def _variables(model: keras.Model) -> dict[str, Any]:
    # Paths alone can repeat between runs of a process ("dense_3"); the order never changes.
    groups = {"model": model.variables, "optimizer": model.optimizer.variables}
    metrics = {id(variable) for variable in model.metrics_variables}
    return {
        f"{group}/{index:04d}/{variable.name}": variable
        for group, variables in groups.items()
        for index, variable in enumerate(v for v in variables if id(v) not in metrics)
    }


def _arrays(model: keras.Model) -> dict[str, np.ndarray]:
    return {name: np.asarray(variable) for name, variable in _variables(model).items()}
