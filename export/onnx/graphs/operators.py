"""ONNX operators inside a TensorFlow trace: a marker node carries the operator's description, and
tf2onnx, given `MARKER_HANDLERS`, puts the operator in its place. The trace itself cannot be run.
"""

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
import tensorflow as tf
from onnx.numpy_helper import from_array

from keras_transformer.runtime.onnx_graphs.operators import operators_version

MICROSOFT = "com.microsoft"
# Our own; `keras_transformer/runtime/native` has their kernels.
NATIVE = "keras_transformer"
_WEIGHTS = "weights"
# Smaller ones pass through TensorFlow and tf2onnx, which fold them where they can.
_SMALLEST_WEIGHT = 4096
_MARKER = "PyFunc"

Output = tuple[tf.DType, Sequence[int | None]]


def onnx_operator(
    name: str,
    inputs: Sequence[tf.Tensor | None],
    outputs: Sequence[Output],
    *,
    domain: str = "",
    **attributes: Any,
) -> list[tf.Tensor]:
    """Puts an ONNX operator into the TensorFlow graph being traced.

    Args:
        name: The operator, such as "Gemm".
        inputs: Its inputs in order; None leaves an optional one out.
        outputs: Type and shape of each output, None for a size that is not known.
        domain: Its operator domain; empty for standard ONNX.
        **attributes: Its attributes.

    Returns:
        Its outputs.
    """
    given = [tensor for tensor in inputs if tensor is not None]
    places = iter(range(len(given)))
    description = {
        "operator": name,
        "domain": domain,
        "inputs": [None if tensor is None else next(places) for tensor in inputs],
        "attributes": attributes,
    }
    results = tf.raw_ops.PyFunc(
        input=given, token=json.dumps(description), Tout=[dtype for dtype, _ in outputs]
    )
    for tensor, (_, shape) in zip(results, outputs, strict=True):
        tensor.set_shape(shape)
    return list(results)


def weight(values: np.ndarray) -> tf.Tensor:
    """Puts a float32 or int8 array into the TensorFlow graph being traced.

    A large one only by name, until `put_weights_in` gives it its values: copies of it in every form
    that a graph takes on its way would need many times its memory, and TensorFlow's graphs end at
    2 GB.
    """
    if values.size < _SMALLEST_WEIGHT:
        return tf.constant(values)
    key = f"weight_{len(_waiting)}"
    _waiting[key] = values
    [named] = onnx_operator(key, [], [(values.dtype, values.shape)], domain=_WEIGHTS)
    return named


def put_weights_in(graph: onnx.GraphProto) -> None:
    """Replaces the names of large matrices by the matrices, and forgets them."""
    named = [node for node in graph.node if node.domain == _WEIGHTS]
    for node in named:
        graph.initializer.append(from_array(_waiting[node.op_type], node.output[0]))
        graph.node.remove(node)
    _waiting.clear()


_waiting: dict[str, np.ndarray] = {}


def record_version(model: onnx.ModelProto) -> None:
    """Records which version of this package's own operators a graph is written for.

    It is the version of their domain, and an attribute of each: onnxruntime accepts every later
    version of a domain, and shows an operator its attributes only.
    """
    version = operators_version()
    for entry in model.opset_import:
        if entry.domain == NATIVE:
            entry.version = version
    for node in model.graph.node:
        if node.domain == NATIVE:
            node.attribute.append(onnx.helper.make_attribute("operators_version", version))


def _place(context: Any, node: Any, name: str, _: Any) -> None:
    description = json.loads(node.get_attr("token").s.decode())
    inputs = ["" if place is None else node.input[place] for place in description["inputs"]]
    shapes, dtypes, outputs = node.output_shapes, node.output_dtypes, list(node.output)
    context.remove_node(node.name)
    context.make_node(
        description["operator"],
        inputs,
        attr=description["attributes"],
        domain=description["domain"],
        name=name,
        outputs=outputs,
        shapes=shapes,
        dtypes=dtypes,
    )


MARKER_HANDLERS: dict[str, Any] = {_MARKER: (_place, [])}
