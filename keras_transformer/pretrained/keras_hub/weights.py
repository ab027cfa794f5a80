"""Keras's files of weights, `.weights.h5`, whole or as shards that a `.weights.json` lists: arrays
by their paths.
"""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import h5py
import ml_dtypes
import numpy as np

from keras_transformer.pretrained.errors import ImportRefusedError
from keras_transformer.pretrained.pointers import refuse_pointer
from keras_transformer.pretrained.tensor_files import Array
from keras_transformer.pretrained.values import FileValues, read_json

# What HDF5's library raises for damaged files.
_DAMAGE = (OSError, KeyError, ValueError, TypeError, RuntimeError)


def open_weights(path: Path) -> dict[str, Callable[[], Array]]:
    """Opens a file: for each array's path what reads it.

    Raises:
        ImportRefusedError: The file is missing or damaged, or is a list of shards of which one is.
    """
    if path.is_file():
        return _open_file(path)
    index = path.with_suffix(".json")
    if not index.is_file():
        raise ImportRefusedError(
            f"{path} is missing, and so is a list of its shards, {index.name}."
        )
    places = FileValues(index, read_json(index)).mapping("weight_map").values.values()
    names = {one for place in places for one in ([place] if isinstance(place, str) else place)}
    found: dict[str, Callable[[], Array]] = {}
    for name in sorted(names):
        found |= _open_file(path.parent / Path(name).name)
    return found


def _open_file(path: Path) -> dict[str, Callable[[], Array]]:
    refuse_pointer(path)
    names: list[str] = []

    def visit(name: str, item: Any) -> None:
        if isinstance(item, h5py.Dataset):
            names.append(name)

    try:
        with h5py.File(path) as file:
            file.visititems(visit)
    except _DAMAGE as error:
        raise ImportRefusedError(f"{path} is no whole file of weights: {error}") from error
    return {name: partial(_read, path, name) for name in names}


def _read(path: Path, name: str) -> Array:
    try:
        with h5py.File(path) as file:
            item = file[name]
            if not item.shape:
                raise ValueError("it is one number, and no weight is")
            # No file is so short, and none of Keras's holds its numbers elsewhere.
            if item.external or item.nbytes > path.stat().st_size:
                raise ValueError("its numbers are not in the file")
            array, kind = np.asarray(item), item.attrs.get("dtype")
    except _DAMAGE as error:
        raise ImportRefusedError(f"{path}: {name} cannot be read: {error}") from error
    if kind == "bfloat16" and array.dtype.itemsize == 2:
        return array.view(ml_dtypes.bfloat16)
    if array.dtype.kind != "f":
        raise ImportRefusedError(
            f"{path}: {name} has the type {array.dtype}: weights that keras-hub quantized are not "
            "supported; save the preset in float32 or bfloat16."
        )
    return array


def write_weights(path: Path, arrays: Mapping[str, Array]) -> None:
    """Writes arrays by their paths."""
    with h5py.File(path, "w") as file:
        for name, array in arrays.items():
            file[name] = array
