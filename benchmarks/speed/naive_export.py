"""A first attempt at an ONNX export: encoder and decode step straight through tf2onnx, logits out,
no operator replaced. Takes a model and writes `encoder.onnx`, `decoder.onnx` and `config.json`.
"""

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import tensorflow as tf
import tf2onnx

from keras_transformer.layers.masks import padding_mask
from keras_transformer.models.decoding_steps import Source
from keras_transformer.models.transformer import Transformer

Tensors = dict[str, tf.Tensor]


def write_naive(model: Transformer, directory: Path) -> None:
    """Writes both graphs.

    The encoder takes `source_ids` and gives `cross_key_i` and `cross_value_i` of every layer. The
    decoder takes those, `source_ids`, `target_ids` `(rows,)`, `step` `(1,)` and `cache_key_i` and
    `cache_value_i` `(rows, heads, cache_length, width)`; it gives `logits` and `new_cache_…`.
    """
    config = model.config
    layers = range(config.num_decoder_layers)
    widths = (("key", config.key_dim), ("value", config.value_dim))
    source = {"source_ids": tf.TensorSpec((None, None), tf.int32, "source_ids")}
    given = {
        "target_ids": tf.TensorSpec((None,), tf.int32, "target_ids"),
        "step": tf.TensorSpec((1,), tf.int32, "step"),
        **source,
    }
    for prefix in ("cross", "cache"):
        for layer in layers:
            for kind, width in widths:
                name = f"{prefix}_{kind}_{layer}"
                shape = (None, config.num_heads, None, width)
                given[name] = tf.TensorSpec(shape, tf.float32, name)

    def encode(inputs: Tensors) -> Tensors:
        return _named("cross", model.source_keys_values(inputs["source_ids"]))

    def step(inputs: Tensors) -> Tensors:
        cross, caches = (
            [tuple(inputs[f"{prefix}_{kind}_{layer}"] for kind, _ in widths) for layer in layers]
            for prefix in ("cross", "cache")
        )
        read = Source(padding_mask(inputs["source_ids"]), cross)
        logits, caches = model.decode_step(inputs["target_ids"], inputs["step"], caches, read)
        return {"logits": logits, **_named("new_cache", caches)}

    directory.mkdir(parents=True)
    _convert(encode, source, directory / "encoder.onnx")
    _convert(step, given, directory / "decoder.onnx")
    (directory / "config.json").write_text(config.to_json(), encoding="utf-8")


def _named(prefix: str, pairs: Any) -> Tensors:
    return {
        f"{prefix}_{kind}_{layer}": values
        for layer, pair in enumerate(pairs)
        for kind, values in zip(("key", "value"), pair, strict=True)
    }


def _convert(function: Callable[[Tensors], Tensors], given: dict[str, Any], path: Path) -> None:
    def flat(*tensors: tf.Tensor) -> Tensors:
        return function(dict(zip(given, tensors, strict=True)))

    signature = list(given.values())
    traced = tf.function(flat, input_signature=signature, autograph=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tf2onnx.convert.from_function(
            traced, input_signature=signature, opset=18, output_path=str(path)
        )
