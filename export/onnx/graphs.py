"""Traces a Keras Transformer into two ONNX graphs through tf2onnx: the encoder with the projections
of every decoder layer, and one decoder step with a cache. A model comes in, ONNX models leave.
"""

import itertools
import logging
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import onnx
import tensorflow as tf
import tf2onnx
from onnx.numpy_helper import to_array

from keras_transformer.layers.masks import padding_mask
from keras_transformer.models.transformer import Transformer

from ..manifest import TensorSpec

_OUR_PRODUCER = "keras-transformer"


def encoder_specs(config: Any) -> tuple[list[TensorSpec], list[TensorSpec]]:
    """Returns the encoder graph's inputs and outputs for a `TransformerConfig`."""
    inputs = [TensorSpec(name="source_ids", dtype="int32", shape=("batch", "source_length"))]
    return inputs, _layer_specs(config, "cross", "batch", "source_length")


def decoder_specs(config: Any) -> tuple[list[TensorSpec], list[TensorSpec]]:
    """Returns the decoder graph's inputs and outputs; rows = batch × beams."""
    inputs = [
        TensorSpec(name="target_ids", dtype="int32", shape=("rows",)),
        TensorSpec(name="step", dtype="int32", shape=()),
        TensorSpec(name="source_ids", dtype="int32", shape=("batch", "source_length")),
        *_layer_specs(config, "cross", "batch", "source_length"),
        *_layer_specs(config, "cache", "rows", "cache_length"),
    ]
    logits = TensorSpec(name="logits", dtype="float32", shape=("rows", config.target_vocab_size))
    return inputs, [logits, *_layer_specs(config, "new_cache", "rows", "cache_length")]


def _layer_specs(config: Any, prefix: str, rows: str, length: str) -> list[TensorSpec]:
    """Keys and values of every decoder layer: cross_key_0, cross_value_0 and so on."""
    return [
        TensorSpec(
            name=f"{prefix}_{kind}_{layer}",
            dtype="float32",
            shape=(rows, config.num_heads, length, width),
        )
        for layer in range(config.num_decoder_layers)
        for kind, width in (("key", config.key_dim), ("value", config.value_dim))
    ]


def encoder_graph(model: Transformer, opset: int) -> onnx.ModelProto:
    """Traces source ids → cross-attention keys and values of every decoder layer.

    Args:
        model: A float32 model.
        opset: ONNX operator set, 18 or newer.
    """

    def encode(source_ids: tf.Tensor) -> dict[str, tf.Tensor]:
        return _named("cross", model.encode(source_ids))

    return _convert(encode, *encoder_specs(model.config), opset)


def decoder_graph(model: Transformer, opset: int) -> onnx.ModelProto:
    """Traces one decoder step: last tokens and caches → logits and caches with one more place.

    Args:
        model: A float32 model.
        opset: ONNX operator set, 18 or newer.
    """
    inputs, outputs = decoder_specs(model.config)
    names = [spec.name for spec in inputs]

    def step(*tensors: tf.Tensor) -> dict[str, tf.Tensor]:
        given = dict(zip(names, tensors, strict=True))
        layers = range(model.config.num_decoder_layers)
        cross, caches = (
            [(given[f"{prefix}_key_{i}"], given[f"{prefix}_value_{i}"]) for i in layers]
            for prefix in ("cross", "cache")
        )
        keep_mask = padding_mask(given["source_ids"])
        # One element broadcasts as a scalar does; tf2onnx cannot index a scalar.
        position = tf.reshape(given["step"], (1,))
        logits, new_caches = model.decode_step(
            given["target_ids"], position, keep_mask, cross, caches
        )
        return {"logits": logits, **_named("new_cache", new_caches)}

    return _convert(step, inputs, outputs, opset)


def _named(prefix: str, keys_values: Sequence[tuple[Any, Any]]) -> dict[str, tf.Tensor]:
    named = {}
    for layer, (key, value) in enumerate(keys_values):
        named[f"{prefix}_key_{layer}"], named[f"{prefix}_value_{layer}"] = key, value
    return named


def _convert(
    function: Callable[..., dict[str, tf.Tensor]],
    inputs: list[TensorSpec],
    outputs: list[TensorSpec],
    opset: int,
) -> onnx.ModelProto:
    signature = [
        tf.TensorSpec(
            [size if isinstance(size, int) else None for size in spec.shape],
            tf.dtypes.as_dtype(spec.dtype),
            name=spec.name,
        )
        for spec in inputs
    ]
    # Keras layers are plain TensorFlow already; autograph would only slow the tracing down.
    traced = tf.function(function, input_signature=signature, autograph=False)
    with _quiet():
        proto, _ = tf2onnx.convert.from_function(
            traced,
            input_signature=signature,
            opset=opset,
            custom_op_handlers={"Erfc": (_erfc, [])},
        )
    _declare(proto.graph.input, inputs)
    _declare(proto.graph.output, outputs)
    # tf2onnx imports domains that it did not use; a reader may refuse a model for them.
    used = {node.domain for node in proto.graph.node}
    kept = [entry for entry in proto.opset_import if entry.domain in used]
    del proto.opset_import[:]
    proto.opset_import.extend(kept)
    _share_transposed(proto.graph)
    proto.producer_name = _OUR_PRODUCER
    proto.graph.name = "graph"
    return proto


def _share_transposed(graph: onnx.GraphProto) -> None:
    """Stores a matrix once where the graph holds it and its transpose, as a tied embedding does.

    A reader such as onnxruntime transposes it once, when it loads the graph.
    """
    by_shape: dict[tuple[int, ...], list[onnx.TensorProto]] = {}
    for tensor in graph.initializer:
        if len(tensor.dims) == 2 and min(tensor.dims) > 1:
            by_shape.setdefault(tuple(tensor.dims), []).append(tensor)
    for (rows, columns), tensors in by_shape.items():
        twins = by_shape.get((columns, rows), []) if rows > columns else []
        for kept, twin in itertools.product(tensors, twins):
            if np.array_equal(to_array(kept).T, to_array(twin)):
                graph.initializer.remove(twin)
                node = onnx.helper.make_node("Transpose", [kept.name], [twin.name], perm=[1, 0])
                graph.node.insert(0, node)


def _erfc(context: Any, node: Any, name: str, _: Any) -> None:
    """Converts erfc(x), which exact gelu contains and ONNX lacks, to 1 - erf(x)."""
    output, [values] = node.output[0], node.input
    shape, dtype = context.get_shape(output), context.get_dtype(output)
    context.remove_node(node.name)
    one = context.make_const(f"{name}/one", np.ones((), np.float32)).output[0]
    erf = context.make_node("Erf", [values], name=f"{name}/erf", shapes=[shape], dtypes=[dtype])
    context.make_node(
        "Sub", [one, erf.output[0]], name=name, outputs=[output], shapes=[shape], dtypes=[dtype]
    )


def _declare(values: Any, specs: list[TensorSpec]) -> None:
    """Puts inputs or outputs in our order and gives their axes our names.

    Raises:
        RuntimeError: tf2onnx lost or renamed one.
    """
    found = {value.name: value for value in values}
    names = [spec.name for spec in specs]
    if set(found) != set(names):
        raise RuntimeError(
            f"tf2onnx made the values {', '.join(sorted(found))} where {', '.join(sorted(names))} "
            "were expected: this version of tf2onnx is not supported."
        )
    kinds = {"int32": onnx.TensorProto.INT32, "float32": onnx.TensorProto.FLOAT}
    ordered = [
        onnx.helper.make_tensor_value_info(spec.name, kinds[spec.dtype], list(spec.shape))
        for spec in specs
    ]
    del values[:]
    values.extend(ordered)


@contextmanager
def _quiet() -> Iterator[None]:
    """Silences tf2onnx's progress log and the warnings that its libraries raise on import."""
    loggers = [logging.getLogger(name) for name in ("tf2onnx", "tensorflow")]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        # What goes wrong is found and told by our own checks.
        logger.setLevel(logging.CRITICAL)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
