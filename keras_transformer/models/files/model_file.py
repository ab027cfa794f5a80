"""Saves the model of a run whole or not at all, and a model that is there already not again; loads
it without first drawing random weights.
"""

import contextlib
import json
import zipfile
from pathlib import Path

import h5py
import keras
import numpy as np

from keras_transformer.layers.initializers import values_follow
from keras_transformer.whole_files import whole_file

# What a `.keras` file holds; the metadata have the time of saving.
_CONFIG, _WEIGHTS, _METADATA = "config.json", "model.weights.h5", "metadata.json"


def save_model(model: keras.Model, path: Path) -> None:
    """Writes a `.keras` file, unless there is one with the same model.

    A finished run that is resumed again keeps its file, by whose hash other runs know what they
    began with.

    Args:
        model: The finished model.
        path: The file.

    Raises:
        OSError: The file cannot be written, for example because the disk is full.
    """
    needed_bytes = sum(np.asarray(weight).nbytes for weight in model.weights)
    with whole_file(path, needed_bytes) as partial:
        model.save(partial)
        if _same_model(partial, path):
            partial.write_bytes(path.read_bytes())


def load_model_file(path: Path, *, compile: bool = True) -> keras.Model:  # noqa: A002 - Keras's name
    """Reads a `.keras` file; see `keras.saving.load_model`.

    Raises:
        ValueError: It is missing, or damaged.
    """
    try:
        with values_follow():
            return keras.saving.load_model(path, compile=compile)
    except Exception as error:
        # Damage shows in many ways; what a whole file is refused for keeps its own words.
        if not path.is_file():
            raise
        if _is_whole(path):
            raise ValueError(f"{path} cannot be loaded: {error}") from error
        raise ValueError(
            f"{path} is damaged or cut short: copy it again from where it is whole, or resume the "
            "training, which writes it again."
        ) from error


def _is_whole(path: Path) -> bool:
    """Returns whether the file has the bytes that were written: zip archives have checksums."""
    try:
        with zipfile.ZipFile(path) as file:
            json.loads(file.read(_CONFIG))
            with file.open(_WEIGHTS) as weights, h5py.File(weights, "r"):
                return file.testzip() is None
    except Exception:
        return False


def _same_model(one: Path, other: Path) -> bool:
    if not other.exists():
        return False
    with contextlib.suppress(zipfile.BadZipFile):
        return _content(one) == _content(other)
    return False


def _content(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as file:
        return {name: file.read(name) for name in file.namelist() if name != _METADATA}
