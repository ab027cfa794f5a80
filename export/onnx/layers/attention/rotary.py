"""Rotary positions (Su et al. 2021) before attention of this package's own operators."""

import dataclasses
from collections.abc import Callable

import numpy as np

from keras_transformer.config.positions.rotary import RotaryConfig, RotaryScalingConfig
from keras_transformer.config.stack import AttentionConfig
from keras_transformer.export.onnx.graphs.builder import GraphBuilder
from keras_transformer.export.onnx.graphs.operators import NATIVE
from keras_transformer.export.onnx.layers.embedding import places_of_rows
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


def places_of_texts(graph: GraphBuilder, ids: str) -> str:
    """Returns the place of each token of `(batch, length)` in its text, padding counted: int32
    `(batch * length,)`.
    """
    places = graph.op("Expand", places_of_rows(graph, ids), graph.extended_shape(ids))
    return graph.cast(graph.reshape(places, -1), "int32")
