"""How linear layers and embeddings are stored and multiplied, which is what a precision is."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from keras_transformer.export.onnx.graphs.builder import GraphBuilder, Operand
from keras_transformer.export.onnx.graphs.linear import Linear
from keras_transformer.export.onnx.quantize.byte_screen import Screen


class Kernels(Protocol):
    """A precision of the graphs that are emitted."""

    def linear(self, graph: GraphBuilder, inputs: str, layer: Linear, residual: str = "") -> str:
        """Applies a layer to float32 `(rows, inputs)`: float32 `(rows, outputs)`.

        The residual is a value `(rows, outputs)` that is added; then the layer has no bias.
        """

    def embedding(self, graph: GraphBuilder, table: np.ndarray, ids: str) -> str:
        """Looks rows of a float32 table `(ids, width)` up: float32 `(*ids.shape, width)`."""


class NativeKernels(Kernels, Protocol):
    """A precision, and what this package's larger operators read in it."""

    def packed(self, layer: Linear) -> Sequence[Operand]:
        """Returns what operators for whole sub-layers read of a layer; nothing if they cannot."""

    def best_token(self, matrix: np.ndarray) -> Sequence[Operand]:
        """Returns what `BestToken` reads of a vocabulary's matrix; nothing if it is not used."""

    def continuations(self, matrix: np.ndarray) -> Sequence[Operand]:
        """As `best_token`, for `BestContinuationsOfStates`."""


class Float32:
    """Weights as they are, multiplied as they are; see `NativeKernels`."""

    def linear(self, graph: GraphBuilder, inputs: str, layer: Linear, residual: str = "") -> str:
        """Adds one operator for the product and the bias or the residual, and one for ReLU."""
        added = [residual] if residual else [] if layer.bias is None else [layer.bias]
        transposed = {"transB": 1} if layer.transposed else {}
        found = graph.op("Gemm", inputs, layer.kernel, *added, **transposed)
        return graph.op("Relu", found) if layer.relu else found

    def embedding(self, graph: GraphBuilder, table: np.ndarray, ids: str) -> str:
        """Gathers the rows."""
        return graph.op("Gather", table, ids, axis=0)

    def packed(self, layer: Linear) -> Sequence[Operand]:
        """Returns nothing."""
        return ()

    def best_token(self, matrix: np.ndarray) -> Sequence[Operand]:
        """Returns the matrix, behind bytes that find the candidates among which it decides."""
        return (*Screen.of(matrix), matrix)

    def continuations(self, matrix: np.ndarray) -> Sequence[Operand]:
        """Returns nothing."""
        return ()
