"""8-bit weights for ONNX graphs: a float32 graph comes in, a copy leaves whose linear layers have
int8 weights and whose embedding table is int8, too.

Every kernel stores int8 weights with a scale for each output:

============  ===================================  ===================
kernel        operator that multiplies             scales of the inputs
============  ===================================  ===================
weights_only  float32's own                        none
words         our BytesLinear                      row, 16 bits
rows          MatMulIntegerToFloat, or             row
              MatMulInteger and a product
tensor        DynamicQuantizeMatMul                whole batch
============  ===================================  ===================

`weights_only` is multiplied out when onnxruntime loads the graph, the others quantise their inputs,
too. With the first three a row's result does not depend on the other rows, to the last bit. With
`tensor` it does, so it is never chosen unasked. What each matrix gets; `words` in graphs with this
package's own operators, where whole sub-layers of it become one (`native_sub_layers`):

============================  ==================  ===================
matrix                        unless asked        batch_dependent
============================  ==================  ===================
fewer than 131,072 weights    weights_only, or    tensor
                              words
others, such as the head's    rows                tensor
============================  ==================  ===================

With this package's operators `rows` is MatMulInteger and our ScaleSums, and the head's product part
of the operator that ranks its outputs.

Measured with onnxruntime 1.31 on one core, microseconds for 1 / 8 / 32 / 128 rows, with AVX512-VNNI
(above) and with AVX2 (below, a slower processor); `blocks` is MatMulNBits with blocks of 64, which
is not used:

===============  ===================  ===================  ===================  ===================
inputs×outputs   weights_only         rows                 tensor               blocks
===============  ===================  ===================  ===================  ===================
128×128          1.1 / 2.3 / 6 / 22   3.1 / 4.3 / 8 / 20   1.3 / 1.8 / 4 / 11   1.1 / 2.5 / 8 / 28
128×384          3 / 6 / 17 / 64      4 / 7 / 13 / 40      2 / 3 / 8 / 27       2 / 5 / 18 / 73
128×10000        68 / 130 / 510 /     23 / 55 / 187 /      40 / 63 / 185 /      22 / 112 / 440 /
                 1715                 754                  756                  1760
512×512          15 / 30 / 95 / 355   8 / 13 / 35 / 133    6 / 10 / 29 / 107    5 / 18 / 66 / 278
512×2048         95 / 230 / 510 /     22 / 42 / 131 /      19 / 36 / 120 /      17 / 68 / 260 /
                 1480                 475                  420                  1015
512×32000        2200 / 4250 /        230 / 920 / 2230 /   370 / 850 / 2330 /   420 / 1400 / 4200 /
                 8000 / 21800         9100                 7500                 15000
128×128          10 / 13 / 26 / 67    19 / 24 / 38 / 95    12 / 14 / 21 / 58    11 / 17 / 44 / 147
128×384          14 / 15 / 41 / 177   20 / 28 / 43 / 189   13 / 13 / 28 / 133   15 / 32 / 107 / 408
128×10000        147 / 447 / 1324 /   80 / 308 / 1027 /    106 / 271 / 805 /    135 / 649 / 2520 /
                 4914                 4499                 2946                 9650
512×512          36 / 79 / 244 / 910  39 / 79 / 200 / 690  25 / 57 / 164 / 587  31 / 123 / 431 /
                                                                                1710
512×2048         114 / 273 / 1014 /   67 / 178 / 622 /     50 / 150 / 571 /     95 / 433 / 1660 /
                 3601                 2380                 2115                 6550
512×32000        3993 / 7245 /        1255 / 3102 /        1285 / 2933 /        1570 / 6550 /
                 16847 / 54798        9787 / 35850         8362 / 31151         24500 / 95000
===============  ===================  ===================  ===================  ===================

The kernel cannot follow the number of rows at run time: a sentence alone and the same sentence in a
batch would meet different kernels.

With `summed` scales (`int8_matrices`) no processor cuts sums of bytes off: the session option
`session.x64quantprecision`, which takes a slower way round that, is not needed.
"""

import numpy as np

from keras_transformer.export.onnx.graphs.builder import GraphBuilder, Operand, digest, integers
from keras_transformer.export.onnx.graphs.linear import Linear
from keras_transformer.export.onnx.graphs.operators import MICROSOFT
from keras_transformer.export.onnx.quantize.int8_matrices import LARGEST, quantize_lines

# From here on the operators that `rows` adds cost less than its product saves.
FEW_WEIGHTS = 1 << 17
ZERO_POINT = 128
# From here on MatMulIntegerToFloat takes longer to get a scale for each output ready, at every run,
# than a cast and a product of their own do.
_WIDE = 4096
# Divides every scale of a row to zero.
_HUGE = 1e30


class Quantized:
    """Matrices in int8, and what all int8 precisions do with them."""

    def __init__(self) -> None:
        self._lines: dict[tuple[bytes, int, bool], tuple[np.ndarray, np.ndarray]] = {}

    def lines(
        self, matrix: np.ndarray, axis: int, *, summed: bool
    ) -> tuple[np.ndarray, np.ndarray]:
        """Quantises a matrix with a scale for each place on an axis, once for all graphs.

        Products with bytes need `summed`, whose scales a lookup of the same matrix must share.

        Raises:
            ValueError: The matrix holds a value that is not finite.
        """
        key = digest(matrix), axis, summed
        if key not in self._lines:
            if not np.isfinite(matrix).all():
                raise ValueError(
                    f"a matrix {matrix.shape[0]} × {matrix.shape[1]} holds a value that is not "
                    "finite, which int8 cannot hold: export an earlier checkpoint."
                )
            self._lines[key] = quantize_lines(matrix, axis, summed=summed)
        return self._lines[key]

    def transposed(self, graph: GraphBuilder, values: np.ndarray) -> str:
        """Transposes a stored matrix, which onnxruntime does once, when it loads the graph."""
        name = graph.operand(values)
        key = ("transposed", name)
        return graph.shared(key, lambda: graph.op("Transpose", name, perm=[1, 0]))

    def embedding(self, graph: GraphBuilder, table: np.ndarray, ids: str) -> str:
        """Looks rows of a table up, each with its own scale; see `Kernels.embedding`."""
        if table.size < FEW_WEIGHTS:
            return graph.op("Gather", table, ids, axis=0)
        values, scales = self.lines(table, axis=0, summed=True)
        found = graph.cast(graph.op("Gather", values, ids), "float32")
        return graph.op("Mul", found, graph.op("Gather", scales[:, None], ids))


class Int8(Quantized):
    """`weights_only` for small matrices, `rows` for others."""

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
        added = layer.bias if residual is None else residual
        more = [] if added is None else [added]
        if layer.kernel.size < FEW_WEIGHTS:
            values, scales = self.lines(layer.kernel, axis=1, summed=False)
            found = graph.op("Gemm", inputs, _multiplied_out(graph, values, scales), *more)
        else:
            values, scales = self.lines(layer.kernel, axis=1, summed=True)
            product, row_scales = _rows(graph, inputs, values, scales, nonnegative)
            found = graph.op("Mul", product, row_scales)
            found = graph.op("Add", found, added) if more else found
        return graph.op("Relu", found) if relu else found

    def logits(
        self, graph: GraphBuilder, states: str, matrix: np.ndarray, *, ranked: bool = False
    ) -> str:
        """Returns states · matrixᵀ; see `Kernels.logits`."""
        if matrix.size < FEW_WEIGHTS:
            values, scales = self.lines(matrix, axis=0, summed=False)
            kernel = _multiplied_out(graph, values, scales[:, None])
            return graph.op("Gemm", states, kernel, transB=1)
        values, scales = self.lines(matrix, axis=0, summed=True)
        kernel = self.transposed(graph, values)
        product, row_scales = _rows(graph, states, kernel, scales, nonnegative=False)
        return product if ranked else graph.op("Mul", product, row_scales)


class Int8BatchDependent(Quantized):
    """`tensor` for all matrices."""

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
        values, scales = self.lines(layer.kernel, axis=1, summed=True)
        bias = [] if layer.bias is None else [None, layer.bias]
        found = _at_once(graph, inputs, values, scales, *bias)
        if residual is not None:
            found = graph.op("Add", found, residual)
        return graph.op("Relu", found) if relu else found

    def logits(
        self, graph: GraphBuilder, states: str, matrix: np.ndarray, *, ranked: bool = False
    ) -> str:
        """Returns states · matrixᵀ; see `Kernels.logits`."""
        values, scales = self.lines(matrix, axis=0, summed=True)
        return _at_once(graph, states, self.transposed(graph, values), scales)


def _at_once(graph: GraphBuilder, inputs: str, *operands: Operand) -> str:
    """Multiplies rows in bytes, with one scale for all of them."""
    return graph.op("DynamicQuantizeMatMul", inputs, *operands, domain=MICROSOFT)


def _multiplied_out(graph: GraphBuilder, values: np.ndarray, scales: np.ndarray) -> str:
    """Returns a stored matrix in float32.

    onnxruntime multiplies it out once, when it loads the graph. With DequantizeLinear in place of
    Cast and Mul it would make a MatMulNBits of the product, which is slower.
    """
    name = graph.operand(values)
    key = ("multiplied out", name, graph.operand(scales))
    return graph.shared(key, lambda: graph.op("Mul", graph.cast(name, "float32"), scales))


def _rows(
    graph: GraphBuilder, inputs: str, kernel: Operand, scales: np.ndarray, nonnegative: bool
) -> tuple[str, str]:
    """Multiplies rows in bytes; returns what must be multiplied by their scales, and these."""
    rows, row_scales, zero_point = _quantize_rows(graph, inputs, nonnegative)
    if len(scales) < _WIDE:
        operands = [rows, kernel, np.float32(1), scales, zero_point]
        return graph.op("MatMulIntegerToFloat", *operands, domain=MICROSOFT), row_scales
    sums = integer_sums(graph, rows, kernel, zero_point)
    return graph.op("Mul", graph.cast(sums, "float32"), scales), row_scales


def integer_sums(
    graph: GraphBuilder, rows: str, kernel: Operand, zero_point: np.uint8 | None
) -> str:
    """Multiplies uint8 rows by an int8 kernel: int32 sums."""
    more = [] if zero_point is None else [zero_point]
    return graph.op("MatMulInteger", rows, kernel, *more)


def _quantize_rows(
    graph: GraphBuilder, inputs: str, nonnegative: bool
) -> tuple[str, str, np.uint8 | None]:
    """Quantises each row by its largest absolute value.

    Unsigned, as signed inputs are 10 times slower; a row of zeros has the scale 0, by which
    whatever it becomes is multiplied in the end.

    Returns:
        The rows as uint8 `(rows, inputs)`, their float32 scales `(rows, 1)`, their zero point.
    """
    values = inputs if nonnegative else graph.op("Abs", inputs)
    largest = graph.op("ReduceMax", values, integers(1), keepdims=1)
    scales = graph.op("Mul", largest, np.float32(1 / (255 if nonnegative else LARGEST)))
    flat = graph.reshape(scales, -1)
    if nonnegative:
        return graph.op("QuantizeLinear", inputs, flat, axis=0), scales, None
    # Every row needs its own zero point: 0 + 128, in one operator rather than Shape and Expand.
    middles = graph.op("QuantizeLinear", flat, np.float32(_HUGE), np.uint8(ZERO_POINT))
    quantized = graph.op("QuantizeLinear", inputs, flat, middles, axis=0)
    return quantized, scales, np.uint8(ZERO_POINT)
