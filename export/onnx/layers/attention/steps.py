"""Attention from one new token of each row to a cache, and from any number of them to a source."""

from collections.abc import Callable

import numpy as np

from keras_transformer.export.onnx.graphs.builder import GraphBuilder, Operand, integers
from keras_transformer.export.onnx.graphs.operators import MICROSOFT
from keras_transformer.export.onnx.layers.attention.fused import attend_fused
from keras_transformer.export.onnx.layers.attention.kinds import (
    fits_fused,
    fits_group_query,
    grouped_bias,
    grouped_flags,
    is_grouped,
    named,
)
from keras_transformer.export.onnx.layers.attention.relative import step_bias
from keras_transformer.export.onnx.layers.attention.split import split_places
from keras_transformer.export.onnx.layers.attention.standard import attend_cache, attend_source
from keras_transformer.export.onnx.layers.linear import Linear, own_projection, query_projection
from keras_transformer.export.onnx.layers.stack import Parts
from keras_transformer.layers.attention import MultiHeadAttention
from keras_transformer.layers.distances.relative_bias import RelativeBias


def cached_attention(
    graph: GraphBuilder,
    attention: MultiHeadAttention,
    number: int,
    ids: str,
    beams: tuple[str, ...],
    relative: RelativeBias | None = None,
) -> Parts:
    """Attends from one new token of each row to those before it and to itself.

    Args:
        graph: The graph.
        attention: The layer.
        number: Number of its block, whose cache is written in place.
        ids: The input of new tokens `(rows,)`.
        beams: The inputs beam_size and cache_beams, which name the row that holds each earlier
            token; empty if a sentence has one row, which is faster.
        relative: The block's relative bias; None without.
    """
    packed, cache = own_projection(attention), named("cache", number)

    def between(projected: str) -> str:
        groups = not beams and fits_group_query(attention)
        if not groups and (is_grouped(attention) or not fits_fused(attention)):
            return attend_cache(graph, attention, projected, number, beams, relative)
        bias = step_bias(graph, attention, relative, whole_cache=False)
        states = graph.reshape(projected, -1, 1, packed.units)
        if groups:
            # A third faster for few rows, and takes queries, keys and values in one tensor.
            parts: tuple[Operand, ...] = (states, None, None)
            if attention.config.rotary is not None:
                parts = split_places(graph, attention, states, None)
            operands = (*parts, *cache, *_lengths(graph, ids), *grouped_bias(bias))
            flags = grouped_flags(attention)
            heads, *written = graph.ops("GroupQueryAttention", *operands, count=3, **flags)
        else:
            parts = split_places(graph, attention, states, None)
            operands = (*parts, None, bias, *cache, "step", *beams)
            flags = {"num_heads": attention.config.num_heads, "scale": 1.0, "domain": MICROSOFT}
            flags["past_present_share_buffer"] = 1
            name = "DecoderMaskedMultiHeadAttention"
            heads, *written = graph.ops(name, *operands, count=3, **flags)
        graph.outputs(named("new_cache", number), written)
        return graph.reshape(heads, -1, attention.config.num_heads * attention.config.value_dim)

    return Parts(packed, between, Linear.of(attention.output_linear))


def cross_attention(
    graph: GraphBuilder, attention: MultiHeadAttention, number: int, beams: tuple[str, ...]
) -> Parts:
    """Attends from one new token of each row to its source; arguments as for `cached_attention`.

    The beams of a sentence are the queries of one row, so that its keys are not copied.
    """

    def shape(*sizes: int) -> Operand:
        if not beams:
            return integers(-1, 1, *sizes)
        beam_size = graph.cast(beams[0], "int64")
        return graph.op("Concat", integers(-1), beam_size, integers(*sizes), axis=0)

    return source_attention(graph, attention, number, shape)


def source_attention(
    graph: GraphBuilder,
    attention: MultiHeadAttention,
    number: int,
    shape: Callable[..., Operand],
) -> Parts:
    """Attends to the source.

    Args:
        graph: The graph.
        attention: The layer.
        number: Number of its block.
        shape: Takes the sizes of a query and returns the shape of queries `(batch, queries, …)`.
    """
    projection = query_projection(attention)
    fused = fits_fused(attention) and not is_grouped(attention)
    sizes = (projection.units,) if fused else (attention.config.num_heads, attention.config.key_dim)

    def between(projected: str) -> str:
        shared = graph.shared("queries", lambda: shape(*sizes))
        queries = graph.op("Reshape", projected, shared)
        if fused:
            cross = named("cross", number)
            return attend_fused(graph, attention, queries, *cross, "source_mask")
        return attend_source(graph, attention, queries, number)[0]

    return Parts(projection, between, Linear.of(attention.output_linear))


def _lengths(graph: GraphBuilder, ids: str) -> tuple[str, str]:
    """Returns the step for each row, int32 `(rows,)`, and one more than it, int32 `(1,)`."""

    def make() -> tuple[str, str]:
        rows = graph.op("Expand", "step", graph.op("Shape", ids))
        return rows, graph.op("Add", "step", np.int32(1))

    return graph.shared("lengths", make)
