"""4-bit weights packed for this package's own operators, which a vocabulary's lookups and products
share, and the nodes that unpack them for onnxruntime's.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from keras_transformer.export.onnx.graphs.builder import GraphBuilder, Operand, integers
from keras_transformer.export.onnx.graphs.operators import NATIVE
from keras_transformer.export.onnx.layers.linear import Linear
from keras_transformer.export.onnx.quantize.int4 import (
    Int4,
    Int4Matrices,
    lines_of,
    stays_float,
    two_in_a_byte,
)
from keras_transformer.export.onnx.quantize.int4_blocks import BFLOAT16, Int4Blocks
from keras_transformer.export.onnx.quantize.kernels import NativeKernels
from keras_transformer.export.onnx.quantize.native_float32 import NativeFloat32
from keras_transformer.export.onnx.settings import Int4Form

# As in `native/int4/int4.h`: outputs in a block, inputs whose weights lie together, and bytes that
# hold a scale.
_BLOCK, _OCTET, _SCALE = 16, 8, 2
_END = np.iinfo(np.int64).max
# A bfloat16 is (-1)ˢ · (128 + mantissa) · 2^(exponent - 134).
_MANTISSA, _SIGN, _BIAS = 1 << 7, 1 << 15, 134


class NativeInt4(Int4, NativeKernels):
    """4-bit weights for this package's operators; see `NativeKernels`.

    Args:
        matrices: The weights.
        has_shortlist: Whether products are with some of a vocabulary's rows: these are bfloat16.
    """

    def __init__(self, matrices: Int4Matrices, *, has_shortlist: bool = False) -> None:
        super().__init__(matrices)
        self._has_shortlist = has_shortlist

    def linear(self, graph: GraphBuilder, inputs: str, layer: Linear, residual: str = "") -> str:
        """Adds one operator for the product, the bias and ReLU, and one for the residual."""
        if stays_float(layer.units):
            return NativeFloat32().linear(graph, inputs, layer, residual)
        flags = {"domain": NATIVE, "relu": int(layer.relu), "units": layer.units}
        found = graph.op("Int4Linear", inputs, *self.packed(layer), **flags)
        return graph.op("Add", found, residual) if residual else found

    def embedding(self, graph: GraphBuilder, table: np.ndarray, ids: str) -> str:
        """Looks rows up as 4-bit integers."""
        if stays_float(len(table)):
            return NativeFloat32().embedding(graph, table, ids)
        if self._has_shortlist:
            return graph.cast(graph.op("Gather", *self.listed(table), ids, axis=0), "float32")
        attributes = {"units": table.shape[0], "width": table.shape[1], "domain": NATIVE}
        return graph.op(
            "Int4LookUp", pack(self.matrices.blocks(table), self.form), ids, **attributes
        )

    def packed(self, layer: Linear) -> Sequence[Operand]:
        """Packs a layer's weights, see `pack`, and biases `(blocks, 16)`."""
        if stays_float(layer.units):
            return NativeFloat32().packed(layer)
        bias = np.zeros(layer.units, np.float32) if layer.bias is None else layer.bias
        bias = np.pad(bias, (0, -layer.units % _BLOCK)).reshape(-1, _BLOCK)
        return pack(self.matrices.blocks(lines_of(layer)), self.form), bias

    def listed(self, matrix: np.ndarray) -> Sequence[Operand]:
        """Returns the 4-bit matrix as bfloat16."""
        return (self.matrices.blocks(matrix).lines(matrix.shape[1]).astype(BFLOAT16),)


class SharedInt4(Int4):
    """As `Int4`, for graphs that share their weights with those of `NativeInt4`.

    onnxruntime unpacks them only once, when it loads the graph.
    """

    def operands(self, graph: GraphBuilder, lines: np.ndarray) -> tuple[str, str, str | None]:
        """Returns the operands of `Int4.operands`, from what `pack` made."""
        blocks = self.matrices.blocks(lines)
        stored = graph.operand(pack(blocks, self.form))
        shape, own = blocks.values.shape, self.form.zero_points
        make = ("unpacked", stored), lambda: unpacked(graph, stored, shape, zero_points=own)
        return graph.shared(*make)


def pack(blocks: Int4Blocks, form: Int4Form) -> np.ndarray:
    """Packs 4-bit weights: uint8 `(output blocks, blocks, lines, 16)`.

    The lines are scales, zero points if they differ, and the integers.
    """
    values, scales, zeros = (_filled(part) for part in blocks)
    outputs, count = scales.shape
    shape = outputs // _BLOCK, _BLOCK, count
    # [output blocks, 16, blocks, octets, 4] → [output blocks, blocks, octets, 16, 4]
    halves = two_in_a_byte(values).reshape(*shape, -1, _OCTET // 2).transpose(0, 2, 3, 1, 4)
    of_scales = scales.astype(BFLOAT16).view(np.uint8).reshape(*shape, _SCALE)
    lines = [of_scales.transpose(0, 2, 1, 3), halves]
    if form.zero_points:
        lines.insert(1, zeros.reshape(shape).transpose(0, 2, 1))
    flat = [part.reshape(shape[0], count, -1, _BLOCK) for part in lines]
    return np.concatenate(flat, axis=2)


def unpacked(
    graph: GraphBuilder, stored: str, shape: tuple[int, ...], *, zero_points: bool
) -> tuple[str, str, str | None]:
    """Returns the operands of `Int4.operands`, from a value that `pack` made.

    Args:
        graph: The graph.
        stored: The value.
        shape: That of the integers, `(outputs, blocks, block size)`.
        zero_points: Whether there are zero points.
    """
    outputs, count, size = shape

    def part(first: int, last: int, *sizes: int, perm: Sequence[int], to: Sequence[int]) -> str:
        """Returns lines as the outputs have them."""
        found = graph.op("Slice", stored, integers(first), integers(last), integers(2))
        found = graph.op("Transpose", graph.reshape(found, 0, 0, *sizes), perm=perm)
        found = graph.reshape(found, -1, *to)
        return graph.op("Slice", found, integers(0), integers(outputs), integers(0))

    first = _SCALE + zero_points
    sizes = size // _OCTET, _BLOCK, _OCTET // 2
    values = part(first, _END, *sizes, perm=[0, 3, 1, 2, 4], to=(count, size // 2))
    halves = part(0, _SCALE, _BLOCK, _SCALE, perm=[0, 2, 1, 3], to=(count, _SCALE))
    scales = _as_floats(graph, graph.cast(halves, "int32"))
    if not zero_points:
        return values, scales, None
    zeros = part(_SCALE, first, _BLOCK, perm=[0, 2, 1], to=(count,))
    return values, scales, _two_in_a_byte(graph, graph.cast(zeros, "int32"), count)


def _as_floats(graph: GraphBuilder, halves: str) -> str:
    """Returns the bfloat16 numbers of two bytes, integers `(…, 2)`, as float32."""
    low, high = (graph.op("Gather", halves, np.int64(place), axis=2) for place in (0, 1))
    bits = graph.op("Add", graph.op("Mul", high, np.int32(256)), low)
    size = graph.op("Mod", bits, np.int32(_SIGN))
    exponent = graph.op("Div", size, np.int32(_MANTISSA))
    exponent = graph.op("Sub", graph.cast(exponent, "float32"), np.float32(_BIAS))
    mantissa = graph.op("Add", graph.op("Mod", size, np.int32(_MANTISSA)), np.int32(_MANTISSA))
    power = graph.op("Pow", np.float32(2), exponent)
    number = graph.op("Mul", graph.cast(mantissa, "float32"), power)
    is_negative = graph.op("GreaterOrEqual", bits, np.int32(_SIGN))
    return graph.op("Where", is_negative, graph.op("Neg", number), number)


def _two_in_a_byte(graph: GraphBuilder, values: str, count: int) -> str:
    """Packs integers `(outputs, count)` as `int4.two_in_a_byte` does."""
    if count % 2:
        values = graph.op("Pad", values, integers(0, 0, 0, 1))
    ends: list[Any] = [integers(_END), integers(1), integers(2)]
    low, high = (graph.op("Slice", values, integers(start), *ends) for start in (0, 1))
    return graph.cast(graph.op("Add", low, graph.op("Mul", high, np.int32(16))), "uint8")


def _filled(values: np.ndarray) -> np.ndarray:
    """Fills outputs up to a multiple of 16."""
    more = -len(values) % _BLOCK
    return np.pad(values, [(0, more)] + [(0, 0)] * (values.ndim - 1))
