"""int8 layers in graphs with our own operators: as near to float32 and as exact by row as those of
onnxruntime's, and a greedy head that chooses what all logits would."""

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper
from onnx.numpy_helper import from_array

from keras_transformer.export.onnx.operators import NATIVE
from keras_transformer.export.onnx.quantization import quantize_int8
from keras_transformer.export.runtime.operators import operators_library

INPUTS = 41


def graph(
    nodes: list[onnx.NodeProto], outputs: int, *, transposed: bool = False
) -> onnx.ModelProto:
    """A graph whose matrix is `w`, and whose result is `y`."""
    random = np.random.default_rng(outputs)
    kernel = random.standard_normal((INPUTS, outputs)).astype(np.float32)
    weights = {"w": kernel.T.copy() if transposed else kernel, "b": kernel[0]}
    made = helper.make_graph(
        nodes,
        "graph",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["rows", INPUTS])],
        [onnx.ValueInfoProto(name="y")],
        [from_array(values, name) for name, values in weights.items()],
    )
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid(NATIVE, 1)]
    return helper.make_model(made, opset_imports=opsets, ir_version=10)


def run(model: onnx.ModelProto, x: np.ndarray) -> np.ndarray:
    options = ort.SessionOptions()
    options.register_custom_ops_library(str(operators_library()))
    session = ort.InferenceSession(model.SerializeToString(), options)
    return session.run(["y"], {"x": x})[0]


def operators(model: onnx.ModelProto) -> set[str]:
    return {node.op_type for node in model.graph.node if node.domain == NATIVE}


@pytest.fixture
def x() -> np.ndarray:
    values = np.random.default_rng(0).standard_normal((70, INPUTS)).astype(np.float32)
    values[3] = 0
    return values


@pytest.mark.parametrize("outputs", [3300, 5000])
@pytest.mark.parametrize("before", ["Identity", "Relu"])
@pytest.mark.parametrize("bias", [True, False])
def test_layers_are_near_float32_and_exact_by_row(
    x: np.ndarray, outputs: int, before: str, bias: bool
) -> None:
    nodes = [
        helper.make_node(before, ["x"], ["z"]),
        helper.make_node("Gemm", ["z", "w", *(["b"] if bias else [])], ["y"]),
    ]
    model = graph(nodes, outputs)
    quantized = quantize_int8(model)
    wide = outputs >= 4096
    assert operators(quantized) == {"QuantizeRows", *(["ScaleSums"] if wide else [])}
    found, expected = run(quantized, x), run(model, x)
    assert np.linalg.norm(found - expected) < 0.02 * np.linalg.norm(expected)
    np.testing.assert_array_equal(found[3], expected[3])
    for size in (1, 2, 33):
        np.testing.assert_array_equal(run(quantized, x[:size]), found[:size])


@pytest.mark.parametrize("outputs", [3300, 5003])
@pytest.mark.parametrize("transposed", [True, False])
def test_the_best_token_is_that_of_all_logits(
    x: np.ndarray, outputs: int, transposed: bool
) -> None:
    nodes = [
        helper.make_node("Gemm", ["x", "w"], ["logits"], transB=int(transposed)),
        helper.make_node("LargestPlace", ["logits"], ["y"], domain=NATIVE),
    ]
    model = graph(nodes, outputs, transposed=transposed)
    chosen, all_logits = (quantize_int8(model, ranked=name) for name in ("logits", ""))
    assert operators(chosen) == {"BestToken"}
    assert "LargestPlace" in operators(all_logits)
    np.testing.assert_array_equal(run(chosen, x), run(all_logits, x))


def test_a_small_head_stays_a_product_in_float32(x: np.ndarray) -> None:
    nodes = [
        helper.make_node("Gemm", ["x", "w"], ["logits"]),
        helper.make_node("LargestPlace", ["logits"], ["y"], domain=NATIVE),
    ]
    quantized = quantize_int8(graph(nodes, 90), ranked="logits")
    assert operators(quantized) == {"LargestPlace"}
    assert run(quantized, x).shape == (70,)
