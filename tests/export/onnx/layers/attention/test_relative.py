"""Biases of distances in graphs: relative ones against Raffel et al. 2020, distance by distance in
float64, and windows.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keras_transformer.config.stack import AttentionConfig
from keras_transformer.export.onnx.graphs.builder import GraphBuilder
from keras_transformer.export.onnx.layers.attention.relative import (
    sequence_bias,
    step_bias,
    with_bias,
)
from keras_transformer.layers.attention import MultiHeadAttention
from keras_transformer.layers.distances.relative_bias import RelativeBias

HEADS = 3
PLAIN = MultiHeadAttention(AttentionConfig(num_heads=HEADS, key_dim=2))
IDS = {"ids": ("int32", ("batch", "length"))}
CACHE = {
    "step": ("int32", (1,)),
    "cache_key_0": ("float32", ("rows", HEADS, "cache_length", 2)),
}


class Stack:
    """What the reference reads of a stack."""

    def __init__(self, relative: RelativeBias) -> None:
        self._relative = relative

    def relative_of(self, _: int) -> RelativeBias:
        return self._relative


def made(buckets: int, further: int, attends_ahead: bool, randomize: Any) -> RelativeBias:
    """A layer whose last bucket begins some places further than it must."""
    layer = RelativeBias(HEADS, buckets, buckets // 2 + further, attends_ahead)
    layer.build()
    return randomize(layer)


@settings(max_examples=15)
@given(
    buckets=st.sampled_from([4, 6, 8, 32]),
    further=st.integers(1, 40),
    length=st.integers(1, 70),
    attends_ahead=st.booleans(),
)
def test_a_sequence_s_biases_are_those_of_the_paper(
    buckets: int,
    further: int,
    length: int,
    attends_ahead: bool,
    build: Any,
    open_graph: Any,
    paper: Any,
    randomize: Any,
) -> None:
    layer = made(buckets, further, attends_ahead, randomize)
    outputs = {"bias": ("float32", (1, HEADS, "queries", "keys"))}
    run = open_graph(
        build(lambda graph: {"bias": sequence_bias(graph, PLAIN, layer, "ids")}, IDS, outputs)
    )
    [found] = run(ids=np.zeros((2, length), np.int32))
    np.testing.assert_allclose(found[0], paper.relative_bias(Stack(layer), length), atol=1e-6)


@pytest.mark.parametrize("attends_ahead", [False, True])
def test_a_step_s_biases_are_a_row_of_the_sequence_s(
    attends_ahead: bool, build: Any, open_graph: Any, paper: Any, randomize: Any
) -> None:
    layer = made(8, 5, attends_ahead, randomize)
    expected = paper.relative_bias(Stack(layer), 20)

    def emit(graph: GraphBuilder) -> dict[str, str]:
        return {
            name: step_bias(graph, PLAIN, layer, whole_cache=name == "whole") for name in outputs
        }

    outputs = {name: ("float32", (1, HEADS, 1, name)) for name in ("whole", "seen")}
    run = open_graph(build(emit, CACHE, outputs))
    for step in (0, 1, 7, 19):
        cache = np.zeros((4, HEADS, 20, 2), np.float32)
        whole, seen = run(step=np.array([step], np.int32), cache_key_0=cache)
        np.testing.assert_allclose(whole[0, :, 0], expected[:, step], atol=1e-6)
        np.testing.assert_array_equal(seen, whole[..., : step + 1])


def test_all_blocks_share_one_table_and_one_sum(build: Any, randomize: Any) -> None:
    layer = made(8, 5, True, randomize)

    def emit(graph: GraphBuilder) -> dict[str, str]:
        found = {
            with_bias(graph, "mask", sequence_bias(graph, PLAIN, layer, "ids")) for _ in range(3)
        }
        assert len(found) == 1
        return {"sum": found.pop()}

    mask = {"mask": ("float32", ("queries", "keys"))}
    model: onnx.ModelProto = build(
        emit, {**IDS, **mask}, {"sum": ("float32", (1, HEADS, "queries", "keys"))}
    )
    assert [node.op_type for node in model.graph.node].count("Gather") == 1


def test_blocks_with_layers_of_their_own_have_a_table_each(build: Any, randomize: Any) -> None:
    layers = [made(8, 5, True, randomize) for _ in range(2)]

    def emit(graph: GraphBuilder) -> dict[str, str]:
        found = [sequence_bias(graph, PLAIN, layer, "ids") for layer in layers]
        assert found[0] != found[1]
        return {"sum": graph.op("Add", *found)}

    outputs = {"sum": ("float32", (1, HEADS, "queries", "keys"))}
    model: onnx.ModelProto = build(emit, IDS, outputs)
    assert [node.op_type for node in model.graph.node].count("Gather") == 2


def test_without_a_bias_or_a_window_nothing_is_added(build: Callable[..., Any]) -> None:
    def emit(graph: GraphBuilder) -> dict[str, str]:
        assert sequence_bias(graph, PLAIN, None, "mask") is None
        assert step_bias(graph, PLAIN, None, whole_cache=True) is None
        assert with_bias(graph, "mask", None) == "mask"
        return {"same": graph.op("Identity", "mask")}

    values = ("float32", ("queries", "keys"))
    model = build(emit, {"mask": values}, {"same": values})
    assert [node.op_type for node in model.graph.node] == ["Identity"]


def test_a_window_hides_the_keys_outside_of_it(build: Any, open_graph: Any) -> None:
    layer = MultiHeadAttention(AttentionConfig(num_heads=HEADS, key_dim=2, window=3))

    def emit(graph: GraphBuilder) -> dict[str, str]:
        return {
            "text": sequence_bias(graph, layer, None, "ids") or "",
            "row": step_bias(graph, layer, None, whole_cache=True) or "",
        }

    outputs = {name: ("float32", (1, 1, f"{name}_queries", "keys")) for name in ("text", "row")}
    run = open_graph(build(emit, {**IDS, **CACHE}, outputs))
    cache, step = np.zeros((4, HEADS, 9, 2), np.float32), np.array([6], np.int32)
    # A text that begins at the step, behind what the cache holds.
    text, row = run(ids=np.zeros((2, 3), np.int32), step=step, cache_key_0=cache)
    places = np.arange(9)
    near = np.abs(places - places[:, None]) < 3
    np.testing.assert_array_equal(text[0, 0] == 0, near[6:])
    np.testing.assert_array_equal(row[0, 0], text[0, 0, :1])


def test_a_whole_text_has_a_window_around_each_place(build: Any, open_graph: Any) -> None:
    layer = MultiHeadAttention(AttentionConfig(num_heads=HEADS, key_dim=2, window=3))
    outputs = {"text": ("float32", (1, 1, "queries", "keys"))}
    run = open_graph(
        build(lambda graph: {"text": sequence_bias(graph, layer, None, "ids")}, IDS, outputs)
    )
    [text] = run(ids=np.zeros((2, 9), np.int32))
    places = np.arange(9)
    np.testing.assert_array_equal(text[0, 0] == 0, np.abs(places - places[:, None]) < 3)
