"""LayerNorm and RMSNorm in a graph, of states and of the queries and keys of attention."""

from typing import Any

import numpy as np

from keras_transformer.config.stack import AttentionConfig, NormConfig
from keras_transformer.export.onnx.graphs.builder import GraphBuilder, integers
from keras_transformer.export.onnx.layers.attention.kinds import head_widths
from keras_transformer.export.onnx.layers.linear import magnitudes, score_scale, weight_array
from keras_transformer.layers.attention import MultiHeadAttention
from keras_transformer.layers.variants.rms_norm import RMSNorm

HOLDS: dict[type, set[str]] = {
    NormConfig: {"kind", "place", "epsilon"},
    AttentionConfig: {"query_key_norm", "query_key_norm_over"},
}


def with_normalized_heads(graph: GraphBuilder, attention: MultiHeadAttention, packed: str) -> str:
    """Normalises queries and keys of `own_projection`'s outputs, and scales them.

    Args:
        graph: The graph.
        attention: The layer, which has these norms.
        packed: Queries, keys and values `(rows, width)`, not yet scaled.
    """
    widths, found = head_widths(attention), []
    *parts, value = graph.ops("Split", packed, integers(*widths), count=3, axis=1)
    norms = norms_of_heads(attention)
    for part, (norm, scale), whole in zip(parts, norms, widths[:2], strict=True):
        if len(scale) == whole:
            found.append(normalized(graph, part, norm, scale=scale))
            continue
        heads = normalized(graph, graph.reshape(part, -1, len(scale)), norm, scale=scale)
        found.append(graph.reshape(heads, -1, whole))
    return graph.op("Concat", *found, value, axis=1)


def norms_of_heads(attention: MultiHeadAttention) -> list[tuple[Any, np.ndarray]]:
    """Returns the norms of queries and of keys, each with what its features are multiplied by
    afterwards, float32 `(width,)` of one head, or of all heads if it normalises these together.
    """
    large, count = magnitudes(attention), (1, 1)
    if attention.config.query_key_norm_over == "all_heads":
        count = attention.config.num_heads, attention.config.num_key_value_heads
    return [
        (attention.query_norm, np.tile(large * np.float32(score_scale(attention)), count[0])),
        (attention.key_norm, np.tile(large, count[1])),
    ]


def normalized(
    graph: GraphBuilder,
    states: str,
    norm: Any,
    more: np.ndarray | None = None,
    scale: float | np.ndarray = 1.0,
) -> str:
    """Applies LayerNorm or RMSNorm over the last axis, times `scale`, and adds `more`."""
    gamma, epsilon = weight_array(norm.gamma) * np.float32(scale), float(norm.epsilon)
    if isinstance(norm, RMSNorm):
        found = _rms_norm(graph, states, gamma, epsilon)
        return found if more is None else graph.op("Add", found, more)
    beta = weight_array(norm.beta) * np.float32(scale)
    beta = beta if more is None else beta + more
    return graph.op("LayerNormalization", states, gamma, beta, axis=-1, epsilon=epsilon)


def _rms_norm(graph: GraphBuilder, states: str, gamma: np.ndarray, epsilon: float) -> str:
    """Adds x / √(mean(x²) + ε) · γ, in the form that onnxruntime fuses into one operator."""
    square = graph.op("Pow", states, np.float32(2))
    mean = graph.op("ReduceMean", square, integers(-1), keepdims=1)
    root = graph.op("Sqrt", graph.op("Add", mean, np.float32(epsilon)))
    return graph.op("Mul", graph.op("Div", states, root), gamma)
