"""The precisions by name: the target that makes the graphs of each, the types of their inputs and
outputs, and the tolerance of their check.
"""

from dataclasses import replace

import numpy as np
import onnx

from keras_transformer.artefact.entries import GraphTensor
from keras_transformer.export.inputs import AnyModel
from keras_transformer.export.onnx.graphs.builder import GraphBuilder, Operand, integers
from keras_transformer.export.onnx.graphs.native import Native
from keras_transformer.export.onnx.graphs.onnxruntime import OnnxRuntime
from keras_transformer.export.onnx.graphs.portable import Portable
from keras_transformer.export.onnx.graphs.specs import Listing
from keras_transformer.export.onnx.graphs.target import Target
from keras_transformer.export.onnx.layers.linear import Linear
from keras_transformer.export.onnx.quantize.bfloat16 import NativeBfloat16
from keras_transformer.export.onnx.quantize.float16 import to_float16
from keras_transformer.export.onnx.quantize.int4 import Int4, Int4Matrices
from keras_transformer.export.onnx.quantize.int8 import Int8, NativeInt8
from keras_transformer.export.onnx.quantize.kernels import Float32
from keras_transformer.export.onnx.quantize.native_float32 import NativeFloat32
from keras_transformer.export.onnx.quantize.native_int4 import NativeInt4, SharedInt4
from keras_transformer.export.onnx.quantize.native_linear import PackedLinear
from keras_transformer.export.onnx.settings import Int4Form

# Largest absolute difference from Keras of any output. For quantized graphs it only catches outputs
# that are plainly wrong: the cost of quantization is measured as translation quality.
_TOLERANCES = {"float32": 1e-4, "float16": 0.2, "int4": 8.0}
_QUANTIZED_TOLERANCE = 1.0
# Values that are summed or compared, and small, so they stay float32.
_ALWAYS_FLOAT32 = (
    "logits",
    "candidate_values",
    "next_log_probabilities",
    "totals",
    "log_probabilities",
    "attention",
    "states",
    "pooled",
    "values",
    "vectors",
    "probabilities",
)


class Float16:
    """The portable target in float16; see `Portable`."""

    listing: Listing = "gathered"

    def __init__(self, *, has_shortlist: bool = False) -> None:
        self._portable = Portable(has_shortlist=has_shortlist)

    def graph(self, name: str, model: AnyModel, opset: int) -> onnx.ModelProto:
        """Converts a portable graph; see `Target.graph`."""
        return to_float16(self._portable.graph(name, model, opset), keep_float32=_ALWAYS_FLOAT32)


class SharedInt8(Int8):
    """As `Int8`, for graphs that share their weights with those of `NativeInt8`.

    Weights are stored in the blocks that this package's own operators read, so that one file
    serves both.
    """

    def columns(
        self, graph: GraphBuilder, layer: Linear, *, summed: bool
    ) -> tuple[Operand, np.ndarray]:
        """Returns an int8 kernel `(inputs, outputs)` and the scales of its columns.

        onnxruntime takes it out of its blocks only once, when it loads the graph.
        """
        if self.batch_dependent:
            # Then our operators multiply no matrices.
            return super().columns(graph, layer, summed=summed)
        values, scales = self.lines(layer.kernel, 0 if layer.transposed else 1, summed=summed)
        lines = values if layer.transposed else values.T
        pack = PackedLinear.for_bytes if summed else PackedLinear.for_words
        blocks = pack(lines, scales, np.zeros_like(scales)).values
        key = ("unpacked", graph.operand(blocks))
        return graph.shared(key, lambda: _unpacked(graph, blocks, lines.shape[::-1])), scales


def _unpacked(graph: GraphBuilder, blocks: np.ndarray, shape: tuple[int, ...]) -> str:
    """Returns the kernel `(inputs, outputs)` of this shape that `PackedLinear` put in blocks."""
    count, groups, outputs, together = blocks.shape
    padded = (groups * together, count * outputs)
    found = graph.op("Transpose", blocks, perm=[1, 3, 0, 2])
    found = graph.reshape(found, *padded)
    if padded == shape:
        return found
    return graph.op("Slice", found, integers(0, 0), integers(*shape))


def target_in(
    precision: str,
    name: str,
    *,
    has_shortlist: bool = False,
    shares_weights: bool = False,
    int4: Int4Matrices | None = None,
) -> Target:
    """Returns the target with this name that makes graphs in a precision.

    Args:
        precision: One of `settings.PRECISIONS`.
        name: One of the manifest's targets; "portable" has no int8, the others no float16, and only
            "native" has bfloat16.
        has_shortlist: Whether graphs choose among the ids of a shortlist.
        shares_weights: Whether graphs for "native" lie over the same file of weights.
        int4: The matrices of the precision "int4"; if None, those of its default form.
    """
    listed = {"has_shortlist": has_shortlist}
    if name == "portable":
        return Float16(**listed) if precision == "float16" else Portable(**listed)
    if precision == "float32":
        if name == "native":
            return Native(NativeFloat32(), **listed)
        return OnnxRuntime(Float32(), **listed)
    if precision == "bfloat16":
        return Native(NativeBfloat16(**listed), **listed)
    if precision == "int4":
        matrices = int4 or Int4Matrices(Int4Form())
        if name == "native":
            return Native(NativeInt4(matrices, **listed), **listed)
        return OnnxRuntime((SharedInt4 if shares_weights else Int4)(matrices), **listed)
    flags = {"batch_dependent": precision == "int8_batch_dependent"}
    if name == "native":
        return Native(NativeInt8(**flags), **listed)
    return OnnxRuntime(SharedInt8(**flags) if shares_weights else Int8(**flags), **listed)


def in_precision_spec(spec: GraphTensor, precision: str) -> GraphTensor:
    """Returns the spec of an input or output in a precision."""
    if precision == "float16" and spec.dtype == "float32" and spec.name not in _ALWAYS_FLOAT32:
        return replace(spec, dtype="float16")
    return spec


def tolerance_of(precision: str) -> float:
    """Returns the largest absolute difference from Keras to accept."""
    return _TOLERANCES.get(precision, _QUANTIZED_TOLERANCE)
