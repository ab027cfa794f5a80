"""Takes TensorFlow functions and returns ONNX graphs, through tf2onnx: for the portable target, and
for activations that no emitter knows.
"""

import logging
import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import onnx
import tensorflow as tf
import tf2onnx
from onnx.numpy_helper import to_array

from keras_transformer.artefact.entries import TensorSpec
from keras_transformer.models.files.keras_export import teach_erfc

# Read by tf2onnx.
_CATCH_ERRORS = "TF2ONNX_CATCH_ERRORS"


def converted(
    function: Callable[..., dict[str, tf.Tensor]],
    specs: tuple[Sequence[TensorSpec], Sequence[TensorSpec]],
    opset: int,
) -> onnx.ModelProto:
    """Traces a function of tensors and converts it.

    Args:
        function: Takes the inputs in order and returns the outputs by name.
        specs: Its inputs and outputs.
        opset: ONNX operator set, 18 or newer.

    Raises:
        RuntimeError: tf2onnx lost or renamed an input or an output.
        ValueError: tf2onnx does not write this operator set.
    """
    newest = max(tf2onnx.constants.OPSET_TO_IR_VERSION)
    if opset > newest:
        raise ValueError(
            f"opset must be at most {newest} for target='portable' and for activations without a "
            f"form of our own, which tf2onnx writes, got {opset}."
        )
    inputs, outputs = specs
    signature = [
        tf.TensorSpec(
            [size if isinstance(size, int) else None for size in spec.shape],
            tf.dtypes.as_dtype(spec.dtype),
            name=spec.name,
        )
        for spec in inputs
    ]
    # Keras layers are already plain TensorFlow; autograph would only slow down tracing.
    traced = tf.function(function, input_signature=signature, autograph=False)
    teach_erfc()
    with _quiet(), _without_copies():
        proto, _ = tf2onnx.convert.from_function(
            traced,
            input_signature=signature,
            opset=opset,
        )
    for values, wanted in ((proto.graph.input, inputs), (proto.graph.output, outputs)):
        found, names = {value.name for value in values}, {spec.name for spec in wanted}
        if found != names:
            raise RuntimeError(
                f"tf2onnx made the values {', '.join(sorted(found))}, expected "
                f"{', '.join(sorted(names))}: this version of tf2onnx is not supported."
            )
    _share_transposed(proto.graph)
    return proto


def _share_transposed(graph: onnx.GraphProto) -> None:
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
    """Spares tf2onnx a copy of the graph before each of its passes, a third of the time.

    It keeps one to go back to when a pass fails; here a failure ends the export instead.
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
