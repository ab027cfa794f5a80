"""Sentence Transformers' modules (Reimers and Gurevych 2019): writes the files beside an encoder
that say how it makes one vector of a text.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from keras_transformer.config.encoder_only import EncoderConfig
from keras_transformer.config.text_vectors import POOLINGS, DenseConfig, poolings_of
from keras_transformer.pretrained.sentence_transformers import (
    ACTIVATIONS,
    DENSE,
    MODES,
    MODULES,
    NORMALIZE,
    POOLING,
    PROMPTS,
    READING,
    SHORT_MODES,
    VECTOR,
)
from keras_transformer.pretrained.tensor_files import SAFETENSORS
from keras_transformer.pretrained.weight_table import dump_weights, linear
from keras_transformer.whole_files import write_bytes


def check_embedding(config: EncoderConfig) -> None:
    """Raises a ValueError if a linear layer has an activation that PyTorch has no class for."""
    for layer in config.dense:
        if layer.activation not in ACTIVATIONS.values():
            raise ValueError(
                f"Sentence Transformers has no dense layer with activation={layer.activation!r}: "
                f"{', '.join(ACTIVATIONS.values())} can be written."
            )


def save_embedding(model: Any, directory: Path) -> None:
    """Writes what makes a model with the head "embedding" one of that library; else nothing."""
    from safetensors.numpy import save

    config: EncoderConfig = model.config
    if config.head != "embedding":
        return
    kinds = [POOLING, *[DENSE] * len(config.dense), *[NORMALIZE] * config.unit_vectors]
    # The model itself lies at the top.
    paths = {0: "", **{place: f"{place}_{kind}" for place, kind in enumerate(kinds, start=1)}}
    listed = [
        {
            "idx": place,
            "name": str(place),
            "path": paths[place],
            "type": f"sentence_transformers.models.{kind}",
        }
        for place, kind in enumerate(["Transformer", *kinds])
    ]
    _write(directory / MODULES, listed)
    for place in range(1, len(listed)):
        (directory / paths[place]).mkdir()
    _write(directory / paths[1] / "config.json", _pooling(config))
    width = config.pooled_dim
    for number, layer in enumerate(config.dense):
        path = directory / paths[2 + number]
        _write(path / "config.json", _dense(layer, width))
        tensors = dump_weights(linear(model.head.layers[number], "linear"))
        write_bytes(path / SAFETENSORS, save(tensors, metadata={"format": "pt"}))
        width = layer.out_dim
    limit = {"max_seq_length": config.longest_row, "do_lower_case": False}
    _write(directory / READING, limit)
    prompts = {"prompts": dict(config.prompts), "default_prompt_name": config.default_prompt}
    _write(directory / PROMPTS, {**prompts, "similarity_fn_name": "cosine"})


def activation_path(activation: str, known: Mapping[str, str]) -> str:
    """Returns where PyTorch has an activation; `known` has ours by the names of its classes."""
    name = next(theirs for theirs, ours in known.items() if ours == activation)
    module = "linear" if name == "Identity" else "activation"
    return f"torch.nn.modules.{module}.{name}"


def _pooling(config: EncoderConfig) -> dict[str, Any]:
    poolings = poolings_of(config.pooling)
    if list(poolings) != sorted(poolings, key=POOLINGS.index):
        # Only that library's later versions join vectors in an order of the file's own.
        theirs = {ours: name for name, ours in reversed(SHORT_MODES.items())}
        return {
            "embedding_dimension": config.model_dim,
            "pooling_mode": [theirs[name] for name in poolings],
        }
    modes = {f"pooling_mode_{name}": ours in poolings for name, ours in MODES.items()}
    return {"word_embedding_dimension": config.model_dim, **modes}


def _dense(layer: DenseConfig, width: int) -> dict[str, Any]:
    return {
        "in_features": width,
        "out_features": layer.out_dim,
        "bias": layer.use_bias,
        "activation_function": activation_path(layer.activation, ACTIVATIONS),
        "module_input_name": VECTOR,
        "module_output_name": VECTOR,
    }


def _write(path: Path, values: Any) -> None:
    path.write_text(json.dumps(values, indent=2) + "\n", encoding="utf-8")
