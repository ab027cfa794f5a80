"""Rotary positions (Su et al. 2021) before attention of this package's own operators."""

import dataclasses
from collections.abc import Callable

import numpy as np

from keras_transformer.config.positions.rotary import RotaryConfig, RotaryScalingConfig
from keras_transformer.config.stack import AttentionConfig
from keras_transformer.export.onnx.graphs.builder import GraphBuilder
from keras_transformer.export.onnx.graphs.operators import NATIVE
from keras_transformer.export.onnx.layers.embedding import places_of_rows
from keras_transformer.export.onnx.layers.token_rows import TokenRows
from keras_transformer.layers.attention import MultiHeadAttention
from keras_transformer.layers.variants.rotary import rates

HOLDS: dict[type, set[str]] = {
    AttentionConfig: {"rotary"},
    RotaryConfig: {"base", "width", "scaling"},
    # All of it becomes numbers: the angles of pairs, and a factor in weights before them.
    RotaryScalingConfig: {field.name for field in dataclasses.fields(RotaryScalingConfig)},
}


def turned(
    graph: GraphBuilder,
    attention: MultiHeadAttention,
    places: Callable[[], str],
    attend: Callable[[str], str],
) -> Callable[[str], str]:
    """Returns a function of `own_projection`'s outputs that turns queries and keys, and attends.

    Args:
        graph: The graph.
        attention: The layer.
        places: Returns int32 `(rows,)`, the place of each row in its text, or `(1,)`, the place of
            all.
        attend: Emits the attention that follows; without rotary positions nothing else is emitted.
    """
    if attention.config.rotary is None:
        return attend
    of_features = np.repeat(rates(attention.config.rotary, attention.config.key_dim), 2)
    flags = {
        "heads": attention.config.num_heads + attention.config.num_key_value_heads,
        "domain": NATIVE,
    }
    found = graph.shared("places of rows", places)
    return lambda packed: attend(graph.op("Rotary", packed, found, of_features, **flags))


def places_of_texts(
    graph: GraphBuilder, ids: str, mask: str, rows: TokenRows | None, *, only_tokens: bool
) -> str:
    """Returns the place of each row of an encoder in its text, padding counted: int32 `(rows,)`.

    Args:
        graph: The graph.
        ids: A value `(batch, length)`.
        mask: int32 `(batch, length)`, 1 for tokens.
        rows: The rows; None if they are all places, or all tokens.
        only_tokens: Whether the rows are all tokens, if `rows` is None.
    """
    places = graph.op("Expand", places_of_rows(graph, ids), graph.extended_shape(ids))
    places = graph.cast(graph.reshape(places, -1), "int32")
    if rows is not None:
        return rows.take(places)
    if not only_tokens:
        return places
    tokens = graph.reshape(graph.op("NonZero", graph.reshape(mask, -1)), -1)
    return graph.op("Gather", places, tokens, axis=0)
