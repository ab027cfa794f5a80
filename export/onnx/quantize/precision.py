"""How an artefact's weights are stored and multiplied: float32 graphs and the name of a precision
come in, graphs in that precision and what they are checked against leave.
"""

from dataclasses import replace

import onnx

from keras_transformer.artefact.manifest import TensorSpec
from keras_transformer.export.onnx.quantize.float16 import to_float16
from keras_transformer.export.onnx.quantize.int8 import quantize_int8

# Largest absolute difference from Keras of any output. Quantized outputs are only kept from being
# nonsense: what quantization costs is measured in translation quality.
_TOLERANCES = {"float32": 1e-4, "float16": 0.2}
_QUANTIZED_TOLERANCE = 1.0
# What is summed or compared, and small.
_ALWAYS_FLOAT32 = (
    "logits",
    "candidate_values",
    "next_log_probabilities",
    "totals",
    "log_probabilities",
    "attention",
)


def in_precision(graph: onnx.ModelProto, name: str, precision: str) -> onnx.ModelProto:
    """Returns a graph in another precision.

    Args:
        graph: A float32 graph.
        name: Of the manifest's graphs.
        precision: One of `settings.PRECISIONS`.
    """
    if precision == "float32":
        return graph
    if precision == "float16":
        return to_float16(graph, keep_float32=_ALWAYS_FLOAT32)
    return quantize_int8(
        graph,
        batch_dependent=precision == "int8_batch_dependent",
        ranked="logits" if name == "greedy" else "",
    )


def in_precision_spec(spec: TensorSpec, precision: str) -> TensorSpec:
    """Returns what becomes of an input or an output."""
    if precision == "float16" and spec.dtype == "float32" and spec.name not in _ALWAYS_FLOAT32:
        return replace(spec, dtype="float16")
    return spec


def tolerance_of(precision: str) -> float:
    """Returns the largest absolute difference from Keras to accept."""
    return _TOLERANCES.get(precision, _QUANTIZED_TOLERANCE)
