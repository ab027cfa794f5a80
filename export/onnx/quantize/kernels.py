"""How linear layers and embeddings are stored and multiplied, which is what a precision is: values
and matrices come in, nodes leave.
"""

from typing import Protocol

import numpy as np

from keras_transformer.export.onnx.graphs.builder import GraphBuilder
from keras_transformer.export.onnx.graphs.linear import Linear


class Kernels(Protocol):
    """A precision of the graphs that are emitted."""

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
        """Returns inputs · kernel + bias, or + residual: float32 `(rows, outputs)`.

        Args:
            graph: The graph.
            inputs: float32 `(rows, inputs)`.
            layer: The layer; with a residual it has no bias.
            residual: float32 `(rows, outputs)`, or None.
            relu: Whether ReLU follows; there is no residual then.
            nonnegative: Whether the inputs come from ReLU.
        """

    def embedding(self, graph: GraphBuilder, table: np.ndarray, ids: str) -> str:
        """Looks rows of a float32 table `(ids, width)` up: float32 `(*ids.shape, width)`."""

    def logits(
        self, graph: GraphBuilder, states: str, matrix: np.ndarray, *, ranked: bool = False
    ) -> str:
        """Returns states · matrixᵀ: float32 `(rows, vocabulary)`.

        Args:
            graph: The graph.
            states: float32 `(rows, model_dim)`.
            matrix: float32 `(vocabulary, model_dim)`.
            ranked: Whether rows may be multiplied by any positive factor, each by its own.
        """


class Float32:
    """Weights as they are, multiplied as they are."""

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
        added = [one for one in (layer.bias, residual) if one is not None]
        # One operator for a product and a bias or a residual.
        found = graph.op("Gemm", inputs, layer.kernel, *added)
        return graph.op("Relu", found) if relu else found

    def embedding(self, graph: GraphBuilder, table: np.ndarray, ids: str) -> str:
        """Looks rows of a table up; see `Kernels.embedding`."""
        return graph.op("Gather", table, ids, axis=0)

    def logits(
        self, graph: GraphBuilder, states: str, matrix: np.ndarray, *, ranked: bool = False
    ) -> str:
        """Returns states · matrixᵀ; see `Kernels.logits`."""
        return graph.op("Gemm", states, matrix, transB=1)
