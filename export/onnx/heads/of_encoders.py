"""The end of an encoder's graph: its head or its pooler."""

from collections.abc import Callable
from typing import Any

import numpy as np

from keras_transformer.config.encoder_only import EncoderConfig
from keras_transformer.config.text_vectors import SHORTEST, Pooling, poolings_of
from keras_transformer.export.onnx.graphs.builder import GraphBuilder, integers
from keras_transformer.export.onnx.graphs.specs import LOGITS
from keras_transformer.export.onnx.layers.activations import Activation
from keras_transformer.export.onnx.layers.linear import Linear, weight_array
from keras_transformer.export.onnx.layers.norms import normalized
from keras_transformer.export.onnx.layers.token_rows import TokenRows
from keras_transformer.export.onnx.quantize.kernels import Kernels
from keras_transformer.layers.heads.classes import ClassHead
from keras_transformer.layers.variants.activations import activation_named
from keras_transformer.models.encoder_only import EncoderOnly

HOLDS: dict[type, set[str]] = {
    EncoderConfig: {
        "pooler",
        "pooler_activation",
        "keep_pooler",
        "head",
        "labels",
        "multi_label",
        "crf",
        "value_activation",
        "text_state",
        "head_transform",
        "masked_activation",
        "pooling",
        "dense",
        "unit_vectors",
    }
}


def rows_that_are_read(
    graph: GraphBuilder, model: EncoderOnly, rows: TokenRows
) -> Callable[[str], str] | None:
    """Returns what picks the states that the head reads; None if it reads all of them."""
    config = model.config
    if config.head in ("tagging", "spans"):
        return None
    if config.head == "embedding" and config.pooling not in ("first", "last"):
        return None
    if config.head == "masked_lm":
        places = "places"
    else:
        pooling = config.pooling if config.head == "embedding" else config.read_place
        if pooling == "mean":
            return None
        places = _place(graph, rows.mask, pooling == "last")
    numbers = rows.numbers_at(places)
    return lambda states: graph.op("Gather", states, numbers, axis=0)


def _place(graph: GraphBuilder, mask: str, is_last: bool) -> str:
    """Returns the place of each text's first token, or of its last: int64 `(batch, 1)`."""
    return graph.op("ArgMax", mask, axis=1, keepdims=1, select_last_index=int(is_last))


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
        logits = _class_logits(graph, kernels, model.head, states)
        graph.output(LOGITS, rows.padded(logits, model.head.num_classes))
    elif kind == "embedding":
        graph.output("vectors", _vectors(graph, kernels, model, states, rows))
    else:
        if model.config.read_place == "mean":
            states = _pooled_states(graph, "mean", states, rows, model.config.model_dim)
        name, found = _of_text_state(graph, kernels, model, states)
        graph.output(name, found)


def _of_text_state(
    graph: GraphBuilder, kernels: Kernels, model: EncoderOnly, states: str
) -> tuple[str, str]:
    """Returns the output's name and its value for states `(batch, model_dim)`."""
    kind = model.config.head
    if model.pooler is not None:
        pooled = kernels.linear(graph, states, Linear.of(model.pooler.linear))
        function = activation_named(model.config.pooler_activation)
        states = Activation(graph, function, model.config.model_dim)(pooled)
    if kind is None:
        return "pooled", states
    found = _class_logits(graph, kernels, model.head, states)
    if kind != "regression":
        return LOGITS, found
    is_share = model.config.value_activation == "sigmoid"
    return "values", graph.op("Sigmoid", found) if is_share else found


def _class_logits(graph: GraphBuilder, kernels: Kernels, head: ClassHead, states: str) -> str:
    """Returns the logits of a `ClassHead`, `(rows, num_classes)`."""
    if head.transform is not None:
        states = _transformed(graph, kernels, head, states)
    return kernels.linear(graph, states, Linear.of(head.linear))


def _transformed(graph: GraphBuilder, kernels: Kernels, head: Any, states: str) -> str:
    """Returns what a head's linear layer, its activation and its norm make of states."""
    layer = Linear.of(head.transform)
    activate = Activation(graph, head.transform.activation, layer.units)
    hidden = activate(kernels.linear(graph, states, layer))
    return normalized(graph, hidden, head.layer_norm)


def _masked_tokens(graph: GraphBuilder, kernels: Kernels, model: EncoderOnly, states: str) -> str:
    """Returns logits of states `(batch * predictions, model_dim)`, shaped by the places."""
    head, width = model.head, model.config.embedded_dim
    features = _transformed(graph, kernels, head, states)
    # The bias is the last column.
    matrix, bias = np.split(weight_array(head.matrix), [width], axis=1)
    layer = Linear(np.ascontiguousarray(matrix), bias[:, 0], transposed=True)
    logits = kernels.linear(graph, features, layer)
    return graph.op("Reshape", logits, graph.extended_shape("places", head.vocab_size))


def _vectors(
    graph: GraphBuilder, kernels: Kernels, model: EncoderOnly, states: str, rows: TokenRows
) -> str:
    """Returns one vector for each text: float32 `(batch, vector_dim)`."""
    config = model.config
    if config.pooling not in ("first", "last"):
        states = _pooled_states(graph, config.pooling, states, rows, config.model_dim)
    for layer in model.head.layers if config.dense else ():
        product = kernels.linear(graph, states, Linear.of(layer))
        states = Activation(graph, layer.activation, layer.units)(product)
    if not config.unit_vectors:
        return states
    lengths = graph.op("ReduceL2", states, integers(1), keepdims=1)
    return graph.op("Div", states, graph.op("Max", lengths, np.float32(SHORTEST)))


def _pooled_states(
    graph: GraphBuilder, pooling: str, states: str, rows: TokenRows, width: int
) -> str:
    """Returns what `text_vector.pooled_states` does, of states `(tokens, model_dim)`."""
    # [batch, length, model_dim], [batch, length, 1]
    padded = rows.padded(states, width)
    keep = graph.op("Unsqueeze", graph.cast(rows.mask, "float32"), integers(2))

    def mean(weights: str) -> str:
        total = graph.op("ReduceSum", graph.op("Mul", padded, weights), integers(1), keepdims=0)
        count = graph.op("ReduceSum", weights, integers(1), keepdims=0)
        return graph.op("Div", total, graph.op("Max", count, np.float32(1)))

    def one(name: Pooling) -> str:
        if name in ("first", "last"):
            numbers = rows.numbers_at(_place(graph, rows.mask, name == "last"))
            return graph.op("Gather", states, numbers, axis=0)
        if name == "max":
            kept = graph.cast(keep, "bool")
            real = graph.op("Where", kept, padded, np.float32(-np.inf))
            return graph.op("ReduceMax", real, integers(1), keepdims=0)
        if name == "weighted_mean":
            return mean(graph.op("Mul", keep, graph.op("CumSum", keep, np.int64(1))))
        if name == "mean_sqrt_length":
            count = graph.op("ReduceSum", keep, integers(1), keepdims=0)
            return graph.op("Mul", mean(keep), graph.op("Sqrt", count))
        return mean(keep)

    found = [one(name) for name in poolings_of(pooling)]
    return found[0] if len(found) == 1 else graph.op("Concat", *found, axis=1)
