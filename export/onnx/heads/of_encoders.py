"""The end of an encoder's graph: takes its states and returns what its head or pooler makes of
them.
"""

import numpy as np

from keras_transformer.export.onnx.graphs.builder import GraphBuilder, integers
from keras_transformer.export.onnx.graphs.specs import LOGITS
from keras_transformer.export.onnx.layers.activations import emit_activation
from keras_transformer.export.onnx.layers.linear import Linear, weight_array
from keras_transformer.export.onnx.layers.norms import normalized
from keras_transformer.export.onnx.layers.token_rows import TokenRows
from keras_transformer.export.onnx.quantize.kernels import Kernels
from keras_transformer.models.encoder_only import EncoderOnly


def emit_head(
    graph: GraphBuilder, kernels: Kernels, model: EncoderOnly, states: str, rows: TokenRows
) -> None:
    """Emits the outputs of the graph "head"; see `specs.head_specs`.

    Args:
        graph: The graph.
        kernels: How linear layers are multiplied.
        model: The model.
        states: float32 `(tokens, model_dim)`.
        rows: Where the tokens stand.
    """
    kind = model.config.head
    if kind == "masked_lm":
        graph.output(LOGITS, _masked_tokens(graph, kernels, model, rows.at(states, "places")))
    elif kind in ("tagging", "spans"):
        logits = kernels.linear(graph, states, Linear.of(model.head.linear))
        graph.output(LOGITS, rows.padded(logits, model.head.num_classes))
    elif kind == "embedding" and model.config.pooling == "mean":
        padded = rows.padded(states, model.config.model_dim)
        graph.output("vectors", _mean_state(graph, padded, rows.mask))
    else:
        # See `pooler.first_state`.
        first = rows.at(states, graph.op("ArgMax", rows.mask, axis=1, keepdims=1))
        name, found = _of_first_state(graph, kernels, model, first)
        graph.output(name, found)


def _of_first_state(
    graph: GraphBuilder, kernels: Kernels, model: EncoderOnly, states: str
) -> tuple[str, str]:
    """Returns the output's name and its value for states `(batch, model_dim)`."""
    kind = model.config.head
    if kind == "embedding":
        return "vectors", states
    if model.pooler is not None:
        states = graph.op("Tanh", kernels.linear(graph, states, Linear.of(model.pooler.linear)))
    if kind is None:
        return "pooled", states
    found = kernels.linear(graph, states, Linear.of(model.head.linear))
    return ("values" if kind == "regression" else LOGITS), found


def _masked_tokens(graph: GraphBuilder, kernels: Kernels, model: EncoderOnly, states: str) -> str:
    """Returns logits of states `(batch * predictions, model_dim)`, shaped by the places."""
    head, width = model.head, model.config.model_dim
    hidden = kernels.linear(graph, states, Linear.of(head.transform))
    features = normalized(
        graph, emit_activation(graph, head.activation, hidden, width), head.layer_norm
    )
    # The bias is the last column.
    matrix, bias = np.split(weight_array(head.matrix), [width], axis=1)
    layer = Linear(np.ascontiguousarray(matrix), bias[:, 0], transposed=True)
    logits = kernels.linear(graph, features, layer)
    return graph.op("Reshape", logits, graph.extended_shape("places", head.vocab_size))


def _mean_state(graph: GraphBuilder, states: str, mask: str) -> str:
    """Returns the mean of states `(batch, length, model_dim)` at tokens; see `mean_state`."""
    weights = graph.op("Unsqueeze", graph.cast(mask, "float32"), integers(2))
    total = graph.op("ReduceSum", graph.op("Mul", states, weights), integers(1), keepdims=0)
    count = graph.op("ReduceSum", weights, integers(1), keepdims=0)
    return graph.op("Div", total, graph.op("Max", count, np.float32(1)))
