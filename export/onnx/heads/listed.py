"""The final linear layer with a shortlist: logits of only those ids that the translation of each
sentence may contain. Every sentence has a row of places among the batch's ids, so that its logits
do not depend on which others share the batch. The weights are gathered once a batch, by a graph of
their own.
"""

import numpy as np

from keras_transformer.export.onnx.graphs.builder import GraphBuilder, integers
from keras_transformer.export.onnx.layers.activations import soft_capped
from keras_transformer.export.onnx.quantize.kernels import Kernels

IDS, PLACES, WEIGHTS = "shortlist_ids", "shortlist_places", "shortlist_weights"


def output_weights(graph: GraphBuilder, kernels: Kernels, matrix: np.ndarray) -> None:
    """Makes the weights of the batch's ids, in float32, the output of the graph "shortlist".

    There are few of them, so a float32 product is as fast as one in bytes, which would need rounded
    states.

    Args:
        graph: The graph.
        kernels: How the matrix is stored.
        matrix: float32 `(vocabulary, width)`; logits are the products with its rows.
    """
    graph.output(WEIGHTS, kernels.embedding(graph, matrix, IDS))


def logits_of_all(graph: GraphBuilder, states: str) -> str:
    """Returns the logits of all of the batch's ids: float32 `(rows, listed)`."""
    return graph.op("Gemm", states, WEIGHTS, transB=1)


def logits_of_each(graph: GraphBuilder, logits: str) -> str:
    """Returns the logits of each row's own ids: float32 `(rows, most)`, filled up with -inf.

    Args:
        graph: The graph.
        logits: Those of all ids, `(rows, listed)`; each sentence has equally many rows.
    """
    batch, most = graph.op("Shape", PLACES, end=1), graph.op("Shape", PLACES, start=1)
    listed = graph.op("Shape", logits, start=1)
    # [batch, rows of a sentence, listed]
    grouped = graph.op("Reshape", logits, graph.op("Concat", batch, integers(-1), listed, axis=0))
    # One row of places serves all rows of its sentence.
    places = graph.op("Unsqueeze", PLACES, integers(1))
    shape = graph.op("Concat", graph.op("Shape", grouped, end=2), most, axis=0)
    own = graph.op("GatherElements", grouped, graph.op("Expand", places, shape), axis=2)
    own = graph.op("Where", graph.op("Less", places, np.int32(0)), np.float32(-np.inf), own)
    return graph.op("Reshape", own, graph.op("Concat", integers(-1), most, axis=0))


def capped(graph: GraphBuilder, logits: str, cap: float | None) -> str:
    """Returns soft-capped logits of each row's own ids, still filled up with -inf."""
    if cap is None:
        return logits
    found = soft_capped(graph, logits, cap)
    return graph.op("Where", graph.op("IsInf", logits), logits, found)


def ids_at(graph: GraphBuilder, chosen: str) -> str:
    """Returns the ids of columns of `logits_of_each` that were chosen for each sentence.

    Args:
        graph: The graph.
        chosen: Integers `(batch, count)`.

    Returns:
        int32 `(batch, count)`.
    """
    places = graph.op("GatherElements", PLACES, chosen, axis=1)
    return graph.op("Gather", IDS, places, axis=0)


def next_ids_at(graph: GraphBuilder, chosen: str) -> str:
    """As `ids_at`, of one column of each sentence: integers `(batch,)` → int32 `(batch,)`."""
    ids = ids_at(graph, graph.op("Unsqueeze", chosen, integers(1)))
    return graph.op("Squeeze", ids, integers(1))
