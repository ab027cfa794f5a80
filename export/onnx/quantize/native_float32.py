"""Weights and products in float32 by this package's own operators.

A row's result does not depend on the other rows, to the last bit. Weights are stored as
onnxruntime's operators read them, so that both share one file.
"""

from collections.abc import Sequence

import numpy as np

from keras_transformer.export.onnx.graphs.builder import GraphBuilder, Operand
from keras_transformer.export.onnx.graphs.operators import NATIVE
from keras_transformer.export.onnx.layers.linear import Linear
from keras_transformer.export.onnx.quantize.byte_screen import ByteScreen
from keras_transformer.export.onnx.quantize.kernels import NativeKernels


class NativeFloat32(NativeKernels):
    """A precision; see `NativeKernels`."""

    def linear(self, graph: GraphBuilder, inputs: str, layer: Linear, residual: str = "") -> str:
        """Adds one operator for the product, the bias and ReLU, and one for the residual."""
        flags = {
            "relu": int(layer.relu),
            "transposed": int(layer.transposed),
            "units": layer.units,
            "domain": NATIVE,
        }
        found = graph.op("Float32Linear", inputs, layer.kernel, _bias(layer), **flags)
        return graph.op("Add", found, residual) if residual else found

    def embedding(self, graph: GraphBuilder, table: np.ndarray, ids: str) -> str:
        """Looks rows up."""
        return graph.op("Float32LookUp", table, ids, domain=NATIVE)

    def packed(self, layer: Linear) -> Sequence[Operand]:
        """Returns the weights `(inputs, outputs)` and the biases `(outputs,)`."""
        return layer.kernel, _bias(layer)

    def best_token(self, matrix: np.ndarray) -> Sequence[Operand]:
        """Returns bytes that find candidates, then the matrix, which decides among them."""
        return (*ByteScreen.of(matrix), matrix)

    def continuations(self, matrix: np.ndarray) -> Sequence[Operand]:
        """Returns the matrix, for `BestContinuationsOfFloats`."""
        return (matrix,)

    def listed(self, matrix: np.ndarray) -> Sequence[Operand]:
        """Returns the matrix."""
        return (matrix,)


def _bias(layer: Linear) -> np.ndarray:
    return np.zeros(layer.units, np.float32) if layer.bias is None else layer.bias
