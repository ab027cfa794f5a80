"""Distances as sinusoids (Dai et al. 2019, section 3.3 and appendix B) or by vectors (He et al.
2021), and relative segments (Yang et al. 2019, section 2.5): what they add to scores of attention.
"""

from typing import Any

import numpy as np

from keras_transformer.config.decoder_only import DecoderConfig
from keras_transformer.config.encoder_only import EncoderConfig
from keras_transformer.config.positions.disentangled import DisentangledConfig
from keras_transformer.config.stack import AttentionConfig
from keras_transformer.export.onnx.graphs.builder import GraphBuilder, integers
from keras_transformer.export.onnx.graphs.readers import TOKEN_TYPES
from keras_transformer.export.onnx.layers.embedding import sinusoids
from keras_transformer.export.onnx.layers.linear import weight_array
from keras_transformer.layers.attention import MultiHeadAttention

# Numbers in the widest register that our operators use.
_LANES = 16

HOLDS: dict[type, set[str]] = {
    AttentionConfig: {
        "relative_sinusoids",
        "farthest_distance",
        "relative_segments",
        "disentangled",
    },
    DisentangledConfig: {"buckets", "max_distance"},
    EncoderConfig: {"relative_segments", "disentangled_buckets"},
    # What is remembered is what caches hold; how far it reaches is a window.
    DecoderConfig: {"memory_length"},
}


def by_distance(
    graph: GraphBuilder, attention: MultiHeadAttention, query: str, key: str, ids: str | None
) -> tuple[str, str | None]:
    """Returns queries for the keys, and the scores of distances and segments, before any cap.

    Args:
        graph: The graph.
        attention: The layer.
        query: `(batch, heads, queries, key_dim)`, already scaled.
        key: `(batch, heads, keys, key_dim)`.
        ids: A value `(batch, length)` of whole sequences; None for one query at the place `step`,
            with all places of the caches as keys.

    Returns:
        Queries, and scores `(batch, heads, queries, keys)`; the query and None without either.
    """
    layer, further = attention.distances, _of_segments(graph, attention, query)
    if attention.disentangled is not None and ids is not None:
        found = _disentangled(graph, attention, query, key, ids)
        further = found if further is None else graph.op("Add", further, found)
    if layer is None:
        return query, further
    scale = _scale(attention)
    content, position = (
        graph.op("Add", query, weight_array(bias)[:, None] * scale)
        for bias in (layer.content_bias, layer.position_bias)
    )
    farthest = layer.farthest
    distances = graph.shared(("distances", ids, farthest), lambda: _distances(graph, ids, farthest))
    width = layer.sinusoids.model_dim
    vectors = graph.shared(
        ("sinusoids of distances", width, ids, farthest),
        lambda: sinusoids(graph, layer.sinusoids, distances),
    )
    # [H, D, K], so that the products of vectors are a matrix of each head.
    heads = weight_array(layer.linear.kernel).reshape(width, layer.num_heads, layer.key_dim)
    keys = graph.op("MatMul", vectors, np.ascontiguousarray(heads.transpose(1, 0, 2)))
    scores = graph.op("MatMul", position, graph.op("Transpose", keys, perm=[0, 2, 1]))
    scores = scores if ids is None else _by_key(graph, attention, scores, ids)
    return content, scores if further is None else graph.op("Add", scores, further)


def vectors_of_distances(attention: MultiHeadAttention) -> tuple[np.ndarray, ...]:
    """Returns what our operator reads of disentangled attention: vectors for queries and for keys,
    float32 `(heads, key_dim, columns)`, and the column of each distance, int32, ascending.
    """
    layer: Any = attention.disentangled
    # Whole registers, an odd number of them: rows a power of 2 apart would share lines of a cache.
    count = 2 * layer.buckets
    columns = (-(-count // _LANES) | 1) * _LANES
    room = (0, 0), (0, 0), (0, columns - count)
    return *(np.pad(one, room) for one in _vectors(attention)), layer.rows


def _vectors(attention: MultiHeadAttention) -> tuple[np.ndarray, np.ndarray]:
    """Returns the vectors of distances for scaled queries and, scaled themselves, for keys: float32
    `(heads, key_dim, 2 * buckets)`.
    """
    layer: Any = attention.disentangled
    asked, answered = (
        weight_array(one).transpose(1, 2, 0)
        for one in (layer.distance_keys, layer.distance_queries)
    )
    return asked, answered * _scale(attention)


def _scale(attention: MultiHeadAttention) -> np.float32:
    return np.float32(attention.config.key_dim**-0.5 if attention.config.scale else 1)


def _of_segments(graph: GraphBuilder, attention: MultiHeadAttention, query: str) -> str | None:
    """Returns the scores of the segments that an encoder's token types name; None without."""
    layer = attention.segments
    if layer is None:
        return None
    asked = graph.op("Add", query, weight_array(layer.segment_bias)[:, None] * _scale(attention))
    vectors = weight_array(layer.vectors).transpose(1, 2, 0)  # [H, K, 2]
    scores = graph.op("MatMul", asked, np.ascontiguousarray(vectors))
    same, other = graph.ops("Split", scores, count=2, axis=3, num_outputs=2)

    def equal() -> str:
        keys = graph.op("Unsqueeze", TOKEN_TYPES, integers(1, 2))
        return graph.op("Equal", graph.op("Unsqueeze", TOKEN_TYPES, integers(1, 3)), keys)

    return graph.op("Where", graph.shared("same segment", equal), same, other)


def _disentangled(
    graph: GraphBuilder, attention: MultiHeadAttention, query: str, key: str, ids: str
) -> str:
    """Returns the scores of distances by their vectors, of whole sequences."""
    layer: Any = attention.disentangled
    most = layer.max_distance

    def rows() -> tuple[str, str]:
        """Returns the rows of all distances, from the largest and from the smallest on."""
        distances = _distances(graph, ids, most)
        signs = (distances, graph.op("Neg", distances))
        places = (graph.op("Add", one, np.int64(most)) for one in signs)
        first, last = (graph.op("Gather", layer.rows.astype(np.int64), one) for one in places)
        return first, last

    def compared(states: str, vectors: np.ndarray, places: str) -> str:
        found = graph.op("Gather", np.ascontiguousarray(vectors), places, axis=2)  # [H, K, D]
        return _by_key(graph, attention, graph.op("MatMul", states, found), ids)

    first, last = graph.shared(("rows", ids, layer.buckets, most), rows)
    asked, answered = _vectors(attention)
    of_keys, of_queries = compared(query, asked, first), compared(key, answered, last)
    return graph.op("Add", of_keys, graph.op("Transpose", of_queries, perm=[0, 1, 3, 2]))


def _distances(graph: GraphBuilder, ids: str | None, farthest: int | None) -> str:
    """Returns distances, int64: of sequences of T tokens all from T - 1 to 1 - T, of one query
    those to the places of a cache; none beyond the farthest, if there is one.
    """
    found = _all_distances(graph, ids)
    if farthest is None:
        return found
    return graph.op("Clip", found, np.int64(-farthest), np.int64(farthest))


def _all_distances(graph: GraphBuilder, ids: str | None) -> str:
    if ids is None:
        end = graph.op("Squeeze", graph.op("Shape", "cache_key_0", start=2, end=3))
        places = graph.op("Range", np.int64(0), end, np.int64(1))
        return graph.op("Sub", graph.cast("step", "int64"), places)
    length = graph.op("Squeeze", graph.op("Shape", ids, start=1))
    last = graph.op("Sub", length, np.int64(1))
    return graph.op("Range", last, graph.op("Neg", length), np.int64(-1))


def _by_key(graph: GraphBuilder, attention: MultiHeadAttention, scores: str, ids: str) -> str:
    """Moves rows to where their own distances begin, as `layers.distances.relative_sinusoids` does.

    `(batch, heads, T, 2 T - 1)` → `(batch, heads, T, T)`.
    """
    length = graph.shared(("length", ids), lambda: graph.op("Shape", ids, start=1))
    heads = integers(0, attention.config.num_heads)
    padded = graph.op("Pad", scores, integers(0, 0, 0, 1, 0, 0, 0, 0))
    apart = graph.op("Concat", heads, integers(-1), length, axis=0)
    moved = graph.op("Reshape", padded, apart)
    moved = graph.op("Slice", moved, integers(1), integers(np.iinfo(np.int64).max), integers(2))
    rows = graph.op("Concat", heads, length, integers(-1), axis=0)
    return graph.op("Slice", graph.op("Reshape", moved, rows), integers(0), length, integers(3))
