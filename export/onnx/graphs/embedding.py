"""Embeds tokens and positions in standard operators: takes ids and returns states."""

from typing import Any

import numpy as np

from keras_transformer.export.onnx.graphs.builder import GraphBuilder, integers
from keras_transformer.export.onnx.graphs.linear import weight_array
from keras_transformer.export.onnx.quantize.kernels import Kernels
from keras_transformer.layers.embeddings import Embeddings
from keras_transformer.layers.positions import SinusoidalPositions


def embed_tokens(graph: GraphBuilder, kernels: Kernels, embeddings: Embeddings, ids: str) -> str:
    """Looks up ids and scales their embeddings: float32, with one axis more than the ids."""
    found = kernels.embedding(graph, weight_array(embeddings.tokens.matrix), ids)
    return graph.op("Mul", found, token_scale(embeddings))


def token_scale(embeddings: Embeddings) -> np.float32:
    """Returns the factor that embedded tokens are multiplied by."""
    return np.float32(float(embeddings.model_dim) ** 0.5)


def position_vectors(
    graph: GraphBuilder, kernels: Kernels, embeddings: Embeddings, positions: str
) -> str:
    """Returns the vectors of integer positions `(length,)`: float32 `(length, model_dim)`."""
    layer: Any = embeddings.positions
    if not isinstance(layer, SinusoidalPositions):
        return kernels.embedding(graph, weight_array(layer.matrix), positions)
    column = graph.op("Unsqueeze", graph.cast(positions, "float32"), integers(1))
    angles = graph.op("Mul", column, layer.rates())
    even = np.arange(layer.model_dim) % 2 == 0
    return graph.op("Where", even, graph.op("Sin", angles), graph.op("Cos", angles))


def places_of_rows(graph: GraphBuilder, ids: str) -> str:
    """Returns 0, 1, … for the places of `(batch, length)`: int64 `(length,)`."""
    length = graph.op("Squeeze", graph.op("Shape", ids, start=1))
    return graph.op("Range", np.int64(0), length, np.int64(1))


def token_positions(graph: GraphBuilder, mask: str) -> str:
    """Numbers the real tokens of each row from 0; see `positions.token_positions`."""
    counted = graph.op("CumSum", mask, np.int64(1))
    return graph.op("Max", graph.op("Sub", counted, np.int32(1)), np.int32(0))
