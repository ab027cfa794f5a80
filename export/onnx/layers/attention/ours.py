"""Attention in this package's own operators, between the two linear layers of its sub-layer."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from keras_transformer.config.stack import AttentionConfig
from keras_transformer.export.onnx.expressible import not_held
from keras_transformer.export.onnx.graphs.between import Between
from keras_transformer.export.onnx.graphs.builder import GraphBuilder, Operand
from keras_transformer.export.onnx.graphs.operators import NATIVE
from keras_transformer.export.onnx.layers.attention import distances, kinds
from keras_transformer.export.onnx.layers.attention.kinds import is_grouped, named
from keras_transformer.export.onnx.layers.attention.relative import biases_of_distances
from keras_transformer.export.onnx.layers.attention.rotary import places_of_texts, turned
from keras_transformer.export.onnx.layers.linear import Linear, own_projection
from keras_transformer.export.onnx.layers.stack import Parts
from keras_transformer.layers.attention import MultiHeadAttention
from keras_transformer.layers.distances.relative_bias import RelativeBias

HOLDS: dict[type, set[str]] = {
    AttentionConfig: kinds.HOLDS[AttentionConfig]
    | {"rotary", "query_key_norm", "query_key_norm_over", "window", "relative_bias"}
    | {"disentangled"}
}


def is_ours(attention: MultiHeadAttention) -> bool:
    """Whether our operators can compute a layer; otherwise onnxruntime's are used."""
    return not any(not_held(attention.config, [HOLDS]))


def attending(
    between: Between, attention: MultiHeadAttention, relative: RelativeBias | None
) -> Callable[[str], str]:
    """Returns an operator with what changes the scores of a layer."""
    config, operands = attention.config, between.operands
    given = {"window": config.window, "soft_cap": config.soft_cap}
    flags = {name: value for name, value in given.items() if value is not None}
    if relative is not None:
        operands = (*operands, biases_of_distances(relative))
    if config.disentangled is not None:
        biases = () if relative is not None else (None,)
        operands = (*operands, *biases, *distances.vectors_of_distances(attention))
    found = replace(between, operands=operands, flags={**between.flags, **flags})
    # The operator of the whole sub-layer has neither groups nor other changes.
    changes = relative, config.soft_cap, config.disentangled
    is_plain = all(one is None for one in changes) and not is_grouped(attention)
    return found if is_plain else found.__call__


def heads_of(attention: MultiHeadAttention) -> dict[str, int]:
    """Returns the attributes of the operator for whole texts that count heads."""
    shared = {"shared": attention.config.num_key_value_heads} if is_grouped(attention) else {}
    return {"heads": attention.config.num_heads, **shared}


def text_attention(
    graph: GraphBuilder, attention: MultiHeadAttention, ids: str, relative: RelativeBias | None
) -> Parts:
    """Attends within texts `(batch, length)`, each place to those before it and to itself."""

    def all_places() -> str:
        return graph.op("Expand", np.int32(1), graph.op("Shape", ids))

    flags = {**heads_of(attention), "looks_back": 1}
    mask = graph.shared(("all places", ids), all_places)
    bare = Between(graph, "SequenceAttention", (mask,), flags=flags)
    return _of_rows(graph, attention, ids, attending(bare, attention, relative))


def prompt_attention(
    graph: GraphBuilder,
    attention: MultiHeadAttention,
    number: int,
    ids: str,
    relative: RelativeBias | None,
) -> Parts:
    """Does the same behind what the caches of a block hold, and writes keys and values there.

    Args:
        graph: The graph, which may have the first place as its input `step`.
        attention: The layer.
        number: Number of its block.
        ids: The input of tokens `(rows, length)`.
        relative: The block's relative bias; None without.
    """
    first: tuple[Operand, ...] = ("step",) if "step" in graph.given else ()

    def attend(packed: str) -> str:
        caches = (packed, *named("cache", number), *first)
        filled = graph.ops("FillCache", *caches, count=2, domain=NATIVE)
        graph.outputs(named("new_cache", number), filled)
        # Its place stays empty if something stands behind it.
        behind = first if first or relative is None else (None,)
        bare = Between(graph, "PromptAttention", (*filled, *behind))
        return attending(bare, attention, relative)(packed)

    return _of_rows(graph, attention, ids, attend)


def _of_rows(
    graph: GraphBuilder, attention: MultiHeadAttention, ids: str, attend: Callable[[str], str]
) -> Parts:
    """Returns a sub-layer with a row for each place of `(batch, length)`."""
    places = partial(places_of_texts, graph, ids)
    # There is no operator of the whole sub-layer.
    between = turned(graph, attention, places, lambda packed: attend(packed))
    return Parts(own_projection(attention), between, Linear.of(attention.output_linear))
