"""Biases of attention scores by distance, computed once in each run of a graph: relative biases
(Raffel et al. 2020) and the masks of windows.
"""

from collections.abc import Callable, Hashable

import numpy as np

from keras_transformer.config.positions.relative_bias import RelativeBiasConfig
from keras_transformer.config.stack import AttentionConfig
from keras_transformer.export.onnx.graphs.builder import GraphBuilder, integers
from keras_transformer.export.onnx.layers.attention.kinds import MASKED
from keras_transformer.export.onnx.layers.embedding import places_of_rows, places_up_to
from keras_transformer.export.onnx.layers.linear import weight_array
from keras_transformer.layers.attention import MultiHeadAttention
from keras_transformer.layers.distances.relative_bias import RelativeBias

HOLDS: dict[type, set[str]] = {
    AttentionConfig: {"relative_bias", "window"},
    RelativeBiasConfig: {"buckets", "max_distance", "per_block"},
}


def sequence_bias(
    graph: GraphBuilder, attention: MultiHeadAttention, relative: RelativeBias | None, ids: str
) -> str | None:
    """Returns the biases of whole sequences: float32 `(1, heads, length, keys)`; None without.

    Args:
        graph: The graph.
        attention: The layer.
        relative: Its block's relative bias; None without.
        ids: A value `(batch, length)`.
    """

    def places() -> tuple[str, str]:
        queries = graph.op("Unsqueeze", places_of_rows(graph, ids), integers(1))
        return queries, places_up_to(graph, ids)

    return _bias(graph, attention, relative, ids, places)


def step_bias(
    graph: GraphBuilder,
    attention: MultiHeadAttention,
    relative: RelativeBias | None,
    *,
    whole_cache: bool,
) -> str | None:
    """Returns the biases of the place `step`: float32 `(1, heads, 1, keys)`.

    Args:
        graph: The graph, which has the input `step` `(1,)`.
        attention: As for `sequence_bias`.
        relative: The same.
        whole_cache: Whether keys are all places of the caches, or those up to `step`.
    """

    def places() -> tuple[str, str]:
        step = graph.cast("step", "int64")
        if whole_cache:
            end = graph.op("Shape", "cache_key_0", start=2, end=3)
        else:
            end = graph.op("Add", step, np.int64(1))
        keys = graph.op("Range", np.int64(0), graph.op("Squeeze", end), np.int64(1))
        return graph.op("Unsqueeze", step, integers(1)), keys

    return _bias(graph, attention, relative, ("step", whole_cache), places)


def with_bias(graph: GraphBuilder, mask: str, bias: str | None) -> str:
    """Returns the sum of a mask and a bias, or the mask if there is no bias."""
    if bias is None:
        return mask
    return graph.shared(("with bias", mask, bias), lambda: graph.op("Add", mask, bias))


def _bias(
    graph: GraphBuilder,
    attention: MultiHeadAttention,
    relative: RelativeBias | None,
    where: Hashable,
    places: Callable[[], tuple[str, str]],
) -> str | None:
    """Returns the biases of queries and keys, given their places int64 `(queries, 1)` and
    `(keys,)`. `where` identifies these places.
    """
    window = attention.config.window
    if relative is None and window is None:
        return None
    name = None if relative is None else relative.name

    def make() -> str:
        queries, keys = graph.shared(("places of a bias", where), places)
        found = None if relative is None else _between(graph, relative, queries, keys)
        if window is None:
            return str(found)
        distance = graph.op("Abs", graph.op("Sub", keys, queries))
        far = graph.cast(graph.op("GreaterOrEqual", distance, np.int64(window)), "float32")
        hidden = graph.op("Mul", far, np.float32(MASKED))
        if found is None:
            return graph.op("Unsqueeze", hidden, integers(0, 1))
        return graph.op("Add", found, hidden)

    return graph.shared(("bias of distances", name, window, where), make)


def _between(graph: GraphBuilder, relative: RelativeBias, queries: str, keys: str) -> str:
    """Returns the biases of places int64 `(queries, 1)` and `(keys,)`."""
    most = relative.max_distance
    table = biases_of_distances(relative)[None]
    ahead = graph.op("Clip", graph.op("Sub", keys, queries), np.int64(-most), np.int64(most))
    return graph.op("Gather", table, graph.op("Add", ahead, np.int64(most)), axis=2)


def biases_of_distances(relative: RelativeBias) -> np.ndarray:
    """Returns a column for every distance, from keys far before a query to keys far behind it:
    float32 `(heads, 2 * max_distance + 1)`.
    """
    most = relative.max_distance
    columns = np.arange(2 * most + 1, dtype=np.int32)
    return weight_array(relative.between(np.array([most], np.int32), columns))[0, :, 0]
