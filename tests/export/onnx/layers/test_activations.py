"""Activations of the feed-forward layer in a graph give what they give in Keras."""

from typing import Any

import keras
import numpy as np
import onnx
import pytest

from keras_transformer.artefact.entries import GraphTensor
from keras_transformer.export.onnx.graphs.builder import GraphBuilder
from keras_transformer.export.onnx.layers.activations import Activation
from keras_transformer.layers.variants.activations import activation_named

WIDTH = 6
EMITTED = ["linear", "relu", "leaky_relu", "elu", "selu", "softplus", "sigmoid", "tanh", "gelu"]
EMITTED += ["silu", "swish", "gelu_tanh", "squared_relu"]
CONVERTED = ["relu6", "mish", "softsign"]


@pytest.fixture
def apply(build: Any, open_graph: Any) -> Any:
    """`apply(activation, x)` emits an activation twice, one after the other."""

    def emit_and_run(activation: Any, x: np.ndarray) -> np.ndarray:
        def emit(graph: GraphBuilder) -> dict[str, str]:
            value = graph.op("Identity", "x")
            for _ in range(2):
                value = Activation(graph, activation, WIDTH)(value)
            return {"y": graph.op("Identity", value)}

        values = ("float32", ("rows", WIDTH))
        model = build(emit, {"x": values}, {"y": values})
        onnx.checker.check_model(model, full_check=True)
        [found] = open_graph(model)(x=x)
        return found

    return emit_and_run


@pytest.mark.parametrize("name", [*EMITTED, *CONVERTED])
def test_values_are_those_of_keras(apply: Any, name: str) -> None:
    activation = activation_named(name)
    x = np.random.default_rng(0).normal(0, 3, (50, WIDTH)).astype(np.float32)
    expected = np.asarray(activation(activation(x)))
    np.testing.assert_allclose(apply(activation, x), expected, rtol=1e-5, atol=2e-6)


def test_a_function_of_one_s_own_is_converted(apply: Any) -> None:
    def activation(x: Any) -> Any:
        return keras.ops.maximum(x, 0) + 0.25 * x

    x = np.random.default_rng(0).normal(0, 3, (50, WIDTH)).astype(np.float32)
    expected = np.asarray(activation(activation(x)))
    np.testing.assert_allclose(apply(activation, x), expected, rtol=1e-5, atol=1e-6)


def test_one_that_is_converted_is_written_no_newer_than_tf2onnx_knows() -> None:
    graph = GraphBuilder([GraphTensor(name="x", dtype="float32", shape=("rows", WIDTH))], 19)
    with pytest.raises(ValueError, match="opset must be at most 18 .* activations .*, got 19"):
        Activation(graph, activation_named("mish"), WIDTH)("x")
    Activation(graph, activation_named("gelu"), WIDTH)("x")
