"""A preset of keras-hub as a directory of Hugging Face: config, vocabulary, and tensors by name."""

import itertools
import json
import re
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from keras_transformer.pretrained.cross_encoders import ACTIVATION, SECTION, SIGMOID
from keras_transformer.pretrained.errors import ImportRefusedError
from keras_transformer.pretrained.keras_hub import (
    albert,
    bart,
    bert,
    deberta,
    gemma,
    gpt2,
    llama,
    t5,
)
from keras_transformer.pretrained.keras_hub.family import TASK, Family, Head, Weight
from keras_transformer.pretrained.keras_hub.preset import (
    CONFIG,
    MODEL_WEIGHTS,
    TASK_FILE,
    TASK_WEIGHTS,
    Part,
    Preset,
)
from keras_transformer.pretrained.keras_hub.vocabularies import read_vocabulary
from keras_transformer.pretrained.keras_hub.weights import open_weights
from keras_transformer.pretrained.tensor_files import Array, Tensors

# By the class of the backbone.
FAMILIES: dict[str, Family] = {
    name: family
    for file in (albert, bart, bert, deberta, gemma, gpt2, llama, t5)
    for name, family in file.FAMILIES.items()
}
# What every config has and no model depends on.
_OF_ALL = ("name", "trainable", "dtype")
# What of a task's file is not the model.
_TRAINING = ("optimizer/", "preprocessor/")


@contextmanager
def as_huggingface(path: Path) -> Iterator[tuple[Path, Tensors]]:
    """Gives a folder with the files that Hugging Face would have, and the tensors.

    The folder is gone behind the `with`; the tensors are read from the preset's own files.

    Raises:
        ImportRefusedError: The preset is of an unknown family or task, or a file of it is damaged.
    """
    preset = Preset(path)
    family = _family(preset)
    names = {theirs: name for name, several in family.fields.items() for theirs in several}
    with tempfile.TemporaryDirectory() as temporary:
        tensors = _translate(preset, family, Path(temporary))
        try:
            yield Path(temporary), tensors
        except ValueError as error:
            if temporary not in str(error):
                raise
            # What reads the folder knows neither the preset nor its fields.
            told = re.sub(r"\w+", lambda word: names.get(word[0], word[0]), str(error))
            raise ImportRefusedError(told.replace(temporary, str(path))) from error


def _family(preset: Preset) -> Family:
    kind = preset.backbone.kind
    if kind not in FAMILIES:
        raise ImportRefusedError(
            f"{preset.path / CONFIG} is of a {kind}: of keras-hub, {', '.join(sorted(FAMILIES))} "
            "are supported."
        )
    return FAMILIES[kind]


def _translate(preset: Preset, family: Family, folder: Path) -> Tensors:
    backbone = preset.backbone
    _check_fields(backbone, family)
    head, of_head = _head(preset, family)
    tensors = _tensors(preset, family, head)
    config = {
        "model_type": family.model_type,
        "architectures": [head.architecture],
        **_fields(backbone, family),
        **of_head,
        **read_vocabulary(preset, family.vocabulary, folder),
    }
    (folder / CONFIG).write_text(json.dumps(config), encoding="utf-8")
    return tensors


def _check_fields(backbone: Part, family: Family) -> None:
    """Refuses what no field of the family says."""
    config = backbone.config
    for name in config.values.keys() - {*family.fields, *family.known, *_OF_ALL}:
        raise ImportRefusedError(
            f"{config.origin} has {name}: {config[name]!r}, a field that is unknown here for a "
            f"{backbone.kind}."
        )
    dtype = config.get("dtype", None)
    if isinstance(dtype, dict) and dtype.get("class_name") == "DTypePolicyMap":
        raise ImportRefusedError(
            f"{config.origin} is quantized, which is not supported: save the preset in float32 or "
            "bfloat16."
        )
    config.integer("num_layers", least=1)


def _fields(backbone: Part, family: Family) -> dict[str, Any]:
    config = backbone.config
    named = {
        theirs: config[name]
        for name, several in family.fields.items()
        if name in config.values
        for theirs in several
    }
    return {**named, **family.constants, **family.computed(config)}


def _head(preset: Preset, family: Family) -> tuple[Head, dict[str, Any]]:
    """Returns the head of the preset's task, and the fields of Hugging Face's config for it."""
    task = preset.task
    if task is None:
        return family.heads[""], {}
    ending = next((end for end in family.heads if end and task.kind.endswith(end)), None)
    if ending is None:
        raise ImportRefusedError(
            f"{preset.path / TASK_FILE} is of a {task.kind}: of a {preset.backbone.kind}, tasks "
            f"that end with {', '.join(end for end in family.heads if end) or 'nothing'} are "
            "supported; remove the file to import the model without a head."
        )
    head = family.heads[ending]
    of_task = _classes(task) if ending == "TextClassifier" else {}
    return head, {**head.constants, **of_task}


def _classes(task: Part) -> dict[str, Any]:
    """Returns the fields of a classifier, whose activation says what it was trained for."""
    count, kind = task.config.integer("num_classes", least=1), task.config.get("activation", None)
    problems: dict[str | None, str | None] = {None: None, "linear": None, "softmax": None}
    problems["sigmoid"] = "multi_label_classification" if count > 1 else None
    if not isinstance(kind, str | None) or kind not in problems:
        raise ImportRefusedError(
            f"{task.config.origin} has {count} classes and activation: {kind!r}, and only "
            f"{', '.join(map(repr, problems))} are supported."
        )
    of_number = SIGMOID if (count, kind) == (1, "sigmoid") else "Identity"
    return {
        "num_labels": count,
        "problem_type": problems[kind],
        SECTION: {ACTIVATION: of_number},
    }


def _tensors(preset: Preset, family: Family, head: Head) -> Tensors:
    """Returns the tensors by Hugging Face's names.

    Raises:
        ImportRefusedError: The files lack a weight, or hold one that the family has not.
    """
    path, of_task = preset.path / MODEL_WEIGHTS, preset.path / TASK_WEIGHTS
    found = open_weights(path)
    if of_task.is_file():
        further = open_weights(of_task)
        found |= {TASK + name: further[name] for name in further if not name.startswith(_TRAINING)}
    parts: dict[str, list[Callable[[], Array]]] = {}
    # However many layers a config claims, the first that the file lacks ends this.
    for weight in itertools.chain(family.weights(preset.backbone.config.values), head.weights):
        read = found.pop(weight.path, None)
        if read is not None:
            parts.setdefault(weight.name, []).append(partial(_formed, read, weight, path))
        elif not weight.name.endswith(family.optional):
            file = of_task if weight.path.startswith(TASK) else path
            raise ImportRefusedError(
                f"{file} lacks the weight {weight.path.removeprefix(TASK)}, which a "
                f"{preset.backbone.kind} with the fields of {CONFIG} has."
            )
    for name in found:
        raise ImportRefusedError(
            f"{of_task if name.startswith(TASK) else path} holds {name.removeprefix(TASK)}, a "
            f"weight that a {preset.backbone.kind} with the fields of {CONFIG} has not."
        )
    return Tensors({name: partial(_joined, several) for name, several in parts.items()}, str(path))


def _formed(read: Callable[[], Array], weight: Weight, path: Path) -> Array:
    array = read()
    try:
        return weight.form.read(array)
    except ValueError as error:
        raise ImportRefusedError(
            f"{path}: {weight.path.removeprefix(TASK)} has the shape {array.shape}, which is not "
            "that of such a weight."
        ) from error


def _joined(several: list[Callable[[], Array]]) -> Array:
    return several[0]() if len(several) == 1 else np.concatenate([one() for one in several], -1)
