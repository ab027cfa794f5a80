"""Linear layers with int8 weights as ONNX operators: `LinearNode`s and lookups come in, nodes and
stored tensors that take their place are collected. `quantization` says which kernel is for what.
"""

from typing import Any

import numpy as np
import onnx
from onnx.numpy_helper import from_array, to_array

from keras_transformer.export.onnx.graphs.native_heads import Screen
from keras_transformer.export.onnx.graphs.operators import MICROSOFT, NATIVE
from keras_transformer.export.onnx.quantize.int8_matrices import LARGEST, quantize_lines
from keras_transformer.export.onnx.quantize.linear_nodes import GraphIndex, LinearNode, StoredMatrix
from keras_transformer.export.onnx.quantize.native_linear import PackedLinear

_ZERO_POINT = 128
# From here on MatMulIntegerToFloat takes longer to get a scale for each output ready, at every run,
# than a cast and a product of their own do.
_WIDE = 4096
# Divides every scale of a row to zero.
_HUGE = 1e30


class Int8Kernels:
    """Writes kernels into `nodes` and `stored`; what several layers share is stored once.

    Args:
        index: Finds the float32 matrices.
        native: Whether the graph may hold this package's own operators.

    Attributes:
        nodes: What was written so far, in order.
        stored: Initializers by name.
        unscaled: For the outputs of some layers a value that is the same but for a positive factor
            of each row.
        merged: What kernels compute along with their layers: its nodes are not needed any more.
    """

    def __init__(self, index: GraphIndex, *, native: bool) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.stored: dict[str, onnx.TensorProto] = {}
        self.unscaled: dict[str, str] = {}
        self.merged: set[str] = set()
        self._index, self._native = index, native
        self._transposed: dict[str, str] = {}
        self._multiplied: dict[str, str] = {}
        self._count = 0

    def weights_only(self, layer: LinearNode, node: onnx.NodeProto) -> None:
        """Quantises the weights; the product stays the float32 node that it is.

        onnxruntime multiplies the weights out once, when it loads the graph. With DequantizeLinear
        in place of Cast and Mul it would make a MatMulNBits of it, which is slower.
        """
        name, transposed = layer.matrix
        values, scales = self._lines(name, axis=0 if transposed else 1, summed=False)
        if values not in self._multiplied:
            factors = self._as_column(scales) if transposed else scales
            cast = self._add("Cast", [values], to=onnx.TensorProto.FLOAT)
            self._multiplied[values] = self._add("Mul", [cast, factors])
        kernel = self._multiplied[values]
        kept = onnx.NodeProto()
        kept.CopyFrom(node)
        kept.input[1] = kernel if node.input[1] == name else self._transpose(kernel)
        self.nodes.append(kept)

    def words(self, layer: LinearNode) -> None:
        """Quantises each row of the inputs to words with its own scale: to 16 bits, not to 8."""
        name, transposed = layer.matrix
        values, scales = self._lines(name, axis=0 if transposed else 1, summed=False)
        lines, steps = to_array(self.stored[values]), to_array(self.stored[scales])
        bias = self._index.array(layer.bias) if layer.bias else np.zeros_like(steps)
        packed = PackedLinear.of(lines if transposed else lines.T, steps, bias)
        inputs = [
            layer.inputs,
            self._store(f"{values}/packed", packed.values),
            self._store(f"{values}/ends{layer.bias}", packed.ends),
        ]
        self._end(layer, "BytesLinear", inputs, units=len(steps))

    def tensor(self, layer: LinearNode) -> None:
        """Quantises inputs with one scale for all rows together."""
        bias = ["", layer.bias] if layer.bias else []
        inputs = [layer.inputs, *self._columns(layer.matrix), *bias]
        output = "" if layer.residual else layer.output
        product = self._add("DynamicQuantizeMatMul", inputs, output=output, domain=MICROSOFT)
        if layer.residual:
            self._add("Add", [product, layer.residual], output=layer.output)

    def rows(self, layer: LinearNode) -> None:
        """Quantises each row of the inputs with its own scale."""
        values, scales = self._columns(layer.matrix)
        quantized, row_scales, zero_point = self._quantize_rows(layer)
        if self._native:
            sums = self._integer_sums(quantized, values, zero_point)
            operands = [sums, scales, row_scales, *([layer.bias] if layer.bias else [])]
            self._end(layer, "ScaleSums", operands)
            return
        product = self._integer_product(quantized, values, scales, zero_point)
        added = layer.bias or layer.residual
        output = "" if added else layer.output
        scaled = self._add("Mul", [product, row_scales], output=output)
        self.unscaled[scaled] = product
        if added:
            self._add("Add", [scaled, added], output=layer.output)

    def _end(self, layer: LinearNode, operator: str, inputs: list[str], **flags: Any) -> None:
        """Ends a layer with an operator of ours, which may be its ReLU too, and its residual."""
        relu = "" if layer.residual else layer.relu
        self.merged.add(relu)
        output = "" if layer.residual else relu or layer.output
        flags["relu"] = int(bool(relu))
        found = self._add(operator, inputs, output=output, domain=NATIVE, **flags)
        if layer.residual:
            self._add("Add", [found, layer.residual], output=layer.output)

    def head(self, layer: LinearNode, node: onnx.NodeProto) -> None:
        """Computes what an operator of ours ranks, as `rows` would, where it is ranked."""
        vocabulary, packed = self._screen(layer)
        operator = "BestToken"
        more: list[str] = []
        if node.op_type == "BestContinuations":
            operator, more = "BestContinuationsOfStates", [layer.output]
        self.nodes.append(
            onnx.helper.make_node(
                operator,
                [layer.inputs, *node.input[1:], *packed],
                [*node.output, *more],
                name=node.name,
                domain=NATIVE,
                vocabulary=vocabulary,
            )
        )

    def _screen(self, layer: LinearNode) -> tuple[int, list[str]]:
        """Returns the number of outputs, and the names of what a `Screen` of the matrix holds."""
        name, transposed = layer.matrix
        values, scales = self._lines(name, axis=0 if transposed else 1)
        lines = to_array(self.stored[values])
        lines = lines if transposed else lines.T
        screen = Screen.packed(lines, to_array(self.stored[scales]))
        stored = [
            self._store(f"{name}/screen_{field}", array)
            for field, array in screen._asdict().items()
        ]
        return len(lines), stored

    def _integer_product(self, inputs: str, kernel: str, scales: str, zero_point: str) -> str:
        """Multiplies uint8 rows by an int8 kernel and each output by its scale."""
        if not self._is_wide(scales):
            one = self._constant("one", np.float32(1))
            operands = [inputs, kernel, one, scales, zero_point]
            return self._add("MatMulIntegerToFloat", operands, domain=MICROSOFT)
        sums = self._integer_sums(inputs, kernel, zero_point)
        return self._add("Mul", [self._add("Cast", [sums], to=onnx.TensorProto.FLOAT), scales])

    def _integer_sums(self, inputs: str, kernel: str, zero_point: str) -> str:
        operands = [inputs, kernel, *([zero_point] if zero_point else [])]
        return self._add("MatMulInteger", operands)

    def _is_wide(self, scales: str) -> bool:
        return self.stored[scales].dims[0] >= _WIDE

    def lookup(self, node: onnx.NodeProto) -> None:
        """Looks int8 rows of a table up, each with its own scale."""
        table, ids = node.input
        values, scales = self._lines(table, axis=0)
        if self._native:
            self._add("LookUp", [values, scales, ids], output=node.output[0], domain=NATIVE)
            return
        found = self._add("Cast", [self._add("Gather", [values, ids])], to=onnx.TensorProto.FLOAT)
        scale = self._add("Gather", [self._as_column(scales), ids])
        self._add("Mul", [found, scale], output=node.output[0])

    def _quantize_rows(self, layer: LinearNode) -> tuple[str, str, str]:
        """Quantises each row of a layer's inputs by its largest absolute value.

        Unsigned, as signed inputs are 10 times slower; a row of zeros has the scale 0, by which
        whatever it becomes is multiplied in the end.

        Returns:
            The rows as uint8 `(rows, inputs)`, their float32 scales `(rows, 1)`, their zero point.
        """
        if self._native:
            return self._quantize_rows_at_once(layer)
        values = layer.inputs if layer.nonnegative else self._add("Abs", [layer.inputs])
        axis = self._constant("last_axis", np.array([1], np.int64))
        largest = self._add("ReduceMax", [values, axis], keepdims=1)
        steps = 255 if layer.nonnegative else LARGEST
        scales = self._add("Mul", [largest, self._constant(f"step_{steps}", np.float32(1 / steps))])
        flat = self._add("Reshape", [scales, self._constant("flat", np.array([-1], np.int64))])
        if layer.nonnegative:
            return self._add("QuantizeLinear", [layer.inputs, flat], axis=0), scales, ""
        middle = self._constant("middle", np.uint8(_ZERO_POINT))
        # Every row needs its own zero point: 0 + 128, in one operator rather than Shape and Expand.
        huge = self._constant("huge", np.float32(_HUGE))
        middles = self._add("QuantizeLinear", [flat, huge, middle])
        return self._add("QuantizeLinear", [layer.inputs, flat, middles], axis=0), scales, middle

    def _quantize_rows_at_once(self, layer: LinearNode) -> tuple[str, str, str]:
        """Does as `_quantize_rows`, with this package's operator."""
        middle = 0 if layer.nonnegative else _ZERO_POINT
        node = onnx.helper.make_node(
            "QuantizeRows",
            [layer.inputs],
            [f"{layer.output}/rows", f"{layer.output}/row_scales"],
            domain=NATIVE,
            middle=middle,
        )
        self.nodes.append(node)
        rows, scales = node.output
        zero_point = self._constant("middle", np.uint8(middle)) if middle else ""
        return rows, scales, zero_point

    def _columns(self, matrix: StoredMatrix) -> tuple[str, str]:
        """Returns an int8 kernel `(inputs, outputs)` and the scales of its columns."""
        values, scales = self._lines(matrix.name, axis=0 if matrix.transposed else 1)
        return self._transpose(values) if matrix.transposed else values, scales

    def _lines(self, name: str, axis: int, *, summed: bool = True) -> tuple[str, str]:
        """Stores a matrix as int8 as it lies, with a scale for each place on an axis.

        Products with bytes need `summed`, whose scales a lookup of the same matrix must share.
        """
        names = f"{name}/int8_{axis}", f"{name}/scales_{axis}"
        if names[0] not in self.stored:
            values, scales = quantize_lines(self._finite(name), axis, summed=summed)
            self._store(names[0], values)
            self._store(names[1], scales)
        return names

    def _transpose(self, name: str) -> str:
        if name not in self._transposed:
            self._transposed[name] = self._add("Transpose", [name], perm=[1, 0])
        return self._transposed[name]

    def _as_column(self, scales: str) -> str:
        """Gives scales two axes; they are constant, so onnxruntime does it when it loads."""
        shape = self._constant("as_column", np.array([-1, 1], np.int64))
        return self._add("Reshape", [scales, shape])

    def _finite(self, name: str) -> np.ndarray:
        values = self._index.array(name)
        if not np.isfinite(values).all():
            raise ValueError(
                f"the matrix {name!r} holds a value that is not finite, which int8 cannot hold: "
                "export an earlier checkpoint."
            )
        return values

    def _constant(self, name: str, value: np.ndarray | np.generic) -> str:
        return self._store(f"int8/{name}", np.asarray(value))

    def _store(self, name: str, values: np.ndarray) -> str:
        if name not in self.stored:
            self.stored[name] = from_array(np.ascontiguousarray(values), name)
        return name

    def _add(
        self, op_type: str, inputs: list[str], *, output: str = "", domain: str = "", **flags: Any
    ) -> str:
        """Appends a node and returns its output."""
        self._count += 1
        name = f"int8/{op_type}_{self._count}"
        output = output or f"{name}:0"
        self.nodes.append(
            onnx.helper.make_node(op_type, inputs, [output], name=name, domain=domain, **flags)
        )
        return output
