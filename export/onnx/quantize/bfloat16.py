"""Weights in bfloat16, the upper half of a float32, for this package's own operators.

Inputs are rounded to bfloat16 as well, row by row, and products are summed in float32, so a row's
result does not depend on the other rows, to the last bit. All else stays float32. The operators run
on every processor; `native/bfloat16/bfloat16.h` says which of them it makes faster.
"""

from collections.abc import Sequence

import numpy as np
import onnx

from keras_transformer.export.onnx.graphs.builder import GraphBuilder, Operand
from keras_transformer.export.onnx.graphs.operators import NATIVE
from keras_transformer.export.onnx.layers.linear import Linear
from keras_transformer.export.onnx.quantize.kernels import NativeKernels

BFLOAT16 = onnx.helper.tensor_dtype_to_np_dtype(onnx.TensorProto.BFLOAT16)
# As in `native/linear/linear.h` and `native/bfloat16/bfloat16.h`: outputs in a block, weights of
# each output stored together, and the number that the count of such pairs is a multiple of.
_BLOCK, _PAIR, _PAIRS = 16, 2, 16


class NativeBfloat16(NativeKernels):
    """A precision; see `NativeKernels`. One matrix serves a vocabulary's lookups and products.

    Args:
        has_shortlist: Whether products are with some of a vocabulary's rows: these lie together.
    """

    def __init__(self, *, has_shortlist: bool = False) -> None:
        self._has_shortlist = has_shortlist

    def linear(self, graph: GraphBuilder, inputs: str, layer: Linear, residual: str = "") -> str:
        """Adds one operator for the product, the bias and ReLU, and one for the residual."""
        flags = {"domain": NATIVE, "relu": int(layer.relu), "units": layer.units}
        found = graph.op("Bfloat16Linear", inputs, *self.packed(layer), **flags)
        return graph.op("Add", found, residual) if residual else found

    def embedding(self, graph: GraphBuilder, table: np.ndarray, ids: str) -> str:
        """Looks rows up and widens them."""
        if self._has_shortlist:
            return graph.cast(graph.op("Gather", table.astype(BFLOAT16), ids, axis=0), "float32")
        attributes = {"units": table.shape[0], "width": table.shape[1]}
        return graph.op("Bfloat16LookUp", pack(table), ids, domain=NATIVE, **attributes)

    def packed(self, layer: Linear) -> Sequence[Operand]:
        """Packs a layer: weights `(blocks, pairs, 16, 2)` and biases `(blocks, 16)`."""
        lines = layer.kernel if layer.transposed else layer.kernel.T
        bias = np.zeros(layer.units, np.float32) if layer.bias is None else layer.bias
        more = -len(lines) % _BLOCK
        return pack(lines), np.pad(bias, (0, more)).reshape(-1, _BLOCK)

    def listed(self, matrix: np.ndarray) -> Sequence[Operand]:
        """Returns the matrix."""
        return (matrix.astype(BFLOAT16),)


def pack(lines: np.ndarray) -> np.ndarray:
    """Rounds float32 lines `(outputs, inputs)` to bfloat16 `(blocks, pairs, 16, 2)`."""
    multiple = _PAIR * _PAIRS
    lines = np.pad(lines, ((0, -len(lines) % _BLOCK), (0, -lines.shape[1] % multiple)))
    blocks = lines.reshape(-1, _BLOCK, lines.shape[1] // _PAIR, _PAIR)
    return np.ascontiguousarray(blocks.transpose(0, 2, 1, 3)).astype(BFLOAT16)
