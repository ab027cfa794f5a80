"""Traces a Keras Transformer into ONNX graphs through tf2onnx: the encoder with the projections of
every decoder layer, one decoder step with a cache, and a scorer of given translations. A model
comes in, ONNX models leave.
"""

import logging
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from types import ModuleType
from typing import Any

import numpy as np
import onnx
import tensorflow as tf
import tf2onnx
from onnx.numpy_helper import to_array

from keras_transformer.artefact.manifest import TensorSpec
from keras_transformer.export.onnx.graphs import fused
from keras_transformer.export.onnx.graphs.candidates import log_probabilities
from keras_transformer.export.onnx.graphs.operators import MARKER_HANDLERS, put_weights_in
from keras_transformer.export.onnx.graphs.specs import (
    LOGITS,
    Specs,
    decoder_specs,
    encoder_specs,
    greedy_scores_specs,
    greedy_specs,
    greedy_specs_with_logits,
    scorer_specs,
)
from keras_transformer.models.transformer import Transformer

_OUR_PRODUCER = "keras-transformer"
_DTYPES = {
    "bool": onnx.TensorProto.BOOL,
    "int32": onnx.TensorProto.INT32,
    "int64": onnx.TensorProto.INT64,
    "float32": onnx.TensorProto.FLOAT,
}

KeysValues = list[tuple[tf.Tensor, tf.Tensor]]


def encoder_graph(model: Transformer, target: ModuleType, opset: int) -> onnx.ModelProto:
    """Traces source ids → cross-attention keys and values of every decoder layer, and the states.

    Args:
        model: A float32 model.
        target: The module whose `encode` is traced: `fused`, `native` or `portable`.
        opset: ONNX operator set, 18 or newer.
    """

    def encode(source_ids: tf.Tensor) -> dict[str, tf.Tensor]:
        states, cross = target.encode(model, source_ids)
        return {**_named("cross", cross), "encoder_states": states}

    return _convert(encode, encoder_specs(model.config), opset, target.DOMAINS)


def decoder_graph(model: Transformer, target: ModuleType, opset: int) -> onnx.ModelProto:
    """Traces one decoder step: newest tokens and caches → candidates, and one more place filled.

    Args:
        model: A float32 model.
        target: The module whose `decode_step` is traced: `fused`, `native` or `portable`.
        opset: ONNX operator set, 18 or newer.
    """
    specs = decoder_specs(model.config)

    def step(*tensors: tf.Tensor) -> dict[str, tf.Tensor]:
        given = {spec.name: tensor for spec, tensor in zip(specs[0], tensors, strict=True)}
        beams = (given["beam_size"], given["cache_beams"])
        logits, new_caches = _decode(target.decode_step, model, given, beams)
        ids, values, parents = target.best_continuations(
            logits, model.config.target_vocab_size, given["num_candidates"], given["totals"]
        )
        return {
            "candidate_ids": ids,
            "candidate_values": values,
            "candidate_beams": parents,
            LOGITS: logits,
            **_named("new_cache", new_caches),
        }

    return _convert(step, specs, opset, target.DOMAINS)


def greedy_graph(model: Transformer, target: ModuleType, opset: int) -> onnx.ModelProto:
    """Traces the decoder step of greedy search, which needs neither beams nor a softmax.

    Until `hide_logits` it has one output more than `greedy_specs`, by which the head is found.

    Args:
        model: A float32 model.
        target: As for `decoder_graph`.
        opset: ONNX operator set, 18 or newer.
    """
    return _greedy_graph(model, target, opset, greedy_specs_with_logits(model.config))


def hide_logits(greedy: onnx.ModelProto) -> None:
    """Takes the logits out of the outputs of `greedy_graph`."""
    [place] = [i for i, value in enumerate(greedy.graph.output) if value.name == LOGITS]
    del greedy.graph.output[place]


def screened_greedy_graph(model: Transformer, target: ModuleType, opset: int) -> onnx.ModelProto:
    """Traces the decoder step of greedy search without most logits; see `screening`.

    Args:
        model: A float32 model that the target's operators can hold.
        target: The module whose `decode_step` is traced: `fused` or `native`.
        opset: ONNX operator set, 18 or newer.
    """
    specs = greedy_specs(model.config)

    def head(model: Transformer, states: tf.Tensor) -> tf.Tensor:
        return target.screened_best_token(states, fused.vocabulary_matrix(model))

    decode_step = partial(target.decode_step, head=head)

    def step(*tensors: tf.Tensor) -> dict[str, tf.Tensor]:
        given = {spec.name: tensor for spec, tensor in zip(specs[0], tensors, strict=True)}
        ids, new_caches = _decode(decode_step, model, given, None)
        return {"next_ids": ids, **_named("new_cache", new_caches)}

    return _convert(step, specs, opset, target.DOMAINS)


def greedy_scores_graph(model: Transformer, target: ModuleType, opset: int) -> onnx.ModelProto:
    """Traces the decoder step of greedy search with scores.

    Args:
        model: A float32 model.
        target: As for `decoder_graph`.
        opset: ONNX operator set, 18 or newer.
    """
    return _greedy_graph(model, target, opset, greedy_scores_specs(model.config))


def _greedy_graph(
    model: Transformer, target: ModuleType, opset: int, specs: Specs
) -> onnx.ModelProto:
    names = {spec.name for spec in specs[1]}

    def step(*tensors: tf.Tensor) -> dict[str, tf.Tensor]:
        given = {spec.name: tensor for spec, tensor in zip(specs[0], tensors, strict=True)}
        logits, new_caches = _decode(target.decode_step, model, given, None)
        ids = target.best_token(logits, model.config.target_vocab_size)
        found = {"next_ids": ids, LOGITS: logits, **_named("new_cache", new_caches)}
        if "next_log_probabilities" in names:
            found["next_log_probabilities"] = log_probabilities(logits, ids[:, None])[:, 0]
        return found

    return _convert(step, specs, opset, target.DOMAINS)


def _decode(
    step: Callable[..., tuple[tf.Tensor, KeysValues]],
    model: Transformer,
    given: dict[str, tf.Tensor],
    beams: tuple[tf.Tensor, tf.Tensor] | None,
) -> tuple[tf.Tensor, KeysValues]:
    names = ("target_ids", "step", "source_mask")
    cross, caches = _pairs(given, "cross"), _pairs(given, "cache")
    return step(model, *(given[name] for name in names), cross, caches, beams)


def scorer_graph(model: Transformer, target: ModuleType, opset: int) -> onnx.ModelProto:
    """Traces given translations → their tokens' log-probabilities and attention to the source.

    Args:
        model: A float32 model.
        target: The module whose `align` is traced: `fused`, `native` or `portable`.
        opset: ONNX operator set, 18 or newer.
    """
    specs = scorer_specs(model.config)

    def score(*tensors: tf.Tensor) -> dict[str, tf.Tensor]:
        given = {spec.name: tensor for spec, tensor in zip(specs[0], tensors, strict=True)}
        names = ("target_ids", "labels", "source_mask")
        log_probabilities, attention = target.align(
            model, *(given[name] for name in names), _pairs(given, "cross")
        )
        return {"log_probabilities": log_probabilities, "attention": attention}

    return _convert(score, specs, opset, target.DOMAINS)


def _pairs(given: dict[str, tf.Tensor], prefix: str) -> KeysValues:
    """The inverse of `_named`."""
    keys = [tensor for name, tensor in given.items() if name.startswith(f"{prefix}_key_")]
    values = [tensor for name, tensor in given.items() if name.startswith(f"{prefix}_value_")]
    return list(zip(keys, values, strict=True))


def _named(prefix: str, keys_values: Sequence[tuple[Any, Any]]) -> dict[str, tf.Tensor]:
    named = {}
    for layer, (key, value) in enumerate(keys_values):
        named[f"{prefix}_key_{layer}"], named[f"{prefix}_value_{layer}"] = key, value
    return named


def _convert(
    function: Callable[..., dict[str, tf.Tensor]],
    specs: Specs,
    opset: int,
    domains: Sequence[str],
) -> onnx.ModelProto:
    inputs, outputs = specs
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
            custom_op_handlers={"Erfc": (_erfc, []), **MARKER_HANDLERS},
            extra_opset=[onnx.helper.make_opsetid(domain, 1) for domain in domains],
        )
    put_weights_in(proto.graph)
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
            by_shape.setdefault((tensor.data_type, *tensor.dims), []).append(tensor)
    for (dtype, rows, columns), tensors in by_shape.items():
        for twin in by_shape.get((dtype, columns, rows), []) if rows > columns else []:
            values = to_array(twin)
            kept = next((one for one in tensors if np.array_equal(to_array(one).T, values)), None)
            if kept is not None:
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
    ordered = [
        onnx.helper.make_tensor_value_info(spec.name, _DTYPES[spec.dtype], list(spec.shape))
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
