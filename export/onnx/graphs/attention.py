"""Attention in onnxruntime's fused operators, one function for each kind: a Keras attention layer
comes in, the parts of a sub-layer leave.
"""

from typing import Any, NamedTuple

import numpy as np

from keras_transformer.export.onnx.graphs.builder import GraphBuilder, Operand, integers
from keras_transformer.export.onnx.graphs.linear import Linear, own_projection, query_projection
from keras_transformer.export.onnx.graphs.operators import MICROSOFT
from keras_transformer.export.onnx.graphs.sub_layers import Parts
from keras_transformer.layers.attention import MultiHeadAttention

# What a masked score is set to: far below any score, far above float32's limit.
MASKED = -1e9
# What GroupQueryAttention asks of a head's width.
_GROUPED_WIDTH = 8

KeysValues = tuple[str, str]


def named(prefix: str, number: int) -> KeysValues:
    """Returns the names of a block's keys and values among a graph's inputs and outputs."""
    return f"{prefix}_key_{number}", f"{prefix}_value_{number}"


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
        shape = graph.extended_shape(ids, packed.kernel.shape[1])
        states = graph.op("Reshape", projected, shape)
        query, key, value = graph.ops("Split", states, count=3, axis=2, num_outputs=3)
        return _fused(graph, attention, query, key, value, mask)

    return Parts(packed, between, Linear.of(attention.output_linear))


def _fused(
    graph: GraphBuilder,
    attention: MultiHeadAttention,
    query: str,
    key: str,
    value: str,
    mask: str | None,
) -> str:
    """Attends from queries `(batch, queries, heads * width)`, already scaled.

    Keys and values are shaped as they, or `(batch, heads, keys, width)`. With a mask int32
    `(batch, keys)` to what it keeps, without one each query to the keys up to its own place.
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
    return merged_heads(graph, attention, heads)


def merged_heads(graph: GraphBuilder, attention: MultiHeadAttention, heads: str) -> str:
    """Makes rows of what attention leaves: `(rows, heads * value_dim)`."""
    return graph.reshape(heads, -1, attention.num_heads * attention.value_dim)


class NewestTokens(NamedTuple):
    """Where the one new token of each row stands.

    Attributes:
        step: int32 `(1,)`, tokens already in the cache.
        steps: int32 `(rows,)`, the same for each row, and int32 `(1,)`, one more than `step`; None
            where a sentence has several rows.
        beams: int32 `(1,)`, rows of a sentence, and int32 `(batch, beams, cache_length)`, whose row
            holds each earlier token; empty where a sentence has one row, which is faster.
    """

    step: str
    beams: tuple[str, ...]


def cached_attention(
    graph: GraphBuilder, attention: MultiHeadAttention, number: int, newest: NewestTokens
) -> Parts:
    """Attends from one new token of each row to those before it and to itself.

    The cache is written in place.
    """
    packed = own_projection(attention)
    cache = named("cache", number)

    def between(projected: str) -> str:
        states = graph.reshape(projected, -1, 1, packed.kernel.shape[1])
        if not newest.beams and attention.key_dim % _GROUPED_WIDTH == 0:
            # A third faster over few rows, and it takes all three in one.
            name, kind = "GroupQueryAttention", {"kv_num_heads": attention.num_heads}
            inputs: list[Operand] = [states, None, None, *cache, *_lengths(graph, newest)]
        else:
            name, kind = "DecoderMaskedMultiHeadAttention", {"past_present_share_buffer": 1}
            parts = graph.ops("Split", states, count=3, axis=2, num_outputs=3)
            inputs = [*parts, None, None, *cache, newest.step, *newest.beams]
        shared: dict[str, Any] = {"num_heads": attention.num_heads, "scale": 1.0, **kind}
        heads, *written = graph.ops(name, *inputs, count=3, domain=MICROSOFT, **shared)
        for output, value in zip(named("new_cache", number), written, strict=True):
            graph.output(output, value)
        return merged_heads(graph, attention, heads)

    return Parts(packed, between, Linear.of(attention.output_linear))


def _lengths(graph: GraphBuilder, newest: NewestTokens) -> tuple[str, str]:
    """Returns the step for each row, int32 `(rows,)`, and one more than it, int32 `(1,)`."""

    def make() -> tuple[str, str]:
        rows = graph.op("Shape", "target_ids")
        return graph.op("Expand", newest.step, rows), graph.op("Add", newest.step, np.int32(1))

    return graph.shared("lengths", make)


def cross_attention(
    graph: GraphBuilder, attention: MultiHeadAttention, number: int, beam_size: str | None
) -> Parts:
    """Attends from one new token of each row to its source.

    The beams of a sentence are queries of one row, so that its keys are not copied.
    """
    projection = query_projection(attention)
    width = projection.kernel.shape[1]

    def shape() -> Operand:
        if beam_size is None:
            return integers(-1, 1, width)
        beams = graph.cast(beam_size, "int64")
        return graph.op("Concat", integers(-1), beams, integers(width), axis=0)

    def between(projected: str) -> str:
        queries = graph.op("Reshape", projected, graph.shared("queries", shape))
        return _fused(graph, attention, queries, *named("cross", number), "source_mask")

    return Parts(projection, between, Linear.of(attention.output_linear))


def visible_attention(
    graph: GraphBuilder, attention: MultiHeadAttention, number: int, weights: list[str]
) -> Parts:
    """Attends from whole sequences to their sources; adds the mean of all heads to `weights`."""
    projection = query_projection(attention)
    key, value = named("cross", number)

    def between(projected: str) -> str:
        sizes = attention.num_heads, attention.key_dim
        queries = graph.op("Reshape", projected, graph.extended_shape("target_ids", *sizes))
        queries = graph.op("Transpose", queries, perm=[0, 2, 1, 3])
        keys = graph.op("Transpose", key, perm=[0, 1, 3, 2])
        scores = graph.op("Add", graph.op("MatMul", queries, keys), hidden_keys(graph))
        found = graph.op("Softmax", scores, axis=-1)
        weights.append(graph.op("ReduceMean", found, integers(1), keepdims=0))
        heads = graph.op("MatMul", found, value)
        return merged_heads(graph, attention, graph.op("Transpose", heads, perm=[0, 2, 1, 3]))

    return Parts(projection, between, Linear.of(attention.output_linear))


def hidden_keys(graph: GraphBuilder) -> str:
    """Returns what is added to scores of the source: float32 `(batch, 1, 1, source_length)`."""

    def make() -> str:
        hidden = graph.cast(graph.op("Sub", np.int32(1), "source_mask"), "float32")
        hidden = graph.op("Mul", hidden, np.float32(MASKED))
        return graph.op("Unsqueeze", hidden, integers(1, 2))

    return graph.shared("hidden keys", make)
