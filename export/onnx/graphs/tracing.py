"""Conversion of TensorFlow functions with tf2onnx, for the portable target and for activations
without an emitter.
"""

import logging
import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import keras
import numpy as np
import onnx
import tensorflow as tf
import tf2onnx
from onnx.numpy_helper import from_array, to_array
from onnx.reference import ReferenceEvaluator

from keras_transformer.artefact.entries import GraphTensor
from keras_transformer.export.onnx.graphs.builder import names_read
from keras_transformer.models.files.keras_export import teach_erfc

_WEIGHT = "weight_"
# Read by tf2onnx.
_CATCH_ERRORS = "TF2ONNX_CATCH_ERRORS"


def converted(
    function: Callable[..., dict[str, tf.Tensor]],
    specs: tuple[Sequence[GraphTensor], Sequence[GraphTensor]],
    opset: int,
    weights: Sequence[keras.Variable] = (),
) -> onnx.ModelProto:
    """Traces a function of tensors and converts it; see `without_weights`."""
    found = with_weights(without_weights(function, specs, opset, weights), weights)
    share_transposed(found.graph)
    return found


def without_weights(
    function: Callable[..., dict[str, tf.Tensor]],
    specs: tuple[Sequence[GraphTensor], Sequence[GraphTensor]],
    opset: int,
    weights: Sequence[keras.Variable],
) -> onnx.ModelProto:
    """Traces a function of tensors and converts it with its weights as further inputs.

    Args:
        function: Takes the inputs in order and returns the outputs by name.
        specs: Its inputs and outputs.
        opset: ONNX operator set, 18 or newer.
        weights: The variables that it reads. TensorFlow and tf2onnx take them for inputs, as each
            of their passes copies all constants.

    Raises:
        RuntimeError: tf2onnx lost or renamed an input or an output.
        ValueError: tf2onnx does not write this operator set.
    """
    newest = max(tf2onnx.constants.OPSET_TO_IR_VERSION)
    if opset > newest:
        raise ValueError(
            f"opset must be at most {newest} for target='portable' and for activations that only "
            f"tf2onnx converts, got {opset}."
        )
    inputs, outputs = specs
    named = _named(weights)
    signature = [*map(_traced, inputs)]
    signature += [tf.TensorSpec(one.shape, one.dtype, name) for name, one in named.items()]

    def stateless(*tensors: tf.Tensor) -> dict[str, tf.Tensor]:
        given, values = tensors[: len(inputs)], tensors[len(inputs) :]
        with keras.StatelessScope(list(zip(weights, values, strict=True))):
            return function(*given)

    # Keras layers are already plain TensorFlow; autograph would only slow down tracing.
    traced = tf.function(stateless, input_signature=signature, autograph=False)
    teach_erfc()
    with _quiet(), _without_copies():
        proto, _ = tf2onnx.convert.from_function(
            traced,
            input_signature=signature,
            opset=opset,
        )
    for values, wanted in ((proto.graph.input, signature), (proto.graph.output, outputs)):
        found, names = {value.name for value in values}, {spec.name for spec in wanted}
        if found != names:
            raise RuntimeError(
                f"tf2onnx made the values {', '.join(sorted(found))}, expected "
                f"{', '.join(sorted(names))}: this version of tf2onnx is not supported."
            )
    return proto


def with_weights(model: onnx.ModelProto, weights: Sequence[keras.Variable]) -> onnx.ModelProto:
    """Returns a copy of what `without_weights` made, with the values of such weights."""
    stored = onnx.ModelProto()
    stored.CopyFrom(model)
    _store(stored, {name: one.numpy() for name, one in _named(weights).items()})
    return stored


def _named(weights: Sequence[keras.Variable]) -> dict[str, keras.Variable]:
    return {f"{_WEIGHT}{number}": weight for number, weight in enumerate(weights)}


def _traced(spec: GraphTensor) -> tf.TensorSpec:
    shape = [size if isinstance(size, int) else None for size in spec.shape]
    return tf.TensorSpec(shape, tf.dtypes.as_dtype(spec.dtype), name=spec.name)


def _store(model: onnx.ModelProto, weights: dict[str, np.ndarray]) -> None:
    """Stores weights that were inputs, and what nodes compute of nothing else in their place."""
    graph = model.graph
    known = weights | {tensor.name: to_array(tensor) for tensor in graph.initializer}
    constant, nodes, kept = {"", *known}, list[onnx.NodeProto](), list[onnx.NodeProto]()
    for node in graph.node:
        has_graph = any(attribute.HasField("g") for attribute in node.attribute)
        is_constant = constant.issuperset(node.input) and bool(node.input) and not has_graph
        (nodes if is_constant else kept).append(node)
        constant.update(node.output if is_constant else ())
    inputs = [value for value in graph.input if value.name not in weights]
    for field, values in ((graph.node, kept), (graph.input, inputs)):
        copies = list(values)
        del field[:]
        field.extend(copies)
    stored = sorted(constant.intersection(names_read(graph)) - {""})
    made = [name for name in stored if name not in known]
    folded = onnx.helper.make_function("", "folded", list(known), made, nodes, model.opset_import)
    found = ReferenceEvaluator(folded).run(None, known, attributes={})
    known |= dict(zip(made, found, strict=True))
    del graph.initializer[:]
    graph.initializer.extend(from_array(known[name], name) for name in stored)


def share_transposed(graph: onnx.GraphProto) -> None:
    """Stores a matrix once if the graph holds it and its transpose, as for a tied embedding.

    A runtime such as onnxruntime transposes it once, when it loads the graph.
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


@contextmanager
def _without_copies() -> Iterator[None]:
    """Keeps tf2onnx from copying the graph before each of its passes, which takes a third of the
    time. The copy is for going back when a pass fails; here a failure ends the export.
    """
    before = os.environ.get(_CATCH_ERRORS)
    os.environ[_CATCH_ERRORS] = "FALSE"
    try:
        yield
    finally:
        del os.environ[_CATCH_ERRORS]
        if before is not None:
            os.environ[_CATCH_ERRORS] = before


@contextmanager
def _quiet() -> Iterator[None]:
    """Silences tf2onnx's progress log and the warnings that its libraries raise on import."""
    loggers = [logging.getLogger(name) for name in ("tf2onnx", "tensorflow")]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        # Our own checks find and report what goes wrong.
        logger.setLevel(logging.CRITICAL)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
