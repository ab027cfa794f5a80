"""Low-rank adapters beside the linear layers of a graph (Hu et al. 2021), of which every row of a
batch has one or none.

The factors are inputs: those of all adapters side by side, so that two narrow products serve the
whole batch. Between them a mask leaves each row the columns of its own adapter.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from keras_transformer.artefact.entries import GraphTensor
from keras_transformer.artefact.graph_names import ADAPTER_IDS, ADAPTER_OWNERS, adapter_factors
from keras_transformer.export.onnx.graphs.builder import GraphBuilder
from keras_transformer.export.onnx.graphs.specs import Specs
from keras_transformer.export.onnx.layers.linear import Linear
from keras_transformer.export.onnx.quantize.kernels import Float32
from keras_transformer.models.decoder_only import DecoderOnly
from keras_transformer.models.lora.adaptation import linear_layers

# Graphs of given texts have none.
_ADAPTED = ("decoder", "greedy", "greedy_scores", "prefill")


class AdaptedFloat32(Float32):
    """As `Float32`, with adapters beside the layers of which the graph takes factors."""

    def linear(self, graph: GraphBuilder, inputs: str, layer: Linear, residual: str = "") -> str:
        """Adds the layer's product, and what the rows' adapters add to it."""
        if not any(adapter_factors(one.path)[0] in graph.given for one in layer.sources):
            return super().linear(graph, inputs, layer, residual)
        found = super().linear(graph, inputs, replace(layer, relu=False), residual)
        found = graph.op("Add", found, _low_rank(graph, inputs, layer))
        return graph.op("Relu", found) if layer.relu else found


def _low_rank(graph: GraphBuilder, inputs: str, layer: Linear) -> str:
    """Returns what adapters add to a layer's outputs: `(rows, outputs)`."""
    mask = graph.shared(("adapter mask", inputs), lambda: _mask(graph, inputs))
    parts = []
    for path, scale in layer.sources:
        down, up = adapter_factors(path)
        narrow = graph.op("Mul", graph.op("MatMul", inputs, down), mask)
        wide = graph.op("MatMul", narrow, up)
        parts.append(wide if np.all(scale == 1) else graph.op("Mul", wide, scale))
    return parts[0] if len(parts) == 1 else graph.op("Concat", *parts, axis=1)


def _mask(graph: GraphBuilder, inputs: str) -> str:
    """Returns 1 where a row has the adapter that a column belongs to, else 0: `(rows, width)`."""
    rows = graph.op("Shape", inputs, end=1)
    texts = graph.op("Shape", ADAPTER_IDS)
    # The rows of a text, its beams or its tokens, stand side by side.
    shape = graph.op("Concat", texts, graph.op("Div", rows, texts), axis=0)
    ids = graph.op("Expand", graph.reshape(ADAPTER_IDS, -1, 1), shape)
    owned = graph.op("Equal", graph.reshape(ids, -1, 1), ADAPTER_OWNERS)
    return graph.cast(owned, "float32")


def check_can_adapt(model: Any, target: str, precision: str) -> None:
    """Raises unless graphs can have adapters beside a model's linear layers.

    Raises:
        ValueError: The model, the target or the precision has none.
    """
    if not isinstance(model, DecoderOnly) or model.config.recurrence is not None:
        raise ValueError("adapters=True is for decoders alone, with attention: leave it out.")
    if model.decoder_stack.final_norm is None:
        raise ValueError("adapters=True needs a decoder that normalises the inputs of its blocks.")
    if target != "onnxruntime" or precision != "float32":
        raise ValueError(
            f"adapters=True needs target='onnxruntime' and float32, got {target!r} and "
            f"{precision!r}: leave out adapters (--adapters), or target and quantize."
        )


def with_adapters(specs: Mapping[str, Specs], model: Any) -> dict[str, Specs]:
    """Returns the specs of a decoder's graphs with the factors of adapters among the inputs."""
    width, more = "adapter_width", []
    for layer in linear_layers(model):
        size, units = map(int, layer.kernel.shape)
        down, up = adapter_factors(layer.path)
        more.append(GraphTensor(name=down, dtype="float32", shape=(size, width)))
        more.append(GraphTensor(name=up, dtype="float32", shape=(width, units)))
    more.append(GraphTensor(name=ADAPTER_OWNERS, dtype="int32", shape=(width,)))
    more.append(GraphTensor(name=ADAPTER_IDS, dtype="int32", shape=("texts",)))
    return {
        name: ([*inputs, *more] if name in _ADAPTED else inputs, outputs)
        for name, (inputs, outputs) in specs.items()
    }
