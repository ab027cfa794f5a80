"""The end of an encoder's graph: takes its states and returns what its head or pooler makes of
them.
"""

from collections.abc import Callable

import numpy as np

from keras_transformer.config.encoder_only import SHORTEST, EncoderConfig
from keras_transformer.export.onnx.graphs.builder import GraphBuilder, integers
from keras_transformer.export.onnx.graphs.specs import LOGITS
from keras_transformer.export.onnx.layers.activations import Activation
from keras_transformer.export.onnx.layers.linear import Linear, weight_array
from keras_transformer.export.onnx.layers.norms import normalized
from keras_transformer.export.onnx.layers.token_rows import TokenRows
from keras_transformer.export.onnx.quantize.kernels import Kernels
from keras_transformer.models.encoder_only import EncoderOnly

# The operator of each `pooler_activation`.
_POOLERS = {"tanh": "Tanh", "relu": "Relu"}


def rows_that_are_read(
    graph: GraphBuilder, model: EncoderOnly, rows: TokenRows
) -> Callable[[str], str] | None:
    """Returns what picks the states that the head reads; None if it reads all of them."""
    config = model.config
    if config.head in ("tagging", "spans") or (config.head, config.pooling) == (
        "embedding",
        "mean",
    ):
        return None
    if config.head == "masked_lm":
        places = "places"
    else:
        # See `pooler.first_state`.
        places = graph.op("ArgMax", rows.mask, axis=1, keepdims=1)
    numbers = rows.numbers_at(places)
    return lambda states: graph.op("Gather", states, numbers, axis=0)


def emit_head(
    graph: GraphBuilder, kernels: Kernels, model: EncoderOnly, states: str, rows: TokenRows
) -> None:
    """Emits the outputs of the graph "head"; see `specs.head_specs`.

    Args:
        graph: The graph.
        kernels: How linear layers are multiplied.
        model: The model.
        states: float32 `(tokens, model_dim)`, or those of `rows_that_are_read`.
        rows: Where the tokens stand.
    """
    kind = model.config.head
    if kind == "masked_lm":
        graph.output(LOGITS, _masked_tokens(graph, kernels, model, states))
    elif kind in ("tagging", "spans"):
        logits = kernels.linear(graph, states, Linear.of(model.head.linear))
        graph.output(LOGITS, rows.padded(logits, model.head.num_classes))
    elif kind == "embedding":
        graph.output("vectors", _vectors(graph, model.config, states, rows))
    else:
        name, found = _of_first_state(graph, kernels, model, states)
        graph.output(name, found)


def _of_first_state(
    graph: GraphBuilder, kernels: Kernels, model: EncoderOnly, states: str
) -> tuple[str, str]:
    """Returns the output's name and its value for states `(batch, model_dim)`."""
    kind = model.config.head
    if model.pooler is not None:
        pooled = kernels.linear(graph, states, Linear.of(model.pooler.linear))
        states = graph.op(_POOLERS[model.config.pooler_activation], pooled)
    if kind is None:
        return "pooled", states
    found = kernels.linear(graph, states, Linear.of(model.head.linear))
    return ("values" if kind == "regression" else LOGITS), found


def _masked_tokens(graph: GraphBuilder, kernels: Kernels, model: EncoderOnly, states: str) -> str:
    """Returns logits of states `(batch * predictions, model_dim)`, shaped by the places."""
    head, width = model.head, model.config.model_dim
    hidden = kernels.linear(graph, states, Linear.of(head.transform))
    features = normalized(graph, Activation(graph, head.activation, width)(hidden), head.layer_norm)
    # The bias is the last column.
    matrix, bias = np.split(weight_array(head.matrix), [width], axis=1)
    layer = Linear(np.ascontiguousarray(matrix), bias[:, 0], transposed=True)
    logits = kernels.linear(graph, features, layer)
    return graph.op("Reshape", logits, graph.extended_shape("places", head.vocab_size))


def _vectors(graph: GraphBuilder, config: EncoderConfig, states: str, rows: TokenRows) -> str:
    """Returns one vector for each text: float32 `(batch, model_dim)`."""
    if config.pooling == "mean":
        states = _mean_state(graph, rows.padded(states, config.model_dim), rows.mask)
    if not config.unit_vectors:
        return states
    lengths = graph.op("ReduceL2", states, integers(1), keepdims=1)
    return graph.op("Div", states, graph.op("Max", lengths, np.float32(SHORTEST)))


def _mean_state(graph: GraphBuilder, states: str, mask: str) -> str:
    """Returns the mean of states `(batch, length, model_dim)` at tokens; see `mean_state`."""
    weights = graph.op("Unsqueeze", graph.cast(mask, "float32"), integers(2))
    total = graph.op("ReduceSum", graph.op("Mul", states, weights), integers(1), keepdims=0)
    count = graph.op("ReduceSum", weights, integers(1), keepdims=0)
    return graph.op("Div", total, graph.op("Max", count, np.float32(1)))
