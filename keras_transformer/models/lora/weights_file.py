"""LoRA files, which hold only the weights that an adapted model trains."""

import json
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import keras
import numpy as np
import numpy.typing as npt

from keras_transformer.models.lora.adaptation import (
    FACTORS,
    adapt_low_rank,
    adapted_layers,
    base_digest,
    linear_layers,
)
from keras_transformer.whole_files import numpy_archive, whole_file

SUFFIX = ".lora.npz"

Arrays = dict[str, npt.NDArray[Any]]
Shapes = dict[str, tuple[int, ...]]

_SETTINGS = "settings"


def save_lora_file(model: keras.Model, path: Path) -> None:
    """Writes the factors of a model and what else it trains; see `FamilyModel`."""
    if not path.name.endswith(SUFFIX):
        raise ValueError(f"a LoRA file's name must end in {SUFFIX}, got {path.name}.")
    layers = adapted_layers(model)
    if not layers:
        raise ValueError("the model has no LoRA weights to save: call enable_lora(rank) first.")
    save_mean_adapter(model, [trained_values(model)], path)


def save_mean_adapter(model: keras.Model, states: Sequence[Arrays], path: Path) -> None:
    """Writes the mean of what an adapted model had learnt at several times.

    The mean of K products α/r AB is one product, that of all A and all B side by side, with K times
    the rank r and the same α.

    Args:
        model: The model.
        states: What `trained_values` returned at each time.
        path: The file to write.
    """
    layer = adapted_layers(model)[0]
    settings = {
        "rank": layer.lora_rank * len(states),
        "alpha": layer.lora_alpha,
        "base": base_digest(model),
    }
    values = {name: _joined(name, [state[name] for state in states]) for name in states[0]}
    with whole_file(path, sum(value.nbytes for value in values.values())) as partial:
        contents: dict[str, Any] = {_SETTINGS: np.array(json.dumps(settings)), **values}
        np.savez(partial, **contents)


def trained_values(model: keras.Model) -> Arrays:
    """Returns the factors of a model and what else it trains, by their paths."""
    return {weight.path: np.array(weight) for weight in _trained(model)}


def load_lora_file(model: keras.Model, path: Path) -> None:
    """Sets what `save_lora_file` wrote; see `FamilyModel`."""
    values = _read(path)
    settings = json.loads(str(values.pop(_SETTINGS)))
    rank, alpha, base = settings["rank"], settings["alpha"], settings.get("base")
    layers = adapted_layers(model)
    if layers:
        own = layers[0].lora_rank, layers[0].lora_alpha
        if own != (rank, alpha):
            raise ValueError(
                f"{path} has LoRA with {_spelt(rank, alpha)}, the model with {_spelt(*own)}: load "
                "it into a model without LoRA."
            )
        _check_fits(path, values, {weight.path: tuple(weight.shape) for weight in _trained(model)})
        _check_base(path, base, model)
    else:
        factors = {name for name in values if name.rpartition("/")[2] in FACTORS}
        fresh = set(values) - factors
        _check_fits(path, values, _shapes(model, rank, factors, fresh))
        _check_base(path, base, model)
        targets = {name.rpartition("/")[0] for name in factors}
        adapt_low_rank(model, rank, fresh, alpha=alpha, targets=targets)
    for weight in _trained(model):
        weight.assign(values[weight.path])


def _joined(name: str, values: Sequence[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    first, second = FACTORS
    kind = name.rpartition("/")[2]
    if kind in FACTORS:
        return np.concatenate(values, axis={first: 1, second: 0}[kind])
    return np.mean(values, axis=0, dtype=np.float64).astype(values[0].dtype)


def _trained(model: keras.Model) -> list[keras.Variable]:
    return [weight for weight in model.weights if weight.trainable or weight.name in FACTORS]


def _read(path: Path) -> Arrays:
    if not path.exists():
        raise FileNotFoundError(f"no such file: {path}: give what save_lora_weights wrote.")
    try:
        with numpy_archive(path) as file:
            values = {name: file[name] for name in file.files}
    except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise ValueError(f"{path} is no LoRA file, or damaged: {error}") from error
    if _SETTINGS not in values:
        raise ValueError(f"{path} is no LoRA file: it has no {_SETTINGS}.")
    return values


def _shapes(model: keras.Model, rank: int, factors: set[str], fresh: set[str]) -> Shapes:
    """Returns the shapes that a model without LoRA would have them in, of those it can have."""
    shapes = {weight.path: tuple(weight.shape) for weight in model.weights if weight.path in fresh}
    for layer in linear_layers(model):
        kernel = layer.kernel.shape
        sides = zip(FACTORS, ((kernel[0], rank), (rank, kernel[1])), strict=True)
        for name, shape in sides:
            if f"{layer.path}/{name}" in factors:
                shapes[f"{layer.path}/{name}"] = shape
    return shapes


def _check_fits(path: Path, values: Arrays, shapes: Shapes) -> None:
    """Raises `ValueError` unless the file has the weights of these shapes and no others."""
    for name in sorted(values.keys() ^ shapes.keys()):
        has, lacks = ("file", "model") if name in values else ("model", "file")
        raise ValueError(
            f"{path} does not fit the model: the {has} has {name}, the {lacks} has not. Load it "
            "into the model that it was trained on."
        )
    for name, value in values.items():
        if value.shape != shapes[name]:
            raise ValueError(
                f"{path} does not fit the model: {name} has the shape {value.shape} in the file, "
                f"{shapes[name]} in the model. Load it into the model that it was trained on."
            )


def _check_base(path: Path, expected: str | None, model: keras.Model) -> None:
    """Raises `ValueError` if the file was trained beside other weights, where both are known."""
    found = base_digest(model)
    if None not in (expected, found) and expected != found:
        raise ValueError(
            f"{path} does not fit the model: it was trained beside other weights of these shapes. "
            "Load it into the model that it was trained on."
        )


def _spelt(rank: int, alpha: float) -> str:
    return f"rank {rank} and alpha {alpha:g}"
