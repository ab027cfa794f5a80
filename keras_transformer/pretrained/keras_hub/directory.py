"""A preset of keras-hub as a directory of Hugging Face: config, vocabulary, and tensors by name."""

import json
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

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
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        try:
            yield folder, _translate(Preset(path), folder)
        except ValueError as error:
            if temporary not in str(error):
                raise
            # What reads the folder knows of no other.
            raise ImportRefusedError(str(error).replace(temporary, str(path))) from error


def _translate(preset: Preset, folder: Path) -> Tensors:
    backbone = preset.backbone
    if backbone.kind not in FAMILIES:
        raise ImportRefusedError(
            f"{preset.path / CONFIG} is of a {backbone.kind}: of keras-hub, "
            f"{', '.join(sorted(FAMILIES))} are supported."
        )
    family = FAMILIES[backbone.kind]
    _check_fields(backbone, family)
    head, of_head = _head(preset, family)
    config = {
        "model_type": family.model_type,
        "architectures": [head.architecture],
        **_fields(backbone, family),
        **of_head,
        **read_vocabulary(preset, family.vocabulary, folder),
    }
    (folder / CONFIG).write_text(json.dumps(config), encoding="utf-8")
    return _tensors(preset, [*family.weights(backbone.config.values), *head.weights])


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
    fields = dict(head.constants)
    if ending == "TextClassifier":
        fields |= _classes(task)
    return head, fields


def _classes(task: Part) -> dict[str, Any]:
    """Returns the fields of a classifier, whose activation says what it was trained for."""
    count, kind = task.config.integer("num_classes", least=1), task.config.get("activation", None)
    problems: dict[str | None, str | None] = {None: None, "linear": None, "softmax": None}
    if count > 1:
        problems["sigmoid"] = "multi_label_classification"
    if kind not in problems:
        raise ImportRefusedError(
            f"{task.config.origin} has {count} classes and activation: {kind!r}, and only "
            f"{', '.join(map(repr, problems))} are supported."
        )
    return {"num_labels": count, "problem_type": problems[kind]}


def _tensors(preset: Preset, weights: list[Weight]) -> Tensors:
    path = preset.path / MODEL_WEIGHTS
    found = open_weights(path)
    of_task = preset.path / TASK_WEIGHTS
    if of_task.is_file():
        further = open_weights(of_task)
        found |= {
            TASK + name: read for name, read in further.items() if not name.startswith(_TRAINING)
        }
    known = {one.path: one for one in weights}
    for name in found:
        if name not in known:
            raise ImportRefusedError(
                f"{of_task if name.startswith(TASK) else path} holds {name.removeprefix(TASK)}, a "
                f"weight that is unknown here for a {preset.backbone.kind}."
            )
    parts: dict[str, list[Callable[[], Array]]] = {}
    for one in weights:
        if one.path in found:
            read = partial(_formed, found[one.path], one)
            parts.setdefault(one.name, []).append(read)
    return Tensors({name: partial(_joined, several) for name, several in parts.items()}, str(path))


def _formed(read: Callable[[], Array], weight: Weight) -> Array:
    return weight.form.read(read())


def _joined(several: list[Callable[[], Array]]) -> Array:
    return several[0]() if len(several) == 1 else np.concatenate([one() for one in several], -1)
