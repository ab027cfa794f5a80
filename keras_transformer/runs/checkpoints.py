"""Checkpoints of a run: writes all variables of model and optimizer to one file per step, whole or
not at all; loads them exactly and averages them. `recovery.py` chooses among them.
"""

import hashlib
import itertools
import math
import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from keras_transformer.whole_files import remove_partials, whole_file

if TYPE_CHECKING:  # a run's files are checked before TensorFlow is loaded, and without it
    import keras

_NAME = re.compile(r"(?P<kind>step|interrupted)_(?P<step>\d{8})\.npz")
# The arrays are followed by the SHA-256 of all bytes before it. The checksums inside npz files are
# not enough: a changed bit in their directory can hide whole arrays.
_DIGEST_BYTES = 32
_BLOCK = 1 << 20
_FLOAT_BYTES = 4


class DamagedCheckpointError(ValueError):
    """A checkpoint's file is not as it was written: it is cut short, changed or unreadable."""


def checkpoint_path(directory: Path, step: int) -> Path:
    """Returns the file that holds the state after `step` updates."""
    return directory / f"step_{step:08d}.npz"


def interrupted_path(directory: Path, step: int) -> Path:
    """Returns the file that holds the state after `step` updates, at which a round was broken off.

    It serves to resume the run and is in no average: it goes with the end of the next round.
    """
    return directory / f"interrupted_{step:08d}.npz"


def list_checkpoints(directory: Path) -> list[Path]:
    """Returns the checkpoints at the ends of a run's rounds, oldest first."""
    return [path for path in list_to_resume(directory) if not _is_interrupted(path)]


def list_to_resume(directory: Path) -> list[Path]:
    """Returns all checkpoints that a run can be resumed from, oldest first."""
    if not directory.is_dir():
        return []
    found = [path for path in directory.iterdir() if _NAME.fullmatch(path.name)]
    return sorted(found, key=checkpoint_step)


def checkpoint_step(path: Path) -> int:
    """Returns the number of updates that a checkpoint has seen."""
    match = _NAME.fullmatch(path.name)
    if match is None:
        raise ValueError(f"{path} is not named like a checkpoint (step_00001000.npz).")
    return int(match["step"])


def _is_interrupted(path: Path) -> bool:
    match = _NAME.fullmatch(path.name)
    return match is not None and match["kind"] == "interrupted"


def checkpoint_bytes(model: "keras.Model") -> int:
    """Returns about how large a checkpoint of a model is."""
    return sum(math.prod(variable.shape) * _FLOAT_BYTES for variable in _variables(model).values())


def save_checkpoint(model: "keras.Model", path: Path) -> None:
    """Writes every variable of the model (dropout seeds too) and of its optimizer.

    The file gets its name only when it is complete and on disk.

    Raises:
        FloatingPointError: A variable is not finite; nothing is written.
        OSError: The file cannot be written, for example because the disk is full; no part of it
            is left.
    """
    arrays = {name: np.asarray(variable) for name, variable in _variables(model).items()}
    for name, array in arrays.items():
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            raise FloatingPointError(f"{name} holds NaN or Inf: {path} is not written.")
    path.parent.mkdir(parents=True, exist_ok=True)
    needed_bytes = sum(array.nbytes for array in arrays.values())
    with whole_file(path, needed_bytes) as partial, partial.open("w+b") as file:
        np.savez(file, allow_pickle=False, **arrays)
        file.write(_digest(file, file.seek(0, os.SEEK_END)))


def load_checkpoint(model: "keras.Model", path: Path) -> None:
    """Loads a checkpoint into a model that was compiled and built the same way.

    Raises:
        DamagedCheckpointError: The file is not as it was written; the model is unchanged.
        ValueError: The file's variables are not those of the model; the model is unchanged.
    """
    variables = _variables(model)
    with _open(path, variables) as saved:
        for name, variable in variables.items():
            variable.assign(saved[name])


def average_checkpoints(model: "keras.Model", paths: Sequence[Path]) -> None:
    """Sets the model's trainable weights to their mean over checkpoints (paper, section 6.1).

    Raises:
        DamagedCheckpointError: A file is not as it was written.
        ValueError: There is no checkpoint, or a file's variables are not those of the model.
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
        with _open(path, variables) as saved:
            for name in names:
                sums[name] = sums.get(name, 0.0) + saved[name].astype(np.float64)
    for name in names:
        variables[name].assign((sums[name] / len(paths)).astype(np.float32))


def prune_checkpoints(directory: Path, keep: int, also: Collection[int] = ()) -> None:
    """Deletes old checkpoints, those of broken rounds and the partial files of a killed writer.

    Args:
        directory: Directory of the checkpoints.
        keep: How many of the newest to keep.
        also: Steps of other checkpoints to keep.
    """
    kept = list_checkpoints(directory)[-keep:]
    for path in list_to_resume(directory):
        if path not in kept and (_is_interrupted(path) or checkpoint_step(path) not in also):
            path.unlink()
    remove_partials(directory)


def check_whole(path: Path) -> None:
    """Compares a checkpoint with the checksum at its end.

    Raises:
        DamagedCheckpointError: They differ, or the file cannot be read.
    """
    try:
        with path.open("rb") as file:
            length = file.seek(0, os.SEEK_END)
            found = _digest(file, length - _DIGEST_BYTES)
            expected = file.read()
    except OSError as error:
        raise DamagedCheckpointError(f"{path} cannot be read: {error.strerror}") from error
    if found != expected:
        raise DamagedCheckpointError(
            f"{path} is damaged: its {length:,} bytes are not those that were written"
        )


def _digest(file: BinaryIO, length: int) -> bytes:
    """Returns the SHA-256 of the first `length` bytes and moves the file's position after them."""
    digest = hashlib.sha256()
    file.seek(0)
    while length > 0:
        block = file.read(min(length, _BLOCK))
        digest.update(block)
        length -= len(block)
    return digest.digest()


@contextmanager
def _open(path: Path, variables: dict[str, Any]) -> Iterator[Mapping[str, np.ndarray]]:
    """Opens a checkpoint, after checking that its arrays match the variables."""
    check_whole(path)
    with np.load(path, allow_pickle=False) as file:
        saved = _named_as_now(file, variables)
        _check_fit(path, saved, variables)
        yield saved


class _Renamed(Mapping[str, np.ndarray]):
    """The arrays of a file under other names, read on access."""

    def __init__(self, file: Mapping[str, np.ndarray], names: dict[str, str]) -> None:
        self._file, self._names = file, names

    def __getitem__(self, name: str) -> np.ndarray:
        return self._file[self._names[name]]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def _named_as_now(
    file: Mapping[str, np.ndarray], variables: dict[str, Any]
) -> Mapping[str, np.ndarray]:
    """Renames the arrays of version 0.1, which had the dropout seeds of both embeddings after all
    of their weights; the order of the weights and the order of the seeds have not changed.
    """
    if set(file) == set(variables):
        return file
    kinds = [_weights_and_seeds(names) for names in (variables, sorted(file))]
    if any(len(now) != len(before) for now, before in zip(*kinds, strict=True)):
        return file
    pairs = (zip(now, before, strict=True) for now, before in zip(*kinds, strict=True))
    return _Renamed(file, dict(itertools.chain.from_iterable(pairs)))


def _weights_and_seeds(names: Iterable[str]) -> tuple[list[str], list[str]]:
    ordered = list(names)
    seeds = [name for name in ordered if name.endswith("/seed_generator_state")]
    return [name for name in ordered if name not in set(seeds)], seeds


def _check_fit(path: Path, saved: Mapping[str, np.ndarray], variables: dict[str, Any]) -> None:
    missing = sorted(set(variables) ^ set(saved))
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


def _variables(model: "keras.Model") -> dict[str, Any]:
    # Paths depend on what else the process has built ("dense_3"); the order never changes.
    groups = {"model": model.variables, "optimizer": model.optimizer.variables}
    metrics = {id(variable) for variable in model.metrics_variables}
    return {
        f"{group}/{index:04d}/{variable.name}": variable
        for group, variables in groups.items()
        for index, variable in enumerate(v for v in variables if id(v) not in metrics)
    }
