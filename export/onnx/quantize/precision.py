"""The precisions by name: the target that makes the graphs of each, the types of their inputs and
outputs, and the tolerance of their check.
"""

from dataclasses import replace

import onnx

from keras_transformer.artefact.entries import GraphTensor
from keras_transformer.export.inputs import AnyModel
from keras_transformer.export.onnx.graphs.native import Native
from keras_transformer.export.onnx.graphs.onnxruntime import OnnxRuntime
from keras_transformer.export.onnx.graphs.portable import Portable
from keras_transformer.export.onnx.graphs.specs import Listing
from keras_transformer.export.onnx.graphs.target import Target
from keras_transformer.export.onnx.quantize.bfloat16 import NativeBfloat16
from keras_transformer.export.onnx.quantize.float16 import to_float16
from keras_transformer.export.onnx.quantize.int8 import Int8, NativeInt8
from keras_transformer.export.onnx.quantize.kernels import Float32
from keras_transformer.export.onnx.quantize.native_float32 import NativeFloat32
from keras_transformer.export.onnx.quantize.shared_int8 import SharedInt8

# Largest absolute difference from Keras of any output. For quantized graphs it only catches outputs
# that are plainly wrong: the cost of quantization is measured as translation quality.
_TOLERANCES = {"float32": 1e-4, "float16": 0.2}
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
)


class Float16:
    """The portable target in float16; see `Portable`."""

    listing: Listing = "gathered"

    def __init__(self, *, has_shortlist: bool = False) -> None:
        self._portable = Portable(has_shortlist=has_shortlist)

    def graph(self, name: str, model: AnyModel, opset: int) -> onnx.ModelProto:
        """Converts a portable graph; see `Target.graph`."""
        return to_float16(self._portable.graph(name, model, opset), keep_float32=_ALWAYS_FLOAT32)


def target_in(
    precision: str, name: str, *, has_shortlist: bool = False, shares_weights: bool = False
) -> Target:
    """Returns the target with this name that makes graphs in a precision.

    Args:
        precision: One of `settings.PRECISIONS`.
        name: One of the manifest's targets; "portable" has no int8, the others no float16, and only
            "native" has bfloat16.
        has_shortlist: Whether graphs choose among the ids of a shortlist.
        shares_weights: Whether graphs for "native" lie over the same file of weights.
    """
    listed = {"has_shortlist": has_shortlist}
    if name == "portable":
        return Float16(**listed) if precision == "float16" else Portable(**listed)
    if precision == "float32":
        if name == "native":
            return Native(NativeFloat32(), Float32(), **listed)
        return OnnxRuntime(Float32(), **listed)
    if precision == "bfloat16":
        halved = NativeBfloat16(**listed)
        return Native(halved, halved, **listed)
    flags = {"batch_dependent": precision == "int8_batch_dependent"}
    if name == "native":
        return Native(NativeInt8(**flags), SharedInt8(**flags), **listed)
    return OnnxRuntime(SharedInt8(**flags) if shares_weights else Int8(**flags), **listed)


def in_precision_spec(spec: GraphTensor, precision: str) -> GraphTensor:
    """Returns the spec of an input or output in a precision."""
    if precision == "float16" and spec.dtype == "float32" and spec.name not in _ALWAYS_FLOAT32:
        return replace(spec, dtype="float16")
    return spec


def tolerance_of(precision: str) -> float:
    """Returns the largest absolute difference from Keras to accept."""
    return _TOLERANCES.get(precision, _QUANTIZED_TOLERANCE)
