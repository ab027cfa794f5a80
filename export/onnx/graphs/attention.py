"""Attention, one function for each kind: takes a Keras attention layer and returns the parts of a
sub-layer, with onnxruntime's fused operators if keys are as wide as values, else standard ones.
"""

from typing import Any

import numpy as np

from keras_transformer.export.onnx.graphs.builder import GraphBuilder, Operand, integers
from keras_transformer.export.onnx.graphs.embedding import places_of_rows
from keras_transformer.export.onnx.graphs.linear import Linear, own_projection, query_projection
from keras_transformer.export.onnx.graphs.operators import MICROSOFT
from keras_transformer.export.onnx.graphs.sub_layers import Parts
from keras_transformer.layers.attention import MultiHeadAttention

# The value of a masked score: far below any score, far above float32's lowest number.
MASKED = -1e9
# GroupQueryAttention requires a head's width to be a multiple of this.
_GROUPED_WIDTH = 8
_HEADS_FIRST = [0, 2, 1, 3]


def named(prefix: str, number: int) -> tuple[str, str]:
    """Returns the names of a block's keys and values among a graph's inputs and outputs."""
    return f"{prefix}_key_{number}", f"{prefix}_value_{number}"


def is_fused(layer: Any) -> bool:
    """Whether fused operators can hold the attention of a layer or of a config."""
    return layer.key_dim == layer.value_dim


def sequence_attention(
    graph: GraphBuilder, attention: MultiHeadAttention, ids: str, mask: str | None
) -> Parts:
    """Attends within whole sequences.

    Args:
        graph: The graph.
        attention: The layer.
        ids: A value `(batch, length)`.
        mask: int32 `(batch, length)`, 1 where a key may be attended to; None for causal attention.
    """
    packed = own_projection(attention)

    def between(projected: str) -> str:
        if not is_fused(attention):
            hidden = _later(graph, ids) if mask is None else _hidden_keys(graph, mask)
            return _attend(graph, attention, *_split(graph, attention, projected, ids), hidden)[0]
        states = graph.op("Reshape", projected, graph.extended_shape(ids, packed.units))
        query, key, value = graph.ops("Split", states, count=3, axis=2, num_outputs=3)
        return _attend_fused(graph, attention, query, key, value, mask)

    return Parts(packed, between, Linear.of(attention.output_linear))


def prefill_attention(
    graph: GraphBuilder, attention: MultiHeadAttention, number: int, ids: str
) -> Parts:
    """Attends within whole sequences, each place to those before it, and fills a cache.

    Args:
        graph: The graph.
        attention: The layer.
        number: Number of its block, whose cache is written from place 0 on.
        ids: The input of tokens `(rows, length)`.
    """
    packed = own_projection(attention)

    def between(projected: str) -> str:
        query, key, value = _split(graph, attention, projected, ids)
        for new, part, cache in zip(
            named("new_cache", number), (key, value), named("cache", number), strict=True
        ):
            length = graph.shared("length", lambda: graph.op("Shape", ids, start=1))
            end = graph.shared("end", lambda: graph.op("Shape", "cache_key_0", start=2, end=3))
            rest = graph.op("Slice", cache, length, end, integers(2))
            graph.output(new, graph.op("Concat", part, rest, axis=2))
        return _attend(graph, attention, query, key, value, _later(graph, ids))[0]

    return Parts(packed, between, Linear.of(attention.output_linear))


def cached_attention(
    graph: GraphBuilder,
    attention: MultiHeadAttention,
    number: int,
    ids: str,
    beams: tuple[str, ...],
) -> Parts:
    """Attends from one new token of each row to those before it and to itself.

    Args:
        graph: The graph.
        attention: The layer.
        number: Number of its block, whose cache is written in place.
        ids: The input of new tokens `(rows,)`.
        beams: The inputs beam_size and cache_beams, which name the row that holds each earlier
            token; empty if a sentence has one row, which is faster.
    """
    packed, cache = own_projection(attention), named("cache", number)
    kind: dict[str, Any] = {"num_heads": attention.num_heads, "scale": 1.0, "domain": MICROSOFT}

    def between(projected: str) -> str:
        if not is_fused(attention):
            return _attend_cache(graph, attention, projected, number, beams)
        states = graph.reshape(projected, -1, 1, packed.units)
        if not beams and attention.key_dim % _GROUPED_WIDTH == 0:
            # A third faster for few rows, and takes queries, keys and values in one tensor.
            operands = (states, None, None, *cache, *_lengths(graph, ids))
            flags = {**kind, "kv_num_heads": attention.num_heads}
            heads, *written = graph.ops("GroupQueryAttention", *operands, count=3, **flags)
        else:
            parts = graph.ops("Split", states, count=3, axis=2, num_outputs=3)
            operands = (*parts, None, None, *cache, "step", *beams)
            flags = {**kind, "past_present_share_buffer": 1}
            name = "DecoderMaskedMultiHeadAttention"
            heads, *written = graph.ops(name, *operands, count=3, **flags)
        graph.outputs(named("new_cache", number), written)
        return graph.reshape(heads, -1, packed.units // 3)

    return Parts(packed, between, Linear.of(attention.output_linear))


def cross_attention(
    graph: GraphBuilder, attention: MultiHeadAttention, number: int, beams: tuple[str, ...]
) -> Parts:
    """Attends from one new token of each row to its source; arguments as for `cached_attention`.

    The beams of a sentence are the queries of one row, so that its keys are not copied.
    """
    projection = query_projection(attention)
    sizes = (projection.units,) if is_fused(attention) else (attention.num_heads, attention.key_dim)

    def shape() -> Operand:
        if not beams:
            return integers(-1, 1, *sizes)
        beam_size = graph.cast(beams[0], "int64")
        return graph.op("Concat", integers(-1), beam_size, integers(*sizes), axis=0)

    def between(projected: str) -> str:
        queries = graph.op("Reshape", projected, graph.shared("queries", shape))
        if is_fused(attention):
            cross = named("cross", number)
            return _attend_fused(graph, attention, queries, *cross, "source_mask")
        return _attend_source(graph, attention, queries, number)[0]

    return Parts(projection, between, Linear.of(attention.output_linear))


def visible_attention(
    graph: GraphBuilder, attention: MultiHeadAttention, number: int, weights: list[str]
) -> Parts:
    """Attends from whole sequences to their sources; adds the mean of all heads to `weights`."""
    sizes = attention.num_heads, attention.key_dim

    def between(projected: str) -> str:
        queries = graph.op("Reshape", projected, graph.extended_shape("target_ids", *sizes))
        heads, found = _attend_source(graph, attention, queries, number)
        weights.append(graph.op("ReduceMean", found, integers(1), keepdims=0))
        return heads

    return Parts(query_projection(attention), between, Linear.of(attention.output_linear))


def _attend_fused(
    graph: GraphBuilder,
    attention: MultiHeadAttention,
    query: str,
    key: str,
    value: str,
    mask: str | None,
) -> str:
    """Attends from queries `(batch, queries, heads * width)`, already scaled.

    Keys and values have the shape of queries, or `(batch, heads, keys, width)`. With a mask int32
    `(batch, keys)`, queries attend to the keys that it keeps; without one, each query attends to
    the keys up to its own place.
    """
    heads = graph.op(
        "MultiHeadAttention",
        *(query, key, value, None, *([mask] if mask else [])),
        domain=MICROSOFT,
        num_heads=attention.num_heads,
        scale=1.0,
        mask_filter_value=MASKED,
        unidirectional=int(mask is None),
    )
    return graph.reshape(heads, -1, attention.num_heads * attention.value_dim)


def _attend(
    graph: GraphBuilder, attention: MultiHeadAttention, query: str, key: str, value: str, more: str
) -> tuple[str, str]:
    """Attends in standard operators.

    Args:
        graph: The graph.
        attention: The layer.
        query: `(batch, heads, queries, key_dim)`, already scaled.
        key: `(batch, heads, keys, key_dim)`.
        value: `(batch, heads, keys, value_dim)`.
        more: Values to add to the scores `(batch, heads, queries, keys)`.

    Returns:
        `(batch * queries, heads * value_dim)`, and the weights.
    """
    scores = graph.op("MatMul", query, graph.op("Transpose", key, perm=[0, 1, 3, 2]))
    weights = graph.op("Softmax", graph.op("Add", scores, more), axis=-1)
    heads = graph.op("Transpose", graph.op("MatMul", weights, value), perm=_HEADS_FIRST)
    return graph.reshape(heads, -1, attention.num_heads * attention.value_dim), weights


def _attend_source(
    graph: GraphBuilder, attention: MultiHeadAttention, queries: str, number: int
) -> tuple[str, str]:
    """Attends from queries `(batch, queries, heads, key_dim)` to the source; see `_attend`."""
    query = graph.op("Transpose", queries, perm=_HEADS_FIRST)
    hidden = _hidden_keys(graph, "source_mask")
    return _attend(graph, attention, query, *named("cross", number), hidden)


def _attend_cache(
    graph: GraphBuilder,
    attention: MultiHeadAttention,
    projected: str,
    number: int,
    beams: tuple[str, ...],
) -> str:
    """Attends to a cache in standard operators; see `cached_attention`."""
    query, *new = _split(graph, attention, projected, None)
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
    return _attend(graph, attention, query, keys, values, later)[0]


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


def _lengths(graph: GraphBuilder, ids: str) -> tuple[str, str]:
    """Returns the step for each row, int32 `(rows,)`, and one more than it, int32 `(1,)`."""

    def make() -> tuple[str, str]:
        rows = graph.op("Expand", "step", graph.op("Shape", ids))
        return rows, graph.op("Add", "step", np.int32(1))

    return graph.shared("lengths", make)


def _hidden_keys(graph: GraphBuilder, mask: str) -> str:
    """Returns the mask to add to the scores of padding: float32 `(batch, 1, 1, length)`."""

    def make() -> str:
        hidden = graph.cast(graph.op("Sub", np.int32(1), mask), "float32")
        hidden = graph.op("Mul", hidden, np.float32(MASKED))
        return graph.op("Unsqueeze", hidden, integers(1, 2))

    return graph.shared("hidden keys", make)


def _later(graph: GraphBuilder, ids: str) -> str:
    """Returns the mask to add to the scores of later places: float32 `(length, length)`."""

    def make() -> str:
        places = places_of_rows(graph, ids)
        column = graph.op("Unsqueeze", places, integers(1))
        later = graph.cast(graph.op("Greater", places, column), "float32")
        return graph.op("Mul", later, np.float32(MASKED))

    return graph.shared("later", make)


def _split(
    graph: GraphBuilder, attention: MultiHeadAttention, projected: str, ids: str | None
) -> tuple[str, str, str]:
    """Divides `own_projection`'s outputs into queries, keys and values with heads first.

    With ids `(batch, length)` they are `(batch, heads, length, width)`; without, each row is one
    place.
    """
    heads, widths = attention.num_heads, (attention.key_dim, attention.key_dim, attention.value_dim)
    sizes = integers(*(heads * width for width in widths))
    found = []
    parts = graph.ops("Split", projected, sizes, count=3, axis=1)
    for part, width in zip(parts, widths, strict=True):
        if ids is None:
            found.append(graph.reshape(part, -1, heads, 1, width))
        else:
            part = graph.op("Reshape", part, graph.extended_shape(ids, heads, width))
            found.append(graph.op("Transpose", part, perm=_HEADS_FIRST))
    return found[0], found[1], found[2]
