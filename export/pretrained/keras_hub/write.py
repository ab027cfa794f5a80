"""Writes a model as a preset that keras-hub loads with `from_preset`: what Hugging Face would have,
by the tables that presets are read with.
"""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from keras_transformer.export.pretrained.huggingface.architecture import THEIR_ACTIVATIONS
from keras_transformer.export.pretrained.huggingface.write import architecture_of, config_of
from keras_transformer.export.pretrained.keras_hub.vocabularies import kind_of, save_vocabulary
from keras_transformer.export.pretrained.outgoing import Outgoing
from keras_transformer.pretrained.cross_encoders import ACTIVATION, SECTION, SIGMOID
from keras_transformer.pretrained.huggingface.bert_family import MASKED_ACTIVATION
from keras_transformer.pretrained.keras_hub.directory import FAMILIES
from keras_transformer.pretrained.keras_hub.family import TASK, Config, Family, Head, Weight
from keras_transformer.pretrained.keras_hub.preset import (
    CONFIG,
    MODEL_WEIGHTS,
    PREPROCESSOR,
    TASK_FILE,
    TASK_WEIGHTS,
    TOKENIZER_FILE,
)
from keras_transformer.pretrained.keras_hub.weights import write_weights
from keras_transformer.pretrained.tensor_files import Array


def check(outgoing: Outgoing) -> None:
    """Raises a ValueError that names options that no family has."""
    architecture_of(outgoing).check(outgoing)


def write(outgoing: Outgoing, directory: Path) -> None:
    """Writes the preset."""
    theirs = {**config_of(outgoing), **_masked(outgoing.config)}
    prefix, family, task, head = _family(outgoing, theirs["architectures"][0])
    config = _backbone(prefix, family, head, theirs)
    weights = [*family.weights(config), *head.weights]
    arrays = dict(_arrays(_tensors(outgoing, family), weights, family, config))
    of_task = {name.removeprefix(TASK): arrays.pop(name) for name in [*arrays] if TASK in name}
    backbone = _object(f"{prefix}Backbone", config)
    fields = save_vocabulary(outgoing, family.vocabulary, directory)
    tokenizer = _object(f"{prefix}Tokenizer", fields)
    objects = {CONFIG: backbone, TOKENIZER_FILE: tokenizer}
    if task:
        layout = _layout(outgoing, prefix + task, tokenizer, {**theirs, **config})
        objects[PREPROCESSOR] = layout
        objects[TASK_FILE] = _task(prefix + task, backbone, layout, theirs)
    for name, values in objects.items():
        text = json.dumps(values, indent=4, ensure_ascii=False)
        (directory / name).write_text(text, encoding="utf-8")
    write_weights(directory / MODEL_WEIGHTS, arrays)
    if of_task:
        write_weights(directory / TASK_WEIGHTS, of_task)


def _family(outgoing: Outgoing, architecture: str) -> tuple[str, Family, str, Head]:
    """Returns what the names of its classes begin with, the family, the task and the head."""
    kind, others = kind_of(outgoing.source), []
    for name, family in FAMILIES.items():
        # A task before the backbone alone.
        for task, head in sorted(family.heads.items(), reverse=True):
            if architecture in (head.architecture, head.also):
                if kind_of(family.vocabulary) == kind:
                    return name.removesuffix("Backbone"), family, task, head
                others.append(family.vocabulary.kind)
    if others:
        raise ValueError(
            f"keras-hub has a {architecture} with a vocabulary of the kind "
            f"{' or '.join(dict.fromkeys(others))}, and this model's is of the kind {kind}: "
            "export it as huggingface or onnx."
        )
    raise ValueError(
        f"keras-hub has no {architecture}, as Hugging Face calls it, here: {', '.join(FAMILIES)} "
        "are written, with the heads that docs/import.md names."
    )


def _masked(config: Any) -> dict[str, str]:
    """Returns the activation of a head for masked tokens, which their config does not have."""
    if getattr(config, "head", None) != "masked_lm":
        return {}
    return {MASKED_ACTIVATION: THEIR_ACTIVATIONS[config.masked_activation or config.activation]}


def _backbone(prefix: str, family: Family, head: Head, theirs: Config) -> dict[str, Any]:
    """Returns the fields of the backbone's config."""
    usual = family.constants.get("hidden_act", family.constants.get("activation"))
    for name, value in {MASKED_ACTIVATION: usual, **family.constants, **head.constants}.items():
        if theirs.get(name, value) != value:
            raise ValueError(
                f"keras-hub's {prefix} always has {name}={_told(value)}, as Hugging Face calls "
                f"it, and this model has {_told(theirs[name])}: export it as huggingface or onnx."
            )
    found: dict[str, Any] = {}
    for ours, several in family.fields.items():
        values = {name: theirs[name] for name in several if name in theirs}
        # It has one rate for all dropout: of several the first, which is that of states.
        if len(set(values.values())) > 1 and ours != "dropout":
            raise ValueError(f"keras-hub's {prefix} has one {ours}, got {values}.")
        if values:
            found[ours] = next(iter(values.values()))
    return {**found, **family.written(theirs)}


def _told(value: Any) -> str:
    """Returns a value of Hugging Face's, with its meaning where two names differ by little."""
    meanings = {"gelu": " (the exact GELU)", "gelu_new": " (GELU's tanh form)"}
    return repr(value) + meanings.get(str(value), "")


def _tensors(outgoing: Outgoing, family: Family) -> dict[str, Array]:
    """Returns the tensors by Hugging Face's names, without those that keras-hub keeps in others.

    Raises:
        ValueError: Keras-hub has none for one of them.
    """
    own = architecture_of(outgoing).tensors(outgoing)
    found = {name.removeprefix(family.body): array for name, array in own.items()}
    if family.zeros in found and not found[family.zeros].any():
        del found[family.zeros]
    if family.added is not None and family.added[0] in found:
        one, table = family.added
        if len(found[one]) != 1:
            raise ValueError(f"keras-hub has no {one}: num_token_types must be 0 or 1.")
        found[table] = found[table] + found.pop(one)
    if family.pooler:
        width = outgoing.config.model_dim
        unread = np.zeros((width, width), np.float32), np.zeros(width, np.float32)
        for ending, array in zip(("weight", "bias"), unread, strict=True):
            name = f"{family.pooler}.{ending}"
            found.setdefault(name, outgoing.unused.get(name, array))
    return found


def _arrays(
    tensors: dict[str, Array], weights: Iterable[Weight], family: Family, config: Config
) -> Iterator[tuple[str, Array]]:
    """Yields the arrays by their paths.

    Raises:
        ValueError: The model lacks one, or has one that keras-hub has not.
    """
    for name in tensors.keys() - {weight.name for weight in weights}:
        raise ValueError(f"keras-hub has no weight {name} (as Hugging Face calls it).")
    for weight in weights:
        if weight.name in tensors:
            array = np.split(tensors[weight.name], weight.parts, axis=-1)[weight.part]
            heads = config[weight.form.heads] if weight.form.heads else 0
            yield weight.path, np.ascontiguousarray(weight.form.write(array, heads))
        elif not weight.name.endswith(family.optional):
            raise ValueError(
                f"keras-hub needs the weight {weight.name} (as Hugging Face calls it), which this "
                "model lacks."
            )


def _layout(
    outgoing: Outgoing, task: str, tokenizer: dict[str, Any], config: Config
) -> dict[str, Any]:
    """Returns what lays out the inputs of a task."""
    fields: dict[str, Any] = {"tokenizer": tokenizer}
    longest = config.get("max_sequence_length", config.get("max_position_embeddings"))
    sides = ("encoder_", "decoder_") if task.endswith("Seq2SeqLM") else ("",)
    fields |= {f"{side}sequence_length": longest or 1024 for side in sides}
    if task.endswith("CausalLM"):
        fields["add_start_token"] = outgoing.config.starts_prompts
    return _object(f"{task}Preprocessor", fields)


def _task(
    name: str, backbone: dict[str, Any], layout: dict[str, Any], theirs: Config
) -> dict[str, Any]:
    fields: dict[str, Any] = {"backbone": backbone, "preprocessor": layout}
    if name.endswith("TextClassifier"):
        of_number = theirs.get(SECTION, {}).get(ACTIVATION, "")
        is_multi = theirs.get("problem_type") == "multi_label_classification"
        fields["num_classes"] = len(theirs["id2label"])
        fields["activation"] = "sigmoid" if is_multi or of_number.endswith(SIGMOID) else "linear"
    return _object(name, fields)


def _object(kind: str, config: dict[str, Any]) -> dict[str, Any]:
    """Returns an object as Keras serializes it."""
    return {
        "module": "keras_hub.models",
        "class_name": kind,
        "config": config,
        "registered_name": f"keras_hub>{kind}",
    }
