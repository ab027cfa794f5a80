"""Attention in standard operators, for every layer: also if keys and values differ in width or
heads of queries share keys and values.
"""

import numpy as np

from keras_transformer.export.onnx.graphs.builder import GraphBuilder, integers
from keras_transformer.export.onnx.layers.activations import soft_capped
from keras_transformer.export.onnx.layers.attention.distances import by_distance
from keras_transformer.export.onnx.layers.attention.kinds import MASKED, is_grouped, named
from keras_transformer.export.onnx.layers.attention.relative import step_bias, with_bias
from keras_transformer.export.onnx.layers.attention.split import HEADS_FIRST, split_heads
from keras_transformer.export.onnx.layers.embedding import places_of_rows, places_up_to
from keras_transformer.layers.attention import MultiHeadAttention
from keras_transformer.layers.distances.relative_bias import RelativeBias


def attend(
    graph: GraphBuilder,
    attention: MultiHeadAttention,
    query: str,
    key: str,
    value: str,
    more: str,
    further: str | None = None,
) -> tuple[str, str]:
    """Attends from queries that are already scaled.

    Args:
        graph: The graph.
        attention: The layer.
        query: `(batch, heads, queries, key_dim)`.
        key: `(batch, key_value_heads, keys, key_dim)`.
        value: `(batch, key_value_heads, keys, value_dim)`.
        more: Values to add to the capped scores `(batch, heads, queries, keys)`.
        further: The same before they are capped; None for none.

    Returns:
        `(batch * queries, heads * value_dim)`, and the weights.
    """
    # The heads that share keys become rows of one matrix, so that no key is copied.
    scores = graph.op(
        "MatMul",
        _by_keys(graph, attention, query, attention.config.key_dim),
        graph.op("Transpose", key, perm=[0, 1, 3, 2]),
    )
    scores = _by_heads(graph, attention, scores, 0)
    scores = scores if further is None else graph.op("Add", scores, further)
    scores = soft_capped(graph, scores, attention.config.soft_cap)
    weights = graph.op("Softmax", graph.op("Add", scores, more), axis=-1)
    heads = graph.op("MatMul", _by_keys(graph, attention, weights, 0), value)
    heads = _by_heads(graph, attention, heads, attention.config.value_dim)
    heads = graph.op("Transpose", heads, perm=HEADS_FIRST)
    return graph.reshape(
        heads, -1, attention.config.num_heads * attention.config.value_dim
    ), weights


def _by_keys(graph: GraphBuilder, attention: MultiHeadAttention, value: str, width: int) -> str:
    """`(batch, heads, queries, …)` → `(batch, key_value_heads, group * queries, …)`.

    A width of 0 stands for that of the value.
    """
    if not is_grouped(attention):
        return value
    return graph.reshape(value, 0, attention.config.num_key_value_heads, -1, width)


def _by_heads(graph: GraphBuilder, attention: MultiHeadAttention, value: str, width: int) -> str:
    """Undoes `_by_keys`."""
    if not is_grouped(attention):
        return value
    return graph.reshape(value, 0, attention.config.num_heads, -1, width)


def attend_source(
    graph: GraphBuilder, attention: MultiHeadAttention, queries: str, number: int
) -> tuple[str, str]:
    """Attends from queries `(batch, queries, heads, key_dim)` to the source; see `attend`."""
    query = graph.op("Transpose", queries, perm=HEADS_FIRST)
    key, value = named("cross", number)
    return attend(graph, attention, query, key, value, hidden_keys(graph, "source_mask"))


def attend_cache(
    graph: GraphBuilder,
    attention: MultiHeadAttention,
    projected: str,
    number: int,
    beams: tuple[str, ...],
    relative: RelativeBias | None,
) -> str:
    """Attends from a new token of each row to a cache, and writes it; see `cached_attention`."""
    query, *new = split_heads(graph, attention, projected, None)
    here, later = graph.shared("places", lambda: _places_in_cache(graph))
    seen = []
    for kind, part in zip((0, 1), new, strict=True):
        buffer = named("cache", number)[kind]
        graph.output(named("new_cache", number)[kind], graph.op("Where", here, part, buffer))
        if beams:
            rows = _rows_of_tokens(graph, buffer, beams)
            buffer = graph.op("GatherElements", buffer, rows, axis=0)
        seen.append(graph.op("Where", here, part, buffer))
    keys, values = seen
    bias = step_bias(graph, attention, relative, whole_cache=True)
    query, further = by_distance(graph, attention, query, keys, None)
    return attend(graph, attention, query, keys, values, with_bias(graph, later, bias), further)[0]


def _places_in_cache(graph: GraphBuilder) -> tuple[str, str]:
    """Returns a mask of the new token's place, `(cache_length, 1)`, and one of the places after."""
    length = graph.op("Squeeze", graph.op("Shape", "cache_key_0", start=2, end=3))
    places = graph.op("Range", np.int64(0), length, np.int64(1))
    step = graph.cast("step", "int64")
    later = graph.cast(graph.op("Greater", places, step), "float32")
    here = graph.op("Unsqueeze", graph.op("Equal", places, step), integers(1))
    return here, graph.op("Mul", later, np.float32(MASKED))


def _rows_of_tokens(graph: GraphBuilder, buffer: str, beams: tuple[str, ...]) -> str:
    """Returns the cache row that holds each value that a row reads, in the cache's shape."""

    def make() -> str:
        beam_size, cache_beams = beams
        batch = graph.op("Squeeze", graph.op("Shape", cache_beams, end=1))
        sentences = graph.op("Range", np.int64(0), batch, np.int64(1))
        first = graph.op("Mul", sentences, graph.cast(beam_size, "int64"))
        first = graph.op("Unsqueeze", first, integers(1, 2))
        rows = graph.op("Add", graph.cast(cache_beams, "int64"), first)
        length = graph.op("Shape", cache_beams, start=2)
        return graph.op(
            "Reshape", rows, graph.op("Concat", integers(-1, 1), length, integers(1), axis=0)
        )

    rows = graph.shared("rows of tokens", make)
    return graph.op("Expand", rows, graph.op("Shape", buffer))


def hidden_keys(graph: GraphBuilder, mask: str) -> str:
    """Returns the mask to add to the scores of padding: float32 `(batch, 1, 1, length)`."""

    def make() -> str:
        hidden = graph.cast(graph.op("Sub", np.int32(1), mask), "float32")
        hidden = graph.op("Mul", hidden, np.float32(MASKED))
        return graph.op("Unsqueeze", hidden, integers(1, 2))

    return graph.shared("hidden keys", make)


def later_places(graph: GraphBuilder, ids: str) -> str:
    """Returns the mask to add to the scores of later places: float32 `(length, keys)`."""

    def make() -> str:
        column = graph.op("Unsqueeze", places_of_rows(graph, ids), integers(1))
        later = graph.cast(graph.op("Greater", places_up_to(graph, ids), column), "float32")
        return graph.op("Mul", later, np.float32(MASKED))

    return graph.shared("later", make)
