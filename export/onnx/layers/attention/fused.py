"""Attention in onnxruntime's operator MultiHeadAttention."""

from keras_transformer.export.onnx.graphs.builder import GraphBuilder, integers
from keras_transformer.export.onnx.graphs.operators import MICROSOFT
from keras_transformer.export.onnx.layers.attention.kinds import MASKED, is_grouped
from keras_transformer.layers.attention import MultiHeadAttention


def attend_fused(
    graph: GraphBuilder,
    attention: MultiHeadAttention,
    query: str,
    key: str,
    value: str,
    mask: str | None,
    bias: str | None = None,
) -> str:
    """Attends from queries `(batch, queries, heads * width)`, already scaled.

    Keys and values have the shape of queries, or `(batch, heads, keys, width)`. With a mask int32
    `(batch, keys)`, queries attend to the keys that it keeps; without one, each query attends to
    the keys up to its own place. A bias `(1, heads, queries, keys)` is added to the scores.
    """
    optional = (mask, bias) if bias else (mask,) if mask else ()
    heads = graph.op(
        "MultiHeadAttention",
        *(query, key, value, None, *optional),
        domain=MICROSOFT,
        num_heads=attention.config.num_heads,
        scale=1.0,
        mask_filter_value=MASKED,
        unidirectional=int(mask is None),
    )
    return graph.reshape(heads, -1, attention.config.num_heads * attention.config.value_dim)


def with_all_heads(graph: GraphBuilder, attention: MultiHeadAttention, part: str, ids: str) -> str:
    """Repeats keys or values `(batch, length, …)` for each head of queries that shares them."""
    if not is_grouped(attention):
        return part
    shared, width = attention.config.num_key_value_heads, attention.config.key_dim
    group = attention.config.num_heads // shared
    apart = graph.op("Reshape", part, graph.extended_shape(ids, shared, 1, width))
    repeated = graph.op("Expand", apart, integers(1, 1, 1, group, 1))
    return graph.op(
        "Reshape", repeated, graph.extended_shape(ids, attention.config.num_heads * width)
    )
