"""The final linear layer as one product of states and a matrix, biases included.

A bias is a sum of nearly equal parts, each in a column of its own beside those of the weights, and
the states have ones there: so every way to multiply and to rank, in bytes too, serves for both.
"""

from collections.abc import Callable

import numpy as np

from keras_transformer.config.decoder_only import DecoderConfig
from keras_transformer.config.transformer import TransformerConfig
from keras_transformer.export.onnx.graphs.builder import GraphBuilder
from keras_transformer.export.onnx.graphs.readers import DecoderParts
from keras_transformer.export.onnx.layers.linear import weight_array
from keras_transformer.export.onnx.quantize.int8_matrices import LARGEST, largest_sums

# A bias is about this many times as large as a weight: its parts share the weights' step in bytes.
_PARTS = 32
# A bias below this, such as -inf, forbids a token: no search takes one of this bias either, and its
# parts and their steps in bytes are finite.
LOWEST_BIAS = -1e9

HOLDS: dict[type, set[str]] = {
    TransformerConfig: {
        *("target_vocab_size", "share_embeddings"),
        *("logit_bias", "final_logit_soft_cap"),
    },
    # The last two change the ids that the runtime gives a graph, and not the graph.
    DecoderConfig: {
        "tied_head",
        "logit_bias",
        "final_logit_soft_cap",
        "direction",
        "starts_prompts",
    },
}


def product_width(model_dim: int, *, has_bias: bool) -> int:
    """Returns the width of the matrix of `vocabulary_product`."""
    return model_dim + _PARTS if has_bias else model_dim


def vocabulary_product(
    graph: GraphBuilder,
    parts: DecoderParts,
    states: str,
    append_ones: Callable[[GraphBuilder, str, int], str],
) -> tuple[str, np.ndarray]:
    """Returns states `(rows, width)` and a matrix `(vocabulary, width)`.

    Args:
        graph: The graph.
        parts: The decoder's.
        states: float32 `(rows, model_dim)`.
        append_ones: Adds so many ones behind each row of states.
    """
    matrix = vocabulary_matrix(parts)
    if parts.head.bias is None:
        return states, matrix
    return append_ones(graph, states, _PARTS), matrix


def vocabulary_matrix(parts: DecoderParts) -> np.ndarray:
    """Returns the matrix of `vocabulary_product`."""
    matrix = weight_array(parts.head.matrix)
    if parts.head.bias is None:
        return np.ascontiguousarray(matrix)
    return _widened(matrix[:, :-1], np.maximum(matrix[:, -1:], np.float32(LOWEST_BIAS)))


def _widened(weights: np.ndarray, bias: np.ndarray) -> np.ndarray:
    """Returns weights `(vocabulary, model_dim)` and a bias of each `(vocabulary, 1)` as one matrix.

    In bytes, equal parts would all be rounded alike, and the errors add up to many steps. Parts
    that are spread evenly over one step are rounded up as often as down.
    """
    widened = np.concatenate([weights, np.tile(bias / _PARTS, (1, _PARTS))], axis=1)
    step = largest_sums(widened)[:, None] / LARGEST
    spread = (np.arange(_PARTS, dtype=np.float32) - (_PARTS - 1) / 2) / _PARTS
    widened[:, -_PARTS:] += step * spread
    return widened
