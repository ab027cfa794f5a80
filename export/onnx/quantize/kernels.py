"""The interface of a precision: how linear layers and embeddings are stored and multiplied.
`Float32` is the simplest one.
"""

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from keras_transformer.export.onnx.graphs.builder import GraphBuilder, Operand
from keras_transformer.export.onnx.layers.linear import Linear


class Kernels(Protocol):
    """A precision of the graphs that are emitted."""

    def linear(self, graph: GraphBuilder, inputs: str, layer: Linear, residual: str = "") -> str:
        """Applies a layer to float32 `(rows, inputs)`: float32 `(rows, outputs)`.

        A residual is a value `(rows, outputs)` that is added; a layer with one has no bias.
        """

    def embedding(self, graph: GraphBuilder, table: np.ndarray, ids: str) -> str:
        """Looks up rows of a float32 table `(ids, width)`: float32 `(*ids.shape, width)`."""

    def hidden_units(self, output: Linear) -> tuple[np.ndarray, Linear] | None:
        """Returns the indices of hidden units of a feed-forward layer, some of them repeated, and
        the second linear layer for these; None to leave the layer unchanged, as floats do, in which
        outliers do not reduce the precision of other weights.
        """
        return None


class NativeKernels(Kernels, Protocol):
    """A precision that also packs weights for this package's larger operators."""

    def packed(self, layer: Linear) -> Sequence[Operand]:
        """Returns a layer's operands for operators of whole sub-layers; none if they cannot."""

    def best_token(self, matrix: np.ndarray) -> Sequence[Operand]:
        """Returns a vocabulary's operands for `BestToken`; none if all logits are computed and
        searched for the largest.
        """
        return ()

    def continuations(self, matrix: np.ndarray) -> Sequence[Operand]:
        """Returns a vocabulary's operands for `BestContinuationsOfStates` or
        `BestContinuationsOfFloats`; none as for `best_token`.
        """
        return ()

    def listed(self, matrix: np.ndarray) -> Sequence[Operand]:
        """Returns a vocabulary's operands for `ListedLogits`, or for `ListedByteLogits`."""


class Float32(Kernels):
    """Weights and products in float32 by onnxruntime's operators; see `Kernels`."""

    def linear(self, graph: GraphBuilder, inputs: str, layer: Linear, residual: str = "") -> str:
        """Adds one operator for the product and the bias or the residual, and one for ReLU."""
        added = [residual] if residual else [] if layer.bias is None else [layer.bias]
        transposed = {"transB": 1} if layer.transposed else {}
        found = graph.op("Gemm", inputs, layer.kernel, *added, **transposed)
        return graph.op("Relu", found) if layer.relu else found

    def embedding(self, graph: GraphBuilder, table: np.ndarray, ids: str) -> str:
        """Gathers the rows."""
        return graph.op("Gather", table, ids, axis=0)
