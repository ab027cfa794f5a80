"""The operator domains other than standard ONNX; records the version of our own in a graph."""

import onnx

from keras_transformer.runtime.onnx_graphs.operators import operators_version

MICROSOFT = "com.microsoft"
# Our own domain; its kernels are in `keras_transformer/runtime/native`.
NATIVE = "keras_transformer"


def record_version(model: onnx.ModelProto) -> None:
    """Records which version of this package's own operators a graph is written for.

    The version is that of their domain, and also an attribute of each operator: onnxruntime accepts
    every later version of a domain, and shows an operator only its attributes.
    """
    version = operators_version()
    for entry in model.opset_import:
        if entry.domain == NATIVE:
            entry.version = version
    for node in model.graph.node:
        if node.domain == NATIVE:
            node.attribute.append(onnx.helper.make_attribute("operators_version", version))
