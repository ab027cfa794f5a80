"""int8 layers in graphs with our own operators: as near to float32 and as exact by row as those of
onnxruntime's, and heads that choose what all logits would."""

from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
import pytest

from keras_transformer.export.onnx.graphs.builder import GraphBuilder
from keras_transformer.export.onnx.graphs.native import Native
from keras_transformer.export.onnx.graphs.operators import NATIVE
from keras_transformer.export.onnx.layers.linear import Linear
from keras_transformer.export.onnx.quantize.int8 import NativeInt8
from keras_transformer.export.onnx.quantize.kernels import Float32, Kernels

INPUTS = 41
X = {"x": ("float32", ("rows", INPUTS))}

Make = Callable[..., onnx.ModelProto]


def matrix(outputs: int, *, transposed: bool = False) -> np.ndarray:
    values = np.random.default_rng(outputs).standard_normal((INPUTS, outputs)).astype(np.float32)
    return values.T.copy() if transposed else values


@pytest.fixture
def layers(build: Any) -> Make:
    """`layers(kernels, *layers, residual="")`: x → the layers → y; ReLU first where asked for."""

    def make(
        kernels: Kernels, *layers: Linear, residual: bool = False, relu: bool = False
    ) -> onnx.ModelProto:
        def emit(graph: GraphBuilder) -> dict[str, str]:
            value = graph.op("Relu", "x") if relu else "x"
            added = graph.op("Neg", "x") if residual else ""
            for layer in layers:
                value = kernels.linear(graph, value, layer, added)
            return {"y": value}

        return build(emit, X, {"y": ("float32", ("rows", layers[-1].units))})

    return make


def operators(model: onnx.ModelProto) -> set[str]:
    return {node.op_type for node in model.graph.node if node.domain == NATIVE}


@pytest.fixture
def x() -> np.ndarray:
    values = np.random.default_rng(0).standard_normal((70, INPUTS)).astype(np.float32)
    values[3] = 0
    return values


@pytest.mark.parametrize("outputs", [3300, 5000])
@pytest.mark.parametrize("relu", [False, True])
@pytest.mark.parametrize("bias", [True, False])
def test_layers_are_near_float32_and_exact_by_row(
    layers: Make, open_graph: Any, x: np.ndarray, outputs: int, relu: bool, bias: bool
) -> None:
    kernel = matrix(outputs)
    layer = Linear(kernel, kernel[0] if bias else None, nonnegative=relu)
    quantized = layers(NativeInt8(), layer, relu=relu)
    assert operators(quantized) == {"BytesLinear"}
    run = open_graph(quantized)
    [found], [expected] = run(x=x), open_graph(layers(Float32(), layer, relu=relu))(x=x)
    assert np.linalg.norm(found - expected) < 0.02 * np.linalg.norm(expected)
    np.testing.assert_array_equal(found[3], expected[3])
    for size in (1, 2, 33):
        np.testing.assert_array_equal(run(x=x[:size])[0], found[:size])


@pytest.mark.parametrize("outputs", [3300, 5003])
def test_the_best_token_is_that_of_all_logits(
    build: Any, open_graph: Any, x: np.ndarray, outputs: int
) -> None:
    head, native = matrix(outputs, transposed=True), Native(NativeInt8())
    chosen = build(
        lambda graph: {"y": native.best_token(graph, "x", head)}, X, {"y": ("int32", ("rows",))}
    )
    assert operators(chosen) == {"BestToken"}

    def emit_all(graph: GraphBuilder) -> dict[str, str]:
        return {"y": native.largest(graph, native.logits(graph, "x", head), outputs)}

    all_logits = build(emit_all, X, {"y": ("int32", ("rows",))})
    assert "LargestPlace" in operators(all_logits)
    [one], [other] = (open_graph(model)(x=x) for model in (chosen, all_logits))
    np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("outputs", [3300, 5003])
def test_continuations_are_ranked_while_they_are_computed(
    build: Any, open_graph: Any, x: np.ndarray, outputs: int
) -> None:
    head, native = matrix(outputs, transposed=True), Native(NativeInt8())
    given = {
        "totals": ("float32", ("batch", "beams")),
        "num_candidates": ("int64", (1,)),
    }
    best = {
        "ids": ("int32", ("batch", "n")),
        "values": ("float32", ("batch", "n")),
        "beams": ("int32", ("batch", "n")),
    }
    made = {**best, "logits": ("float32", ("rows", outputs))}

    def emit(graph: GraphBuilder) -> dict[str, str]:
        logits, found = native.best_continuations(graph, "x", head, None)
        return {**dict(zip(best, found, strict=True)), "logits": logits}

    def emit_all(graph: GraphBuilder) -> dict[str, str]:
        logits = native.logits(graph, "x", head)
        asked = (logits, "totals", "num_candidates")
        found = graph.ops("BestContinuations", *asked, count=3, domain=NATIVE)
        return {**dict(zip(best, found, strict=True)), "logits": logits}

    ranked, all_logits = (build(one, {**X, **given}, made) for one in (emit, emit_all))
    assert operators(ranked) == {"BestContinuationsOfStates"}
    assert "BestContinuations" in operators(all_logits)
    inputs = {"totals": np.zeros((35, 2), np.float32), "num_candidates": np.array([8])}
    found, expected = (open_graph(model)(x=x, **inputs) for model in (ranked, all_logits))
    for place in (0, 2):
        np.testing.assert_array_equal(found[place], expected[place])
    np.testing.assert_allclose(found[1], expected[1], rtol=1e-5)


def test_a_small_head_is_a_product_with_bytes(build: Any, open_graph: Any, x: np.ndarray) -> None:
    head, native = matrix(90, transposed=True), Native(NativeInt8())
    quantized = build(
        lambda graph: {"y": native.best_token(graph, "x", head)}, X, {"y": ("int32", ("rows",))}
    )
    assert operators(quantized) == {"BytesLinear", "LargestPlace"}
    assert open_graph(quantized)(x=x)[0].shape == (70,)


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("transposed", [False, True])
def test_small_layers_are_near_float32_and_exact_by_row(
    layers: Make, open_graph: Any, x: np.ndarray, bias: bool, transposed: bool
) -> None:
    kernel = matrix(INPUTS)
    layer = Linear(kernel, kernel[0] if bias else None, transposed=transposed)
    quantized = layers(NativeInt8(), layer)
    assert operators(quantized) == {"BytesLinear"}
    run = open_graph(quantized)
    [found], [expected] = run(x=x), open_graph(layers(Float32(), layer))(x=x)
    assert np.linalg.norm(found - expected) < 0.01 * np.linalg.norm(expected)
    for size in (1, 2, 33):
        np.testing.assert_array_equal(run(x=x[:size])[0], found[:size])


@pytest.mark.parametrize("outputs", [INPUTS, 3300])
def test_a_residual_is_added(build: Any, open_graph: Any, x: np.ndarray, outputs: int) -> None:
    layer = Linear(matrix(outputs))

    def make(kernels: Kernels) -> onnx.ModelProto:
        def emit(graph: GraphBuilder) -> dict[str, str]:
            return {"y": kernels.linear(graph, "x", layer, "r")}

        sizes = {"r": ("float32", ("rows", outputs))}
        return build(emit, {**X, **sizes}, {"y": ("float32", ("rows", outputs))})

    r = np.random.default_rng(1).standard_normal((70, outputs)).astype(np.float32)
    [found], [expected] = (open_graph(make(one))(x=x, r=r) for one in (NativeInt8(), Float32()))
    assert np.linalg.norm(found - expected) < 0.02 * np.linalg.norm(expected)


@pytest.mark.parametrize("outputs", [INPUTS, 3300])
def test_relu_is_part_of_the_layer(
    layers: Make, open_graph: Any, x: np.ndarray, outputs: int
) -> None:
    layer = Linear(matrix(outputs), matrix(outputs)[0], relu=True)
    quantized = layers(NativeInt8(), layer)
    assert operators(quantized) == {"BytesLinear"}
    assert not any(node.op_type == "Relu" for node in quantized.graph.node)
    [found], [expected] = (open_graph(one)(x=x) for one in (quantized, layers(Float32(), layer)))
    assert (found >= 0).all()
    assert np.linalg.norm(found - expected) < 0.02 * np.linalg.norm(expected)
