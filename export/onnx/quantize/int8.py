"""Linear layers and large embeddings with int8 weights.

Every kernel stores int8 weights with a scale for each output:

============  ===================================  ===================
kernel        operator that multiplies             scales of the inputs
============  ===================================  ===================
weights_only  float32's own                        none
words         our BytesLinear                      row, 16 bits
bytes         our BytesLinear                      row, with an offset
rows          MatMulIntegerToFloat, or             row
              MatMulInteger and a product
tensor        DynamicQuantizeMatMul                whole batch
============  ===================================  ===================

`weights_only` is converted to float32 when onnxruntime loads the graph; the others also quantise
their inputs. With all but `tensor` a row's result does not depend on the other rows, to the last
bit, so that is used only on request. The kernel of each matrix is below;
`words` and `bytes` are for graphs with this package's own operators, where whole sub-layers become
one operator:

============================  ==================  ===================
matrix                        unless asked        batch_dependent
============================  ==================  ===================
fewer than 131,072 weights    weights_only, or    tensor
                              words
others, such as the head's    rows, or bytes      tensor
============================  ==================  ===================

`bytes` holds a row from its least value to its largest (`native/linear/rounded_rows.h`); the head's
inputs have no offset, as in `rows`, and its product is part of the operator that ranks its outputs.

Measurements are in `docs/results/int8_and_size.md`. The kernel must not depend on the number of
rows at run time, or a sentence alone and in a batch would be computed by different kernels.

With `summed` scales (`int8_matrices`) sums of bytes saturate on no processor: the session option
`session.x64quantprecision`, which avoids that more slowly, is not needed.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from keras_transformer.export.onnx.graphs.builder import GraphBuilder, Operand, digest, integers
from keras_transformer.export.onnx.graphs.operators import MICROSOFT, NATIVE
from keras_transformer.export.onnx.layers.linear import Linear
from keras_transformer.export.onnx.quantize.byte_screen import ByteScreen
from keras_transformer.export.onnx.quantize.int8_matrices import LARGEST, quantize_lines
from keras_transformer.export.onnx.quantize.native_linear import PackedLinear
from keras_transformer.export.onnx.quantize.outlier_units import with_copies

# From this many weights on, the operators that `rows` adds cost less than its product saves.
_FEW_WEIGHTS = 1 << 17
_ZERO_POINT = 128
# From this many outputs on, MatMulIntegerToFloat takes longer to prepare a scale for each output,
# at every run, than a separate cast and product do.
_WIDE = 4096
# Any row's scale divided by this rounds to zero.
_HUGE = 1e30


class Int8:
    """int8 weights for onnxruntime's operators; see `Kernels`.

    Args:
        batch_dependent: Whether inputs have one scale for the whole batch: about a tenth faster in
            large batches, but a sentence's result depends on which others share its batch.
    """

    def __init__(self, *, batch_dependent: bool = False) -> None:
        self.batch_dependent = batch_dependent
        self._quantized: dict[tuple[bytes, int, bool], tuple[np.ndarray, np.ndarray]] = {}

    def linear(self, graph: GraphBuilder, inputs: str, layer: Linear, residual: str = "") -> str:
        """Applies a layer with the kernel that the table above gives it."""
        added = residual if residual else layer.bias
        if self.batch_dependent:
            found = self._at_once(graph, inputs, layer)
            found = graph.op("Add", found, residual) if residual else found
        elif layer.kernel.size < _FEW_WEIGHTS:
            kernel = self._multiplied_out(graph, layer)
            found = graph.op("Gemm", inputs, kernel, *_given(added))
        else:
            found = self._by_rows(graph, inputs, layer)
            found = found if added is None else graph.op("Add", found, added)
        return graph.op("Relu", found) if layer.relu else found

    def embedding(self, graph: GraphBuilder, table: np.ndarray, ids: str) -> str:
        """Looks rows of a large table up as int8, each with its own scale."""
        if table.size < _FEW_WEIGHTS:
            return graph.op("Gather", table, ids, axis=0)
        values, scales = self.lines(table, axis=0, summed=True)
        found = graph.cast(graph.op("Gather", values, ids), "float32")
        return graph.op("Mul", found, graph.op("Gather", scales[:, None], ids))

    def hidden_units(self, output: Linear) -> tuple[np.ndarray, Linear] | None:
        """Returns the units of a large layer with copies of its outliers, if the copies gain
        enough.
        """
        found = None if output.kernel.size < _FEW_WEIGHTS else with_copies(output.kernel)
        return None if found is None else (found[0], replace(output, kernel=found[1]))

    def lines(
        self, matrix: np.ndarray, axis: int, *, summed: bool
    ) -> tuple[np.ndarray, np.ndarray]:
        """Quantises a matrix with a scale for each place on an axis, once for all graphs.

        Products with bytes need `summed` scales; a lookup of the same matrix must share them.

        Raises:
            ValueError: The matrix holds a value that is not finite.
        """
        key = digest(matrix), axis, summed
        if key not in self._quantized:
            if not np.isfinite(matrix).all():
                raise ValueError(
                    f"a matrix {matrix.shape[0]} × {matrix.shape[1]} holds a value that is not "
                    "finite, which int8 cannot hold: export an earlier checkpoint."
                )
            self._quantized[key] = quantize_lines(matrix, axis, summed=summed)
        return self._quantized[key]

    def columns(
        self, graph: GraphBuilder, layer: Linear, *, summed: bool
    ) -> tuple[Operand, np.ndarray]:
        """Returns an int8 kernel `(inputs, outputs)` and the scales of its columns."""
        values, scales = self.lines(layer.kernel, 0 if layer.transposed else 1, summed=summed)
        if not layer.transposed:
            return values, scales
        # onnxruntime transposes it only once, when it loads the graph.
        name = graph.operand(values)
        make = ("transposed", name), lambda: graph.op("Transpose", name, perm=[1, 0])
        return graph.shared(*make), scales

    def _multiplied_out(self, graph: GraphBuilder, layer: Linear) -> str:
        """Returns a kernel in float32.

        onnxruntime computes the kernel once, when it loads the graph. With DequantizeLinear in
        place of Cast and Mul it would turn the product into a MatMulNBits, which is slower.
        """
        kernel, scales = self.columns(graph, layer, summed=False)
        key = ("multiplied out", graph.operand(kernel), graph.operand(scales))
        return graph.shared(key, lambda: graph.op("Mul", graph.cast(kernel, "float32"), scales))

    def _at_once(self, graph: GraphBuilder, inputs: str, layer: Linear) -> str:
        """Multiplies inputs quantised with one scale for all rows."""
        bias = [] if layer.bias is None else [None, layer.bias]
        operands = (*self.columns(graph, layer, summed=True), *bias)
        return graph.op("DynamicQuantizeMatMul", inputs, *operands, domain=MICROSOFT)

    def _by_rows(self, graph: GraphBuilder, inputs: str, layer: Linear) -> str:
        """Multiplies inputs quantised with a scale for each row; the bias is not added."""
        kernel, scales = self.columns(graph, layer, summed=True)
        rows, row_scales, middle = _quantize_rows(graph, inputs, layer.nonnegative)
        if layer.units < _WIDE:
            operands = (rows, kernel, np.float32(1), scales, *middle)
            product = graph.op("MatMulIntegerToFloat", *operands, domain=MICROSOFT)
        else:
            sums = graph.op("MatMulInteger", rows, kernel, *middle)
            product = graph.op("Mul", graph.cast(sums, "float32"), scales)
        return product if layer.ranked else graph.op("Mul", product, row_scales)


class NativeInt8(Int8):
    """int8 weights for this package's operators; see `NativeKernels`."""

    def linear(self, graph: GraphBuilder, inputs: str, layer: Linear, residual: str = "") -> str:
        """Applies a layer with the kernel that the table above gives it."""
        if self.batch_dependent:
            return super().linear(graph, inputs, layer, residual)
        flags = {"domain": NATIVE, "relu": int(layer.relu), "units": layer.units}
        # A vocabulary's logits are those that the operators of whole heads rank.
        flags["offsets"] = int(not layer.transposed)
        found = graph.op("BytesLinear", inputs, *self.packed(layer), **flags)
        return graph.op("Add", found, residual) if residual else found

    def embedding(self, graph: GraphBuilder, table: np.ndarray, ids: str) -> str:
        """Looks rows of a large table up as int8, each with its own scale."""
        if table.size < _FEW_WEIGHTS:
            return graph.op("Gather", table, ids, axis=0)
        return graph.op("LookUp", *self.lines(table, axis=0, summed=True), ids, domain=NATIVE)

    def packed(self, layer: Linear) -> Sequence[Operand]:
        """Packs a layer for inputs in words or, if it is large, in bytes."""
        if self.batch_dependent:
            return ()
        in_bytes = layer.kernel.size >= _FEW_WEIGHTS
        axis = 0 if layer.transposed else 1
        values, scales = self.lines(layer.kernel, axis, summed=in_bytes)
        lines = values if layer.transposed else values.T
        bias = np.zeros_like(scales) if layer.bias is None else layer.bias
        pack = PackedLinear.for_bytes if in_bytes else PackedLinear.for_words
        return pack(lines, scales, bias)

    def best_token(self, matrix: np.ndarray) -> Sequence[Operand]:
        """Packs a large matrix; its bytes alone decide."""
        if self.batch_dependent or matrix.size < _FEW_WEIGHTS:
            return ()
        return ByteScreen.packed(*self.lines(matrix, axis=0, summed=True))

    def continuations(self, matrix: np.ndarray) -> Sequence[Operand]:
        """Packs a large matrix, as for `best_token`."""
        return self.best_token(matrix)

    def listed(self, matrix: np.ndarray) -> Sequence[Operand]:
        """Returns the matrix in bytes, which a lookup of it shares, and the scales of its rows."""
        return self.lines(matrix, axis=0, summed=True)


def _given(operand: Operand) -> list[Operand]:
    return [] if operand is None else [operand]


def _quantize_rows(
    graph: GraphBuilder, inputs: str, nonnegative: bool
) -> tuple[str, str, list[Operand]]:
    """Quantises each row by its largest absolute value.

    Unsigned, as signed inputs are 10 times slower. A row of zeros has the scale 0, by which its
    result is multiplied in the end, whatever its bytes are.

    Returns:
        The rows as uint8 `(rows, inputs)`, their float32 scales `(rows, 1)`, and their zero point
        if it is not 0.
    """
    values = inputs if nonnegative else graph.op("Abs", inputs)
    largest = graph.op("ReduceMax", values, integers(1), keepdims=1)
    scales = graph.op("Mul", largest, np.float32(1 / (255 if nonnegative else LARGEST)))
    flat = graph.reshape(scales, -1)
    if nonnegative:
        return graph.op("QuantizeLinear", inputs, flat, axis=0), scales, []
    # Every row needs a zero point of its own: 0 + 128, one operator instead of Shape and Expand.
    middle = np.uint8(_ZERO_POINT)
    middles = graph.op("QuantizeLinear", flat, np.float32(_HUGE), middle)
    return graph.op("QuantizeLinear", inputs, flat, middles, axis=0), scales, [middle]
