"""The end of an encoder's graph: takes its states and returns what its head or pooler makes of
them.
"""

import numpy as np

from keras_transformer.export.onnx.graphs.builder import GraphBuilder, integers
from keras_transformer.export.onnx.graphs.specs import LOGITS
from keras_transformer.export.onnx.layers.activations import emit_activation
from keras_transformer.export.onnx.layers.linear import Linear, weight_array
from keras_transformer.export.onnx.layers.norms import normalized
from keras_transformer.export.onnx.quantize.kernels import Kernels
from keras_transformer.models.encoder_only import EncoderOnly


def emit_head(
    graph: GraphBuilder, kernels: Kernels, model: EncoderOnly, states: str, mask: str
) -> None:
    """Emits the outputs of the graph "head"; see `specs.head_specs`.

    Args:
        graph: The graph.
        kernels: How linear layers are multiplied.
        model: The model.
        states: float32 `(batch * length, model_dim)`.
        mask: int32 `(batch, length)`, 1 for tokens.
    """
    kind = model.config.head
    if kind == "masked_lm":
        graph.output(LOGITS, _masked_tokens(graph, kernels, model, states))
    elif kind in ("tagging", "spans"):
        logits = kernels.linear(graph, states, Linear.of(model.head.linear))
        shape = graph.extended_shape("token_ids", model.head.num_classes)
        graph.output(LOGITS, graph.op("Reshape", logits, shape))
    elif kind == "embedding":
        pool = _mean_state if model.config.pooling == "mean" else _first_state
        graph.output("vectors", pool(graph, _by_text(graph, model, states), mask))
    else:
        pooled = _pooled(graph, kernels, model, states, mask)
        if kind is None:
            graph.output("pooled", pooled)
        else:
            name = "values" if kind == "regression" else LOGITS
            graph.output(name, kernels.linear(graph, pooled, Linear.of(model.head.linear)))


def _masked_tokens(graph: GraphBuilder, kernels: Kernels, model: EncoderOnly, states: str) -> str:
    """Returns logits at some places of each text: `(batch, predictions, vocab_size)`."""
    head, width = model.head, model.config.model_dim
    places = graph.op("Unsqueeze", graph.cast("places", "int64"), integers(2))
    chosen = graph.op("GatherND", _by_text(graph, model, states), places, batch_dims=1)
    hidden = kernels.linear(graph, graph.reshape(chosen, -1, width), Linear.of(head.transform))
    features = normalized(
        graph, emit_activation(graph, head.activation, hidden, width), head.layer_norm
    )
    # The bias is the last column.
    matrix, bias = np.split(weight_array(head.matrix), [width], axis=1)
    layer = Linear(np.ascontiguousarray(matrix), bias[:, 0], transposed=True)
    logits = kernels.linear(graph, features, layer)
    return graph.op("Reshape", logits, graph.extended_shape("places", head.vocab_size))


def _pooled(
    graph: GraphBuilder, kernels: Kernels, model: EncoderOnly, states: str, mask: str
) -> str:
    """Returns what heads of whole texts read: `(batch, model_dim)`."""
    first = _first_state(graph, _by_text(graph, model, states), mask)
    if model.pooler is None:
        return first
    return graph.op("Tanh", kernels.linear(graph, first, Linear.of(model.pooler.linear)))


def _by_text(graph: GraphBuilder, model: EncoderOnly, states: str) -> str:
    shape = graph.extended_shape("token_ids", model.config.model_dim)
    return graph.op("Reshape", states, shape)


def _first_state(graph: GraphBuilder, states: str, mask: str) -> str:
    """Returns the state of each text's first token; see `pooler.first_state`."""
    place = graph.op("ArgMax", mask, axis=1, keepdims=1)
    return graph.op("GatherND", states, place, batch_dims=1)


def _mean_state(graph: GraphBuilder, states: str, mask: str) -> str:
    """Returns the mean of each text's states at tokens; see `pooler.mean_state`."""
    weights = graph.op("Unsqueeze", graph.cast(mask, "float32"), integers(2))
    total = graph.op("ReduceSum", graph.op("Mul", states, weights), integers(1), keepdims=0)
    count = graph.op("ReduceSum", weights, integers(1), keepdims=0)
    return graph.op("Div", total, graph.op("Max", count, np.float32(1)))
