"""Low-rank adapters that the graphs of an artefact take as inputs, side by side."""

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, cast
from zipfile import BadZipFile

import numpy as np
import numpy.typing as npt

from keras_transformer.artefact.entries import GraphTensor
from keras_transformer.artefact.graph_names import (
    ADAPTER_IDS,
    ADAPTER_OWNERS,
    adapted_path,
    adapter_factors,
)
from keras_transformer.whole_files import numpy_archive

# What a file of `save_lora_weights` holds of each adapted layer, and of all.
_FACTORS = ("lora_kernel_a", "lora_kernel_b")
_SETTINGS = "settings"
# Belongs to no column of the factors.
_NONE = -1

Arrays = dict[str, npt.NDArray]
# Inputs and outputs of a linear layer.
Sizes = tuple[int, int]


class _Read(NamedTuple):
    """An adapter: its rank, and its factors by the names of inputs."""

    rank: int
    factors: Arrays


class Adapters:
    """The adapters of an artefact.

    Args:
        inputs: The inputs of one of its graphs that take adapters.
        files: For each name the file that `save_lora_weights` wrote.
        base: What files call the model's weights; None if it is not known.

    Attributes:
        arrays: What the graphs take, whatever the texts: the factors of all adapters, and which of
            them each column belongs to. Empty if the graphs take none.
        names: The adapters' names.

    Raises:
        FileNotFoundError: A file is missing.
        ValueError: The graphs take no adapters, or a file does not fit.
    """

    def __init__(
        self,
        inputs: Sequence[GraphTensor],
        files: Mapping[str, str | os.PathLike[str]],
        base: str | None = None,
    ) -> None:
        shapes = {spec.name: spec.shape for spec in inputs}
        sizes = {
            path: cast(Sizes, (shapes[name][0], shapes[adapter_factors(path)[1]][1]))
            for name in shapes
            if (path := adapted_path(name)) is not None
        }
        if files and not sizes:
            raise ValueError(
                f"adapters={list(files)} need graphs that take them: export the model with "
                "adapters=True (--adapters)."
            )
        self.names = tuple(files)
        read = [_read(Path(one), sizes, base) for one in files.values()]
        self.arrays: Arrays = _joined(sizes, read)

    def ids(self, names: Sequence[str | None]) -> Arrays:
        """Returns what the graphs take of texts: the place of each one's adapter.

        Raises:
            ValueError: A name is not known.
        """
        if not self.arrays:
            return {}
        places = [_NONE if name is None else self.place(name) for name in names]
        return {ADAPTER_IDS: np.array(places, np.int32)}

    def place(self, name: str) -> int:
        """Returns the place of an adapter.

        Raises:
            ValueError: Its name is not known.
        """
        if name not in self.names:
            known = ", ".join(self.names) or "none"
            raise ValueError(f"there is no adapter {name!r}: the model has {known}.")
        return self.names.index(name)


def _joined(sizes: Mapping[str, Sizes], read: Sequence[_Read]) -> Arrays:
    """Returns the factors of adapters of some ranks side by side."""
    if not sizes:
        return {}
    # Without any, one that no text has.
    adapters = read or [_Read(1, {})]
    owners = np.repeat(np.arange(len(adapters)), [one.rank for one in adapters])
    arrays: Arrays = {ADAPTER_OWNERS: owners.astype(np.int32)}
    for path, (size, units) in sizes.items():
        down, up = adapter_factors(path)
        for name, axis in ((down, 1), (up, 0)):
            # What an adapter leaves as it is.
            shapes = [(size, one.rank) if axis else (one.rank, units) for one in adapters]
            own = [
                one.factors.get(name, np.zeros(shape))
                for one, shape in zip(adapters, shapes, strict=True)
            ]
            arrays[name] = np.concatenate(own, axis=axis).astype(np.float32)
    return arrays


def _read(path: Path, sizes: Mapping[str, Sizes], base: str | None) -> _Read:
    """Reads an adapter."""
    if not path.is_file():
        raise FileNotFoundError(
            f"no such file: {path}: give the adapter.lora.npz of a run with --lora-rank, or what "
            "save_lora_weights wrote."
        )
    try:
        with numpy_archive(path) as file:
            values = {name: file[name] for name in file.files}
        settings = json.loads(str(values.pop(_SETTINGS)))
        rank = int(settings["rank"])
        if rank < 1 or not values:
            raise ValueError(f"it has {len(values)} factors of rank {rank}")
        scale, own_base = settings["alpha"] / rank, settings.get("base")
    except (OSError, EOFError, LookupError, TypeError, ValueError, BadZipFile) as error:
        raise ValueError(f"{path} is no LoRA file, or damaged: {error}") from error
    found: Arrays = {}
    for name, value in values.items():
        layer, _, kind = name.rpartition("/")
        if kind not in _FACTORS or layer not in sizes:
            raise ValueError(
                f"{path} does not fit the model: it has {name}, and graphs take the factors of "
                "linear layers of blocks alone. Load it into the model that it was trained on."
            )
        is_up = kind == _FACTORS[1]
        size, units = sizes[layer]
        if value.dtype.kind != "f" or value.shape != ((rank, units) if is_up else (size, rank)):
            raise ValueError(
                f"{path} does not fit the model: {name} has the shape {value.shape}, {value.dtype}."
            )
        found[adapter_factors(layer)[is_up]] = value * scale if is_up else value
    if None not in (base, own_base) and base != own_base:
        raise ValueError(
            f"{path} does not fit the model: it was trained beside other weights of these shapes. "
            "Export the run that it started from, or name an adapter of this model."
        )
    return _Read(rank, found)
