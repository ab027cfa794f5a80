"""int8 layers in graphs with our own operators: as near to float32 and as exact by row as those of
onnxruntime's, and a greedy head that chooses what all logits would."""

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper
from onnx.numpy_helper import from_array

from keras_transformer.export.onnx.graphs.operators import NATIVE
from keras_transformer.export.onnx.quantize.int8 import quantize_int8
from keras_transformer.runtime.onnx_graphs.operators import operators_library

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
    assert operators(quantized) == {"QuantizeRows", "ScaleSums"}
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


@pytest.mark.parametrize("outputs", [3300, 5003])
@pytest.mark.parametrize("transposed", [True, False])
def test_continuations_are_ranked_while_they_are_computed(
    x: np.ndarray, outputs: int, transposed: bool
) -> None:
    nodes = [
        helper.make_node("Gemm", ["x", "w"], ["logits"], transB=int(transposed)),
        helper.make_node(
            "BestContinuations",
            ["logits", "totals", "count"],
            ["ids", "values", "beams"],
            domain=NATIVE,
        ),
        helper.make_node("Cast", ["ids"], ["y"], to=TensorProto.FLOAT),
    ]
    model = graph(nodes, outputs, transposed=transposed)
    totals = from_array(np.zeros((35, 2), np.float32), "totals")
    model.graph.initializer.extend([totals, from_array(np.array([8]), "count")])
    again = onnx.ModelProto()
    again.CopyFrom(model)
    again.graph.node.append(helper.make_node("Neg", ["logits"], ["read"]))
    again.graph.output.append(onnx.ValueInfoProto(name="read"))
    ranked, all_logits = quantize_int8(model), quantize_int8(again)
    assert operators(ranked) == {"BestContinuationsOfStates"}
    assert "BestContinuations" in operators(all_logits)
    np.testing.assert_array_equal(run(ranked, x), run(all_logits, x))


def test_a_small_head_is_a_product_with_bytes(x: np.ndarray) -> None:
    nodes = [
        helper.make_node("Gemm", ["x", "w"], ["logits"]),
        helper.make_node("LargestPlace", ["logits"], ["y"], domain=NATIVE),
    ]
    quantized = quantize_int8(graph(nodes, 90), ranked="logits")
    assert operators(quantized) == {"BytesLinear", "LargestPlace"}
    assert run(quantized, x).shape == (70,)


def small(nodes: list[onnx.NodeProto], width: int = INPUTS) -> onnx.ModelProto:
    """A graph with square matrices `w` and `v`."""
    model = graph(nodes, width)
    values = np.random.default_rng(7).standard_normal((width, width)).astype(np.float32)
    model.graph.initializer.extend([from_array(values, "v"), from_array(values[0], "c")])
    return model


@pytest.mark.parametrize("bias", [[], ["b"]])
@pytest.mark.parametrize("flag", [0, 1])
def test_small_layers_are_near_float32_and_exact_by_row(
    x: np.ndarray, bias: list[str], flag: int
) -> None:
    model = small([helper.make_node("Gemm", ["x", "w", *bias], ["y"], transB=flag)])
    quantized = quantize_int8(model)
    assert operators(quantized) == {"BytesLinear"}
    found, expected = run(quantized, x), run(model, x)
    assert np.linalg.norm(found - expected) < 0.01 * np.linalg.norm(expected)
    for size in (1, 2, 33):
        np.testing.assert_array_equal(run(quantized, x[:size]), found[:size])


def test_a_residual_is_added_to_a_small_layer(x: np.ndarray) -> None:
    model = small(
        [
            helper.make_node("Neg", ["x"], ["r"]),
            helper.make_node("Gemm", ["x", "w", "r"], ["y"]),
        ]
    )
    found, expected = run(quantize_int8(model), x), run(model, x)
    assert np.linalg.norm(found - expected) < 0.01 * np.linalg.norm(expected)


@pytest.mark.parametrize("read_again", [False, True])
def test_relu_is_part_of_the_layer_where_nothing_else_reads_it(
    x: np.ndarray, read_again: bool
) -> None:
    more = "h" if read_again else "z"
    model = small(
        [
            helper.make_node("Gemm", ["x", "w", "b"], ["h"]),
            helper.make_node("Relu", ["h"], ["z"]),
            helper.make_node("Add", ["z", more], ["y"]),
        ]
    )
    quantized = quantize_int8(model)
    assert any(node.op_type == "Relu" for node in quantized.graph.node) == read_again
    found, expected = run(quantized, x), run(model, x)
    assert np.linalg.norm(found - expected) < 0.01 * np.linalg.norm(expected)


@pytest.mark.parametrize("read_again", ["", "h", "z", "s"])
def test_a_sub_layer_is_one_operator_where_nothing_else_reads_its_parts(
    x: np.ndarray, read_again: str
) -> None:
    model = small(
        [
            helper.make_node("Gemm", ["x", "w", "b"], ["h"]),
            helper.make_node("Relu", ["h"], ["z"]),
            helper.make_node("Gemm", ["z", "v", "c"], ["s"]),
            helper.make_node(
                "AddNorm", ["x", "s", "b", "c"], ["t", "n"], domain=NATIVE, epsilon=1e-6
            ),
            helper.make_node("Add", ["n", read_again or "t"], ["y"]),
        ]
    )
    quantized = quantize_int8(model)
    merged = {"FeedForwardSubLayer"} if not read_again else {"BytesLinear", "AddNorm"}
    assert operators(quantized) == merged
    found, expected = run(quantized, x), run(model, x)
    assert np.linalg.norm(found - expected) < 0.02 * np.linalg.norm(expected)
