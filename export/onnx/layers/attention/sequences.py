"""Attention from whole sequences: within themselves, to a source, and to fill a cache."""

import numpy as np

from keras_transformer.export.onnx.graphs.builder import GraphBuilder, integers
from keras_transformer.export.onnx.layers.attention.distances import by_distance
from keras_transformer.export.onnx.layers.attention.fused import attend_fused, with_all_heads
from keras_transformer.export.onnx.layers.attention.kinds import (
    fits_fused,
    fits_group_query,
    grouped_bias,
    grouped_flags,
    is_grouped,
    named,
)
from keras_transformer.export.onnx.layers.attention.relative import sequence_bias, with_bias
from keras_transformer.export.onnx.layers.attention.split import split_heads, split_places
from keras_transformer.export.onnx.layers.attention.standard import (
    attend,
    attend_source,
    hidden_keys,
    later_places,
)
from keras_transformer.export.onnx.layers.embedding import first_place
from keras_transformer.export.onnx.layers.linear import Linear, own_projection, query_projection
from keras_transformer.export.onnx.layers.stack import Parts
from keras_transformer.export.onnx.layers.token_rows import TokenRows
from keras_transformer.layers.attention import MultiHeadAttention
from keras_transformer.layers.distances.relative_bias import RelativeBias


def sequence_attention(
    graph: GraphBuilder,
    attention: MultiHeadAttention,
    ids: str,
    mask: str | None,
    rows: TokenRows | None = None,
    relative: RelativeBias | None = None,
) -> Parts:
    """Attends within whole sequences.

    Args:
        graph: The graph.
        attention: The layer.
        ids: A value `(batch, length)`.
        mask: int32 `(batch, length)`, 1 where a key may be attended to; None for causal attention.
        rows: The tokens that states stand for; all places if None.
        relative: The block's relative bias; None without.
    """
    packed, bias = own_projection(attention), sequence_bias(graph, attention, relative, ids)

    def between(projected: str) -> str:
        if rows is None:
            return attended(projected)
        if fits_fused(attention) and not is_grouped(attention) and attention.config.rotary is None:
            parts = rows.thirds(projected, packed.units // 3)
            return rows.take(attend_fused(graph, attention, *parts, mask, bias))
        return rows.take(attended(rows.spread(projected)))

    def attended(projected: str) -> str:
        if not fits_fused(attention):
            query, *others = split_heads(graph, attention, projected, ids)
            query, further = by_distance(graph, attention, query, others[0], ids)
            hidden = later_places(graph, ids) if mask is None else hidden_keys(graph, mask)
            hidden = with_bias(graph, hidden, bias)
            return attend(graph, attention, query, *others, hidden, further)[0]
        states = graph.op("Reshape", projected, graph.extended_shape(ids, packed.units))
        query, *others = split_places(graph, attention, states, ids)
        key, value = (with_all_heads(graph, attention, part, ids) for part in others)
        return attend_fused(graph, attention, query, key, value, mask, bias)

    return Parts(packed, between, Linear.of(attention.output_linear))


def prefill_attention(
    graph: GraphBuilder,
    attention: MultiHeadAttention,
    number: int,
    ids: str,
    *,
    may_group: bool,
    relative: RelativeBias | None = None,
) -> Parts:
    """Attends within whole sequences, each place to those before it, and fills a cache: from its
    first place on, or from the graph's input `step`, with what the cache holds before.

    Args:
        graph: The graph.
        attention: The layer.
        number: Number of its block, whose cache is written.
        ids: The input of tokens `(rows, length)`.
        may_group: Whether GroupQueryAttention may do all of it at once. Other operators are better
            where only the cache is read, as they then skip the attention; and it ends the process
            if there are no rows.
        relative: The block's relative bias; None without.
    """
    packed, cache = own_projection(attention), named("cache", number)
    bias = sequence_bias(graph, attention, relative, ids)

    def between(projected: str) -> str:
        if may_group and fits_group_query(attention):
            states = graph.op("Reshape", projected, graph.extended_shape(ids, packed.units))
            parts = split_places(graph, attention, states, ids)
            operands = (*parts, *cache, *_lengths(graph, ids), *grouped_bias(bias))
            flags = grouped_flags(attention)
            heads, *written = graph.ops("GroupQueryAttention", *operands, count=3, **flags)
            graph.outputs(named("new_cache", number), written)
            return graph.reshape(heads, -1, attention.config.num_heads * attention.config.value_dim)
        query, *new = split_heads(graph, attention, projected, ids)
        seen = []
        for name, part, buffer in zip(named("new_cache", number), new, cache, strict=True):
            part = _behind(graph, part, buffer)
            graph.output(name, _filled(graph, part, buffer))
            seen.append(part)
        query, further = by_distance(graph, attention, query, seen[0], ids)
        hidden = with_bias(graph, later_places(graph, ids), bias)
        return attend(graph, attention, query, *seen, hidden, further)[0]

    return Parts(packed, between, Linear.of(attention.output_linear))


def _behind(graph: GraphBuilder, part: str, buffer: str) -> str:
    """Returns the values that a cache holds before the first place, then the new ones."""
    first = first_place(graph)
    if not isinstance(first, str):
        return part
    end = graph.shared("first places", lambda: graph.op("Unsqueeze", first, integers(0)))
    before = graph.op("Slice", buffer, integers(0), end, integers(2))
    return graph.op("Concat", before, part, axis=2)


def _filled(graph: GraphBuilder, part: str, buffer: str) -> str:
    """Returns a cache `(rows, heads, cache_length, width)` that begins with other values."""
    length = graph.op("Shape", part, start=2, end=3)
    end = graph.shared("end", lambda: graph.op("Shape", "cache_key_0", start=2, end=3))
    rest = graph.op("Slice", buffer, length, end, integers(2))
    return graph.op("Concat", part, rest, axis=2)


def _lengths(graph: GraphBuilder, ids: str) -> tuple[str, str]:
    """Returns each row's last place, int32 `(rows,)`, and how many it then has, int32 `(1,)`."""

    def make() -> tuple[str, str]:
        length = graph.cast(graph.op("Shape", ids, start=1), "int32")
        if "step" in graph.given:
            length = graph.op("Add", length, "step")
        last = graph.op("Sub", length, np.int32(1))
        return graph.op("Expand", last, graph.op("Shape", ids, end=1)), length

    return graph.shared("lengths", make)


def visible_attention(
    graph: GraphBuilder, attention: MultiHeadAttention, number: int, weights: list[str]
) -> Parts:
    """Attends from whole sequences to their sources; adds the mean of all heads to `weights`."""
    sizes = attention.config.num_heads, attention.config.key_dim

    def between(projected: str) -> str:
        queries = graph.op("Reshape", projected, graph.extended_shape("target_ids", *sizes))
        heads, found = attend_source(graph, attention, queries, number)
        weights.append(graph.op("ReduceMean", found, integers(1), keepdims=0))
        return heads

    return Parts(query_projection(attention), between, Linear.of(attention.output_linear))
