"""Relative biases (Raffel et al. 2020), of one block or shared by a stack's blocks: what is added
to the scores, computed once in each run of a graph.
"""

import numpy as np

from keras_transformer.config.stack import AttentionConfig, RelativeBiasConfig
from keras_transformer.export.onnx.graphs.builder import GraphBuilder, integers
from keras_transformer.export.onnx.layers.embedding import places_of_rows
from keras_transformer.export.onnx.layers.linear import weight_array
from keras_transformer.layers.variants.relative_bias import RelativeBias

HOLDS: dict[type, set[str]] = {
    AttentionConfig: {"relative_bias"},
    RelativeBiasConfig: {"buckets", "max_distance", "per_block"},
}


def sequence_bias(graph: GraphBuilder, relative: RelativeBias | None, ids: str) -> str | None:
    """Returns the biases of whole sequences: float32 `(1, heads, length, length)`.

    Args:
        graph: The graph.
        relative: The layer; without one there is no bias.
        ids: A value `(batch, length)`.
    """
    if relative is None:
        return None

    def make() -> str:
        places = places_of_rows(graph, ids)
        return _between(graph, relative, graph.op("Unsqueeze", places, integers(1)), places)

    return graph.shared(("relative bias", relative.name, ids), make)


def step_bias(
    graph: GraphBuilder, relative: RelativeBias | None, *, whole_cache: bool
) -> str | None:
    """Returns the biases of the place `step`: float32 `(1, heads, 1, keys)`.

    Args:
        graph: The graph, which has the input `step` `(1,)`.
        relative: The layer, shared by a stack's blocks or of one block; None without biases.
        whole_cache: Whether keys are all places of the caches, or those up to `step`.
    """
    if relative is None:
        return None

    def make() -> str:
        step = graph.cast("step", "int64")
        if whole_cache:
            end = graph.op("Shape", "cache_key_0", start=2, end=3)
        else:
            end = graph.op("Add", step, np.int64(1))
        places = graph.op("Range", np.int64(0), graph.op("Squeeze", end), np.int64(1))
        return _between(graph, relative, graph.op("Unsqueeze", step, integers(1)), places)

    return graph.shared(("relative bias of a step", relative.name, whole_cache), make)


def with_bias(graph: GraphBuilder, mask: str, bias: str | None) -> str:
    """Returns a mask that is added to scores with a bias that is added, too, if there is one."""
    if bias is None:
        return mask
    return graph.shared(("with bias", mask, bias), lambda: graph.op("Add", mask, bias))


def _between(graph: GraphBuilder, relative: RelativeBias, queries: str, keys: str) -> str:
    """Returns the biases of places int64 `(queries, 1)` and `(keys,)`."""
    most = relative.max_distance
    # Every distance has a column, from keys far before a query to keys far behind it.
    columns = np.arange(2 * most + 1, dtype=np.int32)
    table = weight_array(relative.between(np.array([most], np.int32), columns))[:, :, 0]
    ahead = graph.op("Clip", graph.op("Sub", keys, queries), np.int64(-most), np.int64(most))
    return graph.op("Gather", table, graph.op("Add", ahead, np.int64(most)), axis=2)
