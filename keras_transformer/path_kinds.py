"""Tells what a path holds where a model of another form was wanted, and how to come from one to the
other; looks at names of files alone.
"""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

_SHOWN = 4
_ARTEFACT, _RUN, _CONFIG, _SAVED_MODEL = (
    *("manifest.json", "model.keras", "config.json", "saved_model.pb"),
)
# Files of models that other toolkits save.
_FOREIGN = ("*.safetensors", "pytorch_model*.bin", "model.bin", "*.npz", "*.yml", "*.index")


def describe_path(path: Path) -> str:
    """Returns a sentence that says what a path is and what to do with it, for the end of a message.

    It is about the commonest mix-ups: exported artefacts, training runs, SavedModels, models of
    other toolkits, directories that hold several of these, and single files of them.

    Returns:
        The sentence with a space before it; "" if nothing is known of the path.
    """
    try:
        for told in (_file, _saved_model, _artefact, _run, _foreign, _several, _lone_graphs):
            if sentence := told(path):
                return f" {sentence}"
    except OSError:  # A path that may not be read has no kind.
        pass
    return ""


def is_run(path: Path) -> bool:
    """Returns whether a directory is a training run, finished or not."""
    return (path / _RUN).is_file() or ((path / _CONFIG).is_file() and not _is_foreign(path))


def _file(path: Path) -> str | None:
    if not path.is_file():
        return None
    parent = path.parent
    if (parent / _ARTEFACT).is_file() or is_run(parent):
        return f"{path} is a file of a model: give its directory, {parent}."
    return f"{path} is a file: give a directory."


def _saved_model(path: Path) -> str | None:
    if (path / _SAVED_MODEL).is_file() or any(path.glob(f"*/{_SAVED_MODEL}")):
        return (
            f"{path} is a SavedModel, which TensorFlow Serving reads: give the training run that "
            "it was exported from, or what `keras-transformer export --format onnx` writes of it."
        )
    return None


def _artefact(path: Path) -> str | None:
    if not (path / _ARTEFACT).is_file():
        return None
    # A corpus that was prepared for training has a file of that name, too, with a number there.
    if isinstance(_json(path / _ARTEFACT).get("format"), int):
        return f"{path} is a prepared corpus, which `train --data prepared` reads."
    return (
        f"{path} is an exported artefact (it holds {_ARTEFACT}): give the training run that it was "
        "exported from."
    )


def _run(path: Path) -> str | None:
    if not is_run(path):
        return None
    if not (path / _RUN).is_file():
        return f"{path} is a training run that has not finished: continue it with --resume."
    return (
        f"{path} is a training run: export it first, with `keras-transformer export {path} "
        f"--format onnx --output exported/{path.name}`, or `export_run` in Python."
    )


def _foreign(path: Path) -> str | None:
    if not _is_foreign(path):
        return None
    return (
        f"{path} looks like a model of another toolkit: import it first, with `keras-transformer "
        f"import {path} --output runs/{path.name}`."
    )


def _is_foreign(path: Path) -> bool:
    names_itself = not {"model_type", "architectures"}.isdisjoint(_json(path / _CONFIG))
    return names_itself or any(any(path.glob(form)) for form in _FOREIGN)


def _json(file: Path) -> dict[str, Any]:
    try:
        found = json.loads(file.read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _several(path: Path) -> str | None:
    """Tells of directories that hold models, each in a directory of its own."""
    kinds: Sequence[tuple[str, Callable[[Path], bool]]] = (
        ("exported artefacts", lambda inner: (inner / _ARTEFACT).is_file()),
        ("training runs", is_run),
    )
    for kind, fits in kinds:
        found = sorted(inner for inner in path.glob("*/") if fits(inner))
        if found:
            shown = ", ".join(map(str, found[:_SHOWN])) + (", ..." if len(found) > _SHOWN else "")
            return f"{path} holds {kind}: give one of them ({shown})."
    return None


def _lone_graphs(path: Path) -> str | None:
    if any(path.glob("*.onnx")):
        return (
            f"{path} holds ONNX graphs without the {_ARTEFACT} that says what they are: copy the "
            "artefact whole, or export the model with `keras-transformer export`."
        )
    return None if not path.is_dir() or any(path.iterdir()) else f"{path} is empty."
