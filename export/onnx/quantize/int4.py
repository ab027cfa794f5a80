"""Linear layers and embeddings with 4-bit weights in blocks of inputs.

onnxruntime's `MatMulNBits` multiplies them, and `GatherBlockQuantized` looks rows up. Inputs are
rounded to bytes in the same blocks, row by row, so that a row's result depends on the other rows by
the order of sums at most. Layers of a few outputs, such as a classifier's, stay float32.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from keras_transformer.export.onnx.graphs.builder import GraphBuilder, digest, integers
from keras_transformer.export.onnx.graphs.operators import MICROSOFT
from keras_transformer.export.onnx.layers.linear import Linear
from keras_transformer.export.onnx.quantize.int4_blocks import BFLOAT16, Int4Blocks
from keras_transformer.export.onnx.quantize.kernels import Float32
from keras_transformer.export.onnx.settings import Int4Form

# Fewer outputs, or rows of a table, stay float32: they take no room, and are often the last layer.
_FEW_OUTPUTS = 16
# That of inputs in bytes, each block with a scale of its own.
_ACCURACY_LEVEL = 4


class Int4Matrices:
    """The matrices of an export in 4 bits, each quantised once for all graphs and targets.

    Args:
        form: Their form.
        quantize: Quantises lines `(outputs, inputs)`; by default each weight to the nearest.
    """

    def __init__(
        self, form: Int4Form, quantize: Callable[[np.ndarray], Int4Blocks] | None = None
    ) -> None:
        self.form = form
        self._quantize = quantize or partial(Int4Blocks.nearest, form=form)
        self._made: dict[bytes, Int4Blocks] = {}

    def blocks(self, lines: np.ndarray) -> Int4Blocks:
        """Quantises lines `(outputs, inputs)`.

        Raises:
            ValueError: The matrix holds a value that is not finite.
        """
        key = digest(lines)
        if key not in self._made:
            if not np.isfinite(lines).all():
                raise ValueError(
                    f"a matrix {lines.shape[0]} × {lines.shape[1]} holds a value that is not "
                    "finite, which int4 cannot hold: export an earlier checkpoint."
                )
            self._made[key] = self._quantize(lines)
        return self._made[key]


class Int4:
    """4-bit weights for onnxruntime's operators; see `Kernels`.

    Args:
        matrices: The weights.
    """

    def __init__(self, matrices: Int4Matrices) -> None:
        self.matrices = matrices
        self.form = matrices.form

    def linear(self, graph: GraphBuilder, inputs: str, layer: Linear, residual: str = "") -> str:
        """Adds one operator for the product and the bias, one for the residual and one for ReLU."""
        if stays_float(layer.units):
            return Float32().linear(graph, inputs, layer, residual)
        lines = lines_of(layer)
        values, scales, zeros = self.operands(graph, lines)
        sizes = {"K": lines.shape[1], "N": len(lines), "block_size": self.form.block_size}
        flags = {"domain": MICROSOFT, "bits": 4, "accuracy_level": _ACCURACY_LEVEL, **sizes}
        operands = (values, graph.reshape(scales, -1), zeros and graph.reshape(zeros, -1))
        found = graph.op("MatMulNBits", inputs, *operands, None, layer.bias, **flags)
        found = graph.op("Add", found, residual) if residual else found
        return graph.op("Relu", found) if layer.relu else found

    def embedding(self, graph: GraphBuilder, table: np.ndarray, ids: str) -> str:
        """Looks rows up as 4-bit integers."""
        if stays_float(len(table)):
            return graph.op("Gather", table, ids, axis=0)
        values, scales, zeros = self.operands(graph, table)
        flags: dict[str, Any] = {"bits": 4, "block_size": self.form.block_size}
        flags |= {"gather_axis": 0, "quantize_axis": 1, "domain": MICROSOFT}
        rows = graph.reshape(values, len(table), -1)
        given = [rows, ids, scales, *([zeros] if zeros else [])]
        found = graph.op("GatherBlockQuantized", *given, **flags)
        whole = table.shape[1] % self.form.block_size == 0
        return found if whole else _narrowed(graph, found, table.shape[1])

    def operands(self, graph: GraphBuilder, lines: np.ndarray) -> tuple[str, str, str | None]:
        """Returns values of a graph: integers, two in a byte, `(outputs, blocks, block size / 2)`,
        float32 scales `(outputs, blocks)`, and zero points `(outputs, blocks / 2)`, if they differ.
        """
        values, scales, zeros = self.matrices.blocks(lines)
        # onnxruntime casts them only once, when it loads the graph.
        stored = graph.operand(scales.astype(BFLOAT16))
        cast = graph.shared(("float32", stored), lambda: graph.cast(stored, "float32"))
        own = graph.operand(two_in_a_byte(zeros)) if self.form.zero_points else None
        return graph.operand(two_in_a_byte(values)), cast, own

    def hidden_units(self, output: Linear) -> None:
        """Returns None: an outlier reduces the precision of its own block alone."""


def stays_float(outputs: int) -> bool:
    """Whether a matrix with so many outputs, or rows of a table, stays float32."""
    return outputs < _FEW_OUTPUTS


def lines_of(layer: Linear) -> np.ndarray:
    """Returns a layer's weights `(outputs, inputs)`."""
    return layer.kernel if layer.transposed else layer.kernel.T


def two_in_a_byte(values: np.ndarray) -> np.ndarray:
    """Packs 4-bit integers along the last axis, the first of two in the lower half of a byte."""
    values = np.pad(values, [(0, 0)] * (values.ndim - 1) + [(0, values.shape[-1] % 2)])
    return values[..., ::2] | values[..., 1::2] << 4


def _narrowed(graph: GraphBuilder, found: str, width: int) -> str:
    """Cuts what the last block was filled up with."""
    return graph.op("Slice", found, integers(0), integers(width), integers(-1))
