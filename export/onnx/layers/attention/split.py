"""Divides `own_projection`'s outputs into queries, keys and values, and turns them by rotary
positions (Su et al. 2021) if the layer has them.
"""

import numpy as np

from keras_transformer.export.onnx.graphs.builder import GraphBuilder, integers
from keras_transformer.export.onnx.graphs.operators import MICROSOFT
from keras_transformer.export.onnx.layers.attention.kinds import head_widths, is_grouped
from keras_transformer.export.onnx.layers.embedding import places_of_rows
from keras_transformer.layers.attention import MultiHeadAttention
from keras_transformer.layers.variants.rotary import rates

HEADS_FIRST = [0, 2, 1, 3]
Three = tuple[str, str, str]


def split_places(
    graph: GraphBuilder, attention: MultiHeadAttention, packed: str, ids: str | None
) -> Three:
    """Divides `(batch, length, width)` into queries, keys and values `(batch, length, …)`.

    Args:
        graph: The graph.
        attention: The layer.
        packed: The projection's outputs.
        ids: A value `(batch, length)`; None if each row is one token at the place `step`.
    """
    if is_grouped(attention):
        sizes = integers(*head_widths(attention))
        parts = graph.ops("Split", packed, sizes, count=3, axis=2)
    else:
        parts = graph.ops("Split", packed, count=3, axis=2, num_outputs=3)
    return _turned(graph, attention, parts, ids)


def split_heads(
    graph: GraphBuilder, attention: MultiHeadAttention, projected: str, ids: str | None
) -> Three:
    """Divides `(batch * length, width)` into queries, keys and values with heads first.

    They are `(batch, heads, length, width)`; arguments are as for `split_places`.
    """
    shared = attention.config.num_key_value_heads
    heads = (attention.config.num_heads, shared, shared)
    widths = (attention.config.key_dim, attention.config.key_dim, attention.config.value_dim)
    found = []
    parts = graph.ops("Split", projected, integers(*head_widths(attention)), count=3, axis=1)
    for part, count, width in zip(parts, heads, widths, strict=True):
        if ids is None:
            found.append(graph.reshape(part, -1, count, 1, width))
        else:
            part = graph.op("Reshape", part, graph.extended_shape(ids, count, width))
            found.append(graph.op("Transpose", part, perm=HEADS_FIRST))
    return _turned(graph, attention, found, ids)


def _turned(
    graph: GraphBuilder, attention: MultiHeadAttention, parts: list[str], ids: str | None
) -> Three:
    query, key, value = parts
    if attention.config.rotary is None:
        return query, key, value
    rotary, width = attention.config.rotary, attention.config.key_dim
    cosines, sines = graph.shared(
        ("rotary", rotary, width, ids), lambda: _waves(graph, rates(rotary, width), ids)
    )
    query, key = (
        graph.op("RotaryEmbedding", part, integers(0), cosines, sines, domain=MICROSOFT)
        for part in (query, key)
    )
    return query, key, value


def _waves(graph: GraphBuilder, rates: np.ndarray, ids: str | None) -> tuple[str, str]:
    """Returns the cosines and sines of the places' angles: float32 `(length, width / 2)`."""
    places = "step" if ids is None else places_of_rows(graph, ids)
    column = graph.op("Unsqueeze", graph.cast(places, "float32"), integers(1))
    angles = graph.op("Mul", column, rates)
    return graph.op("Cos", angles), graph.op("Sin", angles)
