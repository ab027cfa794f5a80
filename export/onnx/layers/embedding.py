"""Embeddings of tokens and positions in standard operators."""

from dataclasses import replace
from typing import Any

import numpy as np

from keras_transformer.config.decoder_only import DecoderConfig
from keras_transformer.config.embedding import EmbeddedConfig
from keras_transformer.config.encoder_only import EncoderConfig
from keras_transformer.config.single_stack import SingleStackConfig
from keras_transformer.config.transformer import TransformerConfig
from keras_transformer.export.onnx.graphs.builder import GraphBuilder, integers
from keras_transformer.export.onnx.layers.linear import Linear, weight_array
from keras_transformer.export.onnx.layers.norms import normalized
from keras_transformer.export.onnx.layers.token_rows import TokenRows
from keras_transformer.export.onnx.quantize.kernels import Kernels
from keras_transformer.layers.embeddings import Embeddings
from keras_transformer.layers.positions import SinusoidalPositions

HOLDS: dict[type, set[str]] = {
    EmbeddedConfig: {
        "positions",
        "max_positions",
        "position_offset",
        "sinusoid_layout",
        "scale_embeddings",
        "embedding_norm",
        "special_ids",
    },
    SingleStackConfig: {"vocab_size", "num_layers"},
    # A table of all tokens' vectors is held in place of what makes them.
    DecoderConfig: {"character_dim", "character_filters", "character_width", "max_token_bytes"},
    EncoderConfig: {"num_token_types", "pair_separators", "max_row_length", "prompts"}
    | {"default_prompt", "embedding_dim"},
    TransformerConfig: {
        *("source_vocab_size", "marks"),
        *("num_encoder_layers", "num_decoder_layers", "encoder_pattern"),
    },
}


def embed_tokens(graph: GraphBuilder, kernels: Kernels, embeddings: Embeddings, ids: str) -> str:
    """Looks up ids and scales their embeddings: float32, with one axis more than the ids."""
    found = look_up(graph, kernels, embeddings, ids)
    return graph.op("Mul", found, token_scale(embeddings)) if embeddings.scale else found


def look_up(graph: GraphBuilder, kernels: Kernels, embeddings: Embeddings, ids: str) -> str:
    """Looks up ids without scaling: float32, with one axis more than the ids."""
    return kernels.embedding(graph, weight_array(embeddings.tokens.matrix), ids)


def token_scale(embeddings: Embeddings) -> np.float32:
    """Returns the factor that embedded tokens are multiplied by."""
    return np.float32(float(embeddings.model_dim) ** 0.5 if embeddings.scale else 1)


def position_vectors(
    graph: GraphBuilder, kernels: Kernels, embeddings: Embeddings, positions: str
) -> str:
    """Returns the vectors of integer positions `(length,)`: float32 `(length, model_dim)`."""
    layer: Any = embeddings.positions
    if not isinstance(layer, SinusoidalPositions):
        return kernels.embedding(graph, weight_array(layer.matrix)[layer.offset :], positions)
    return sinusoids(graph, layer, positions)


def sinusoids(graph: GraphBuilder, layer: SinusoidalPositions, positions: str) -> str:
    """Returns the vectors of integer positions `(length,)`, of either sign: float32
    `(length, model_dim)`.
    """
    column = graph.op("Unsqueeze", graph.cast(positions, "float32"), integers(1))
    if layer.offset:
        column = graph.op("Add", column, np.float32(layer.offset))
    angles = graph.op("Mul", column, layer.rates())
    return graph.op("Where", layer.is_sine(), graph.op("Sin", angles), graph.op("Cos", angles))


def embed_step(
    graph: GraphBuilder,
    kernels: Kernels,
    embeddings: Embeddings,
    ids: str,
    bias: np.ndarray | None,
) -> str:
    """Embeds one token of each row, all at the position `step`: float32 `(rows, model_dim)`.

    Args:
        graph: The graph, which has the input `step` `(1,)`.
        kernels: How embeddings are stored.
        embeddings: The layer.
        ids: A value of integers `(rows,)`.
        bias: `(model_dim,)`, added to the result; None for none.
    """
    states = embed_tokens(graph, kernels, embeddings, ids)
    if embeddings.positions is not None:
        vectors = position_vectors(graph, kernels, embeddings, "step")
        if embeddings.layer_norm is None and bias is not None:
            vectors, bias = graph.op("Add", vectors, bias), None
        states = graph.op("Add", states, vectors)
    return finish_embedding(graph, kernels, embeddings, states, None, bias)


def embed_sequences(
    graph: GraphBuilder,
    kernels: Kernels,
    embeddings: Embeddings,
    ids: str,
    bias: np.ndarray | None,
    mask: str | None = None,
    token_types: str | None = None,
    rows: TokenRows | None = None,
) -> str:
    """Embeds whole sequences: float32 `(batch * length, model_dim)`, or `rows` of them.

    Args:
        graph: The graph.
        kernels: How embeddings are stored.
        embeddings: The layer.
        ids: A value of integers `(batch, length)`.
        bias: `(model_dim,)`, added to the result; None for none.
        mask: int32 `(batch, length)`, 1 for the tokens that positions count; all if None.
        token_types: Integers `(batch, length)`; all types are 0 if None.
        rows: The tokens to embed; all places if None.
    """

    def chosen(values: str) -> str:
        return values if rows is None else rows.take(graph.reshape(values, -1))

    states = embed_tokens(graph, kernels, embeddings, chosen(ids))
    if embeddings.positions is not None:
        places = graph.cast(places_of_rows(graph, ids), "int32")
        vectors = position_vectors(graph, kernels, embeddings, places)
        if mask is not None:
            positions = chosen(token_positions(graph, mask))
            vectors = graph.op("Gather", vectors, positions, axis=0)
        states = graph.op("Add", states, vectors)
    states = graph.reshape(states, -1, embeddings.model_dim)
    types = None if token_types is None else graph.reshape(chosen(token_types), -1)
    return finish_embedding(graph, kernels, embeddings, states, types, bias)


def finish_embedding(
    graph: GraphBuilder,
    kernels: Kernels,
    embeddings: Embeddings,
    states: str,
    token_types: str | None,
    bias: np.ndarray | None,
) -> str:
    """Adds token types `(rows,)`, the norm, the projection and a bias to tokens with positions
    `(rows, …)`.
    """
    if embeddings.token_types is not None:
        table = weight_array(embeddings.token_types.matrix)
        found = table[0] if token_types is None else graph.op("Gather", table, token_types, axis=0)
        states = graph.op("Add", states, found)
    if embeddings.projection is not None:
        if embeddings.layer_norm is not None:
            states = normalized(graph, states, embeddings.layer_norm)
        layer = Linear.of(embeddings.projection)
        added = layer.bias if bias is None else layer.bias + bias
        return kernels.linear(graph, states, replace(layer, bias=added))
    if embeddings.layer_norm is not None:
        return normalized(graph, states, embeddings.layer_norm, bias)
    return states if bias is None else graph.op("Add", states, bias)


def places_of_rows(graph: GraphBuilder, ids: str) -> str:
    """Returns the places of `(batch, length)`, from 0 or from the graph's input `step` on: int64
    `(length,)`.
    """
    first = first_place(graph)
    return graph.op("Range", first, _end(graph, ids, first), np.int64(1))


def places_up_to(graph: GraphBuilder, ids: str) -> str:
    """Returns 0, 1, … for all places up to the last of `(batch, length)`: int64 `(keys,)`."""
    return graph.op("Range", np.int64(0), _end(graph, ids, first_place(graph)), np.int64(1))


def first_place(graph: GraphBuilder) -> str | np.int64:
    """Returns the place of a sequence's first token: an int64 scalar."""
    if "step" not in graph.given:
        return np.int64(0)
    return graph.shared("first place", lambda: graph.op("Squeeze", graph.cast("step", "int64")))


def _end(graph: GraphBuilder, ids: str, first: str | np.int64) -> str:
    length = graph.op("Squeeze", graph.op("Shape", ids, start=1))
    return graph.op("Add", length, first) if isinstance(first, str) else length


def token_positions(graph: GraphBuilder, mask: str) -> str:
    """Numbers the real tokens of each row from 0; see `positions.token_positions`."""
    counted = graph.op("CumSum", mask, np.int64(1))
    return graph.op("Max", graph.op("Sub", counted, np.int32(1)), np.int32(0))
