"""Precisions of graphs with this package's own operators."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from keras_transformer.export.onnx.graphs.builder import GraphBuilder, Operand
from keras_transformer.export.onnx.graphs.linear import Linear
from keras_transformer.export.onnx.graphs.operators import NATIVE
from keras_transformer.export.onnx.quantize.byte_screen import Screen
from keras_transformer.export.onnx.quantize.int8 import (
    FEW_WEIGHTS,
    ZERO_POINT,
    Int8,
    Int8BatchDependent,
    integer_sums,
)
from keras_transformer.export.onnx.quantize.kernels import Float32, Kernels
from keras_transformer.export.onnx.quantize.native_linear import PackedLinear

Operands = Sequence[Operand]


class NativeKernels(Kernels, Protocol):
    """A precision, and what our larger operators read in it."""

    def packed(self, layer: Linear) -> PackedLinear | None:
        """Returns what operators for whole sub-layers read of a layer; None where they cannot."""

    def best_token(self, matrix: np.ndarray) -> Operands | None:
        """Returns what `BestToken` reads of a vocabulary's matrix; None where it is not used."""

    def continuations(self, matrix: np.ndarray) -> Operands | None:
        """As `best_token`, for `BestContinuationsOfStates`."""


class NativeFloat32(Float32):
    """Weights as they are; bytes find the candidates among which they decide."""

    def packed(self, layer: Linear) -> PackedLinear | None:
        """See `NativeKernels.packed`."""
        return None

    def best_token(self, matrix: np.ndarray) -> Operands | None:
        """See `NativeKernels.best_token`."""
        return (*Screen.of(matrix), matrix)

    def continuations(self, matrix: np.ndarray) -> Operands | None:
        """See `NativeKernels.continuations`."""
        return None


class NativeInt8(Int8):
    """int8 weights, and inputs with a scale for each row: of 16 bits for small matrices."""

    def linear(
        self,
        graph: GraphBuilder,
        inputs: str,
        layer: Linear,
        *,
        residual: str | None = None,
        relu: bool = False,
        nonnegative: bool = False,
    ) -> str:
        """Returns inputs · kernel + bias, or + residual; see `Kernels.linear`."""
        packed = self.packed(layer)
        if packed is not None:
            found = _words(graph, inputs, packed, layer.kernel.shape[1], relu)
        else:
            values, scales = self.lines(layer.kernel, axis=1, summed=True)
            found = _rows(graph, inputs, values, scales, layer.bias, relu, nonnegative)
        return found if residual is None else graph.op("Add", found, residual)

    def packed(self, layer: Linear) -> PackedLinear | None:
        """See `NativeKernels.packed`."""
        if layer.kernel.size >= FEW_WEIGHTS:
            return None
        values, scales = self.lines(layer.kernel, axis=1, summed=False)
        bias = np.zeros_like(scales) if layer.bias is None else layer.bias
        return PackedLinear.of(values.T, scales, bias)

    def embedding(self, graph: GraphBuilder, table: np.ndarray, ids: str) -> str:
        """Looks rows of a table up; see `Kernels.embedding`."""
        return _look_up(self, graph, table, ids)

    def logits(
        self, graph: GraphBuilder, states: str, matrix: np.ndarray, *, ranked: bool = False
    ) -> str:
        """Returns states · matrixᵀ; see `Kernels.logits`."""
        few = matrix.size < FEW_WEIGHTS
        values, scales = self.lines(matrix, axis=0, summed=not few)
        if few:
            packed = PackedLinear.of(values, scales, np.zeros_like(scales))
            return _words(graph, states, packed, len(matrix), relu=False)
        kernel = self.transposed(graph, values)
        return _rows(graph, states, kernel, scales, None, relu=False, nonnegative=False)

    def best_token(self, matrix: np.ndarray) -> Operands | None:
        """See `NativeKernels.best_token`."""
        if matrix.size < FEW_WEIGHTS:
            return None
        return Screen.packed(*self.lines(matrix, axis=0, summed=True))

    def continuations(self, matrix: np.ndarray) -> Operands | None:
        """See `NativeKernels.continuations`."""
        return self.best_token(matrix)


class NativeInt8BatchDependent(Int8BatchDependent):
    """int8 weights, and inputs with one scale for all rows."""

    def embedding(self, graph: GraphBuilder, table: np.ndarray, ids: str) -> str:
        """Looks rows of a table up; see `Kernels.embedding`."""
        return _look_up(self, graph, table, ids)

    def packed(self, layer: Linear) -> PackedLinear | None:
        """See `NativeKernels.packed`."""
        return None

    def best_token(self, matrix: np.ndarray) -> Operands | None:
        """See `NativeKernels.best_token`."""
        return None

    def continuations(self, matrix: np.ndarray) -> Operands | None:
        """See `NativeKernels.continuations`."""
        return None


def _words(graph: GraphBuilder, inputs: str, packed: PackedLinear, units: int, relu: bool) -> str:
    """Multiplies rows in words of 16 bits, each row with its own scale."""
    flags = {"units": units, "relu": int(relu)}
    return graph.op("BytesLinear", inputs, *packed, domain=NATIVE, **flags)


def _rows(
    graph: GraphBuilder,
    inputs: str,
    kernel: Operand,
    scales: np.ndarray,
    bias: np.ndarray | None,
    relu: bool,
    nonnegative: bool,
) -> str:
    """Multiplies rows in bytes, each row with its own scale."""
    middle = 0 if nonnegative else ZERO_POINT
    rows, row_scales = graph.ops("QuantizeRows", inputs, count=2, domain=NATIVE, middle=middle)
    sums = integer_sums(graph, rows, kernel, np.uint8(middle) if middle else None)
    operands = [sums, scales, row_scales, *([] if bias is None else [bias])]
    return graph.op("ScaleSums", *operands, domain=NATIVE, relu=int(relu))


def _look_up(
    kernels: Int8 | Int8BatchDependent, graph: GraphBuilder, table: np.ndarray, ids: str
) -> str:
    if table.size < FEW_WEIGHTS:
        return graph.op("Gather", table, ids, axis=0)
    return graph.op("LookUp", *kernels.lines(table, axis=0, summed=True), ids, domain=NATIVE)
