"""Writes a model as a preset that keras-hub loads with `from_preset`: what Hugging Face would have,
by the tables that presets are read with.
"""

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from keras_transformer.export.pretrained.huggingface import write as huggingface
from keras_transformer.export.pretrained.keras_hub.vocabularies import save_vocabulary
from keras_transformer.export.pretrained.outgoing import Outgoing
from keras_transformer.pretrained.keras_hub.directory import FAMILIES
from keras_transformer.pretrained.keras_hub.family import TASK, Family, Head, Weight
from keras_transformer.pretrained.keras_hub.preset import (
    CONFIG,
    MODEL_WEIGHTS,
    PREPROCESSOR,
    TASK_FILE,
    TASK_WEIGHTS,
    TOKENIZER_FILE,
)
from keras_transformer.pretrained.keras_hub.weights import write_weights
from keras_transformer.pretrained.tensor_files import Array, Tensors, open_huggingface
from keras_transformer.pretrained.values import read_json

# How our kinds of vocabulary are called there; SentencePiece models go by their files' names.
_KINDS = {"WordPiece": "words", "BPE": "bytes"}


def check(outgoing: Outgoing) -> None:
    """Raises a ValueError that names what no family has."""
    huggingface.check(outgoing)


def write(outgoing: Outgoing, directory: Path) -> None:
    """Writes the preset."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        huggingface.write(outgoing, folder)
        _translate(outgoing, folder, directory)


def _translate(outgoing: Outgoing, folder: Path, directory: Path) -> None:
    theirs = read_json(folder / huggingface.CONFIG)
    name, family = _family(outgoing, theirs)
    prefix = name.removesuffix("Backbone")
    config = _backbone(family, theirs, prefix)
    task, head = _head(family, theirs)
    tensors = open_huggingface(folder).renamed(lambda one: one.removeprefix(family.body))
    weights = [*family.weights(config), *head.weights]
    arrays = dict(_arrays(tensors, weights, family, config, outgoing.unused))
    of_task = {one.removeprefix(TASK): arrays.pop(one) for one in [*arrays] if TASK in one}
    write_weights(directory / MODEL_WEIGHTS, arrays)
    backbone = _object(f"{prefix}Backbone", config)
    _write(directory / CONFIG, backbone)
    vocabulary = save_vocabulary(outgoing.source, family.vocabulary, folder, directory)
    tokenizer = _object(f"{prefix}Tokenizer", vocabulary)
    _write(directory / TOKENIZER_FILE, tokenizer)
    if not task:
        return
    longest = theirs.get("max_position_embeddings", theirs.get("n_positions")) or 1024
    fields: dict[str, Any] = {"tokenizer": tokenizer}
    if task != "Seq2SeqLM":
        fields["sequence_length"] = config.get("max_sequence_length", longest)
    if task == "CausalLM":
        fields["add_start_token"] = outgoing.config.starts_prompts
    layout = _object(f"{prefix}{task}Preprocessor", fields)
    _write(directory / PREPROCESSOR, layout)
    parts: dict[str, Any] = {"backbone": backbone, "preprocessor": layout}
    if task == "TextClassifier":
        parts["num_classes"] = len(theirs["id2label"])
        is_multi = theirs.get("problem_type") == "multi_label_classification"
        parts["activation"] = "sigmoid" if is_multi else "linear"
    _write(directory / TASK_FILE, _object(f"{prefix}{task}", parts))
    if of_task:
        write_weights(directory / TASK_WEIGHTS, of_task)


def _family(outgoing: Outgoing, theirs: dict[str, Any]) -> tuple[str, Family]:
    """Returns the class of the backbone, and its family."""
    kind = ""
    if outgoing.source.kind != "sentencepiece":
        kind = _KINDS.get(json.loads(outgoing.source.model)["model"]["type"], "other")
    alike = {
        name: family
        for name, family in FAMILIES.items()
        if family.model_type == theirs["model_type"] and family.written is not None
    }
    for name, family in alike.items():
        if family.vocabulary.kind == kind or (
            kind == "" and family.vocabulary.kind not in _KINDS.values()
        ):
            return name, family
    written = sorted({one.model_type for one in FAMILIES.values() if one.written is not None})
    raise ValueError(
        f"keras-hub has no {theirs['model_type']} with a vocabulary of the kind "
        f"{kind or 'SentencePiece'} here: of Hugging Face's types, {', '.join(written)} are "
        "written."
    )


def _backbone(family: Family, theirs: dict[str, Any], prefix: str) -> dict[str, Any]:
    """Returns the fields of the backbone's config."""
    for name, value in family.constants.items():
        if theirs.get(name, value) != value:
            raise ValueError(
                f"keras-hub's {prefix} needs {name}={value!r}, as Hugging Face calls it, got "
                f"{theirs[name]!r}."
            )
    found: dict[str, Any] = {}
    for ours, several in family.fields.items():
        values = {name: theirs[name] for name in several if name in theirs}
        if len(set(values.values())) > 1:
            raise ValueError(f"keras-hub's {prefix} has one {ours}, got {values}.")
        if values:
            found[ours] = next(iter(values.values()))
    if family.written is not None:
        found |= family.written(theirs)
    return found


def _head(family: Family, theirs: dict[str, Any]) -> tuple[str, Head]:
    """Returns the task and the head of an architecture, the task with the longest name first."""
    [architecture] = theirs["architectures"]
    for task, head in sorted(family.heads.items(), reverse=True):
        if head.architecture == architecture:
            return task, head
    known = ", ".join(head.architecture for head in family.heads.values())
    raise ValueError(f"keras-hub has no head of a {architecture}: only of {known}.")


def _arrays(
    tensors: Tensors, weights: list[Weight], family: Family, config: dict[str, Any], unused: Any
) -> Iterator[tuple[str, Array]]:
    """Yields the arrays by their paths.

    Raises:
        ValueError: The model lacks one, or has one that keras-hub has not.
    """
    known = {weight.name for weight in weights}
    extra = [
        name
        for name in tensors
        if name not in {*known, *unused} and (name not in family.zeros or tensors[name].any())
    ]
    if extra:
        raise ValueError(f"keras-hub has no weight {extra[0]} (as Hugging Face calls it).")
    for weight in weights:
        if weight.name not in tensors:
            if weight.name.endswith(family.optional):
                continue
            raise ValueError(
                f"keras-hub needs the weight {weight.name} (as Hugging Face calls it), which this "
                "model lacks."
            )
        array = tensors[weight.name]
        if weight.parts > 1:
            array = np.split(array, weight.parts, axis=-1)[weight.part]
        heads = config[weight.form.heads] if weight.form.heads else 0
        yield weight.path, np.ascontiguousarray(weight.form.write(array, heads))


def _object(kind: str, config: dict[str, Any]) -> dict[str, Any]:
    """Returns an object as Keras serializes it."""
    return {
        "module": "keras_hub.models",
        "class_name": kind,
        "config": config,
        "registered_name": f"keras_hub>{kind}",
    }


def _write(path: Path, values: dict[str, Any]) -> None:
    path.write_text(json.dumps(values, indent=4, ensure_ascii=False), encoding="utf-8")
