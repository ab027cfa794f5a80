"""int8 graphs on a network that holds every kind of linear layer: which kernel each gets, how near
the numbers stay, and that a row's result never depends on the rows beside it.
"""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper
from onnx.numpy_helper import from_array, to_array

from keras_transformer.export.onnx.quantize.int8 import quantize_int8

_WORDS, _WIDTH, _HIDDEN = 1100, 120, 1200
_BATCH = 70
_KERNELS = ["MatMulIntegerToFloat", "DynamicQuantizeMatMul", "Gemm", "MatMul"]


def _graph(nodes: list[onnx.NodeProto], weights: dict[str, np.ndarray], opset: int = 18) -> Any:
    graph = helper.make_graph(
        nodes,
        "graph",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["rows", "width"])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["rows", "outputs"])],
        [from_array(values, name) for name, values in weights.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)
    onnx.checker.check_model(model)
    return model


def _random(*shape: int, seed: int = 0) -> np.ndarray:
    values = np.random.default_rng([seed, *shape]).standard_normal(shape)
    return (values / np.sqrt(shape[0])).astype(np.float32)


@pytest.fixture(scope="module")
def network() -> onnx.ModelProto:
    """ids → embedding → small and large layers, with bias, residual and Relu → tied head."""
    nodes = [
        helper.make_node("Gather", ["table", "ids"], ["embedded"]),
        helper.make_node("Gemm", ["embedded", "small", "bias"], ["a"]),
        helper.make_node("Relu", ["a"], ["b"]),
        helper.make_node("Gemm", ["b", "small_t", "embedded"], ["c"], transB=1),
        helper.make_node("LayerNormalization", ["c", "gamma", "beta"], ["d"], axis=-1),
        helper.make_node("Gemm", ["d", "large", "large_bias"], ["e"]),
        helper.make_node("Relu", ["e"], ["f"]),
        helper.make_node("Reshape", ["f", "rows_of_hidden"], ["g"]),
        helper.make_node("Gemm", ["g", "large_back", "d"], ["h"]),
        helper.make_node("MatMul", ["h", "other"], ["i"]),
        helper.make_node("Add", ["i", "bias"], ["states"]),
        helper.make_node("Transpose", ["table"], ["head"], perm=[1, 0]),
        helper.make_node("MatMul", ["states", "head"], ["logits"]),
    ]
    weights = {
        "table": _random(_WORDS, _WIDTH) * np.float32(30),
        "small": _random(_WIDTH, _WIDTH),
        "bias": _random(_WIDTH),
        "small_t": _random(_WIDTH, _WIDTH, seed=1),
        "other": _random(_WIDTH, _WIDTH, seed=2),
        "gamma": 1 + _random(_WIDTH),
        "beta": _random(_WIDTH, seed=1),
        "large": _random(_WIDTH, _HIDDEN),
        "large_bias": _random(_HIDDEN),
        "large_back": _random(_HIDDEN, _WIDTH),
        "rows_of_hidden": np.array([-1, _HIDDEN], np.int64),
    }
    graph = helper.make_graph(
        nodes,
        "graph",
        [helper.make_tensor_value_info("ids", TensorProto.INT32, ["rows"])],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["rows", _WORDS])],
        [from_array(values, name) for name, values in weights.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)
    onnx.checker.check_model(model, full_check=True)
    return model


def _session(model: onnx.ModelProto, threads: int = 1) -> ort.InferenceSession:
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    return ort.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )


def _run(model: onnx.ModelProto, **inputs: np.ndarray) -> np.ndarray:
    [result] = _session(model).run(None, inputs)
    return result


def _error(found: np.ndarray, expected: np.ndarray) -> float:
    return float(np.linalg.norm(found - expected) / np.linalg.norm(expected))


def _operators(model: onnx.ModelProto) -> dict[str, int]:
    counted = Counter(node.op_type for node in model.graph.node)
    return {name: counted[name] for name in _KERNELS if counted[name]}


@pytest.mark.parametrize(
    ("batch_dependent", "operators"),
    [
        (False, {"MatMulIntegerToFloat": 3, "Gemm": 2, "MatMul": 1}),
        (True, {"DynamicQuantizeMatMul": 6}),
    ],
)
def test_every_linear_layer_gets_its_kernel(
    network: onnx.ModelProto, batch_dependent: bool, operators: dict[str, int]
) -> None:
    quantized = quantize_int8(network, batch_dependent=batch_dependent)
    onnx.checker.check_model(quantized)
    assert _operators(quantized) == operators


@pytest.mark.parametrize("batch_dependent", [False, True])
def test_no_matrix_is_left_in_float32(network: onnx.ModelProto, batch_dependent: bool) -> None:
    quantized = quantize_int8(network, batch_dependent=batch_dependent)
    matrices = {t.name for t in network.graph.initializer if len(t.dims) == 2}
    assert not matrices & {tensor.name for tensor in quantized.graph.initializer}
    # A quarter, the scales, the biases.
    assert quantized.ByteSize() < 0.32 * network.ByteSize()


def test_onnxruntime_multiplies_small_matrices_out_when_it_loads_them(
    network: onnx.ModelProto, tmp_path: Path
) -> None:
    loaded = tmp_path / "loaded.onnx"
    options = ort.SessionOptions()
    options.optimized_model_filepath = str(loaded)
    ort.InferenceSession(
        quantize_int8(network).SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    model = onnx.load(loaded)
    stored = {t.name for t in model.graph.initializer if t.data_type == TensorProto.FLOAT}
    products = [
        node for node in model.graph.node if node.op_type in ("Gemm", "MatMul", "FusedGemm")
    ]
    assert len(products) == 3
    assert all(node.input[1] in stored for node in products)


def test_the_head_and_the_embedding_share_one_table(network: onnx.ModelProto) -> None:
    quantized = quantize_int8(network)
    tables = [
        t.name for t in quantized.graph.initializer if sorted(t.dims) == sorted((_WORDS, _WIDTH))
    ]
    assert tables == ["table/int8_0"]


def test_layers_that_share_a_small_matrix_store_it_once() -> None:
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["a"]),
        helper.make_node("Transpose", ["w"], ["w_t"], perm=[1, 0]),
        helper.make_node("Gemm", ["a", "w_t", "x"], ["b"]),
        helper.make_node("Gemm", ["b", "w", "a"], ["c"]),
        helper.make_node("Gemm", ["c", "w"], ["y"], transB=1),
    ]
    model = _graph(nodes, {"w": _random(40, 40)})
    quantized = quantize_int8(model)
    stored = [t.name for t in quantized.graph.initializer if len(t.dims) == 2]
    # Inputs of one are outputs of another, and scales belong to outputs.
    assert sorted(stored) == ["w/int8_0", "w/int8_1"]
    x = np.random.default_rng(0).standard_normal((_BATCH, 40)).astype(np.float32)
    assert 0 < _error(_run(quantized, x=x), _run(model, x=x)) < 0.02


@pytest.mark.parametrize(("batch_dependent", "bound"), [(False, 0.02), (True, 0.04)])
def test_numbers_stay_near_float32(
    network: onnx.ModelProto, batch_dependent: bool, bound: float
) -> None:
    ids = np.arange(_BATCH, dtype=np.int32)
    expected = _run(network, ids=ids)
    found = _run(quantize_int8(network, batch_dependent=batch_dependent), ids=ids)
    assert 0 < _error(found, expected) < bound


@pytest.fixture(scope="module")
def row_sessions(network: onnx.ModelProto) -> list[ort.InferenceSession]:
    quantized = quantize_int8(network)
    return [_session(quantized, threads) for threads in (1, 2)]


@settings(max_examples=60, deadline=None)
@given(ids=st.lists(st.integers(0, _WORDS - 1), min_size=1, max_size=_BATCH), data=st.data())
def test_a_row_is_the_same_to_the_last_bit_in_every_batch(
    row_sessions: list[ort.InferenceSession], ids: list[int], data: st.DataObject
) -> None:
    [alone] = row_sessions[0].run(None, {"ids": np.array(ids[:1], np.int32)})
    order = data.draw(st.permutations(range(len(ids))))
    for session in row_sessions:
        [together] = session.run(None, {"ids": np.array(ids, np.int32)[list(order)]})
        np.testing.assert_array_equal(together[order.index(0)], alone[0])


def test_with_one_scale_for_all_rows_a_row_does_depend_on_the_others(
    network: onnx.ModelProto,
) -> None:
    session = _session(quantize_int8(network, batch_dependent=True))
    [alone] = session.run(None, {"ids": np.array([5], np.int32)})
    [together] = session.run(None, {"ids": np.arange(40, dtype=np.int32)})
    assert (alone[0] != together[5]).any()
    assert _error(together[5], alone[0]) < 0.04


@pytest.mark.parametrize("inputs", [1, 20, 63, 64, 65, 100, 320, 513])
@pytest.mark.parametrize("outputs", [33, 5000])
def test_matrices_of_any_width_are_exact_by_row_too(inputs: int, outputs: int) -> None:
    nodes = [helper.make_node("Gemm", ["x", "w", "b"], ["y"])]
    weights = {"w": _random(inputs, outputs), "b": _random(outputs)}
    model = _graph(nodes, weights)
    session = _session(quantize_int8(model))
    x = np.random.default_rng(0).standard_normal((_BATCH, inputs)).astype(np.float32)
    [all_rows] = session.run(None, {"x": x})
    assert _error(all_rows, _run(model, x=x)) < 0.02
    for size in (1, 2, 3, 7, 32, 33, 69):
        [some] = session.run(None, {"x": x[:size]})
        np.testing.assert_array_equal(some, all_rows[:size])


@pytest.mark.parametrize("before", ["Identity", "Relu"])
def test_a_wide_head_is_multiplied_as_integers_and_exact_by_row(before: str) -> None:
    nodes = [
        helper.make_node(before, ["x"], ["z"]),
        helper.make_node("Gemm", ["z", "w"], ["y"], transB=1),
    ]
    model = _graph(nodes, {"w": _random(5000, 40)})
    quantized = quantize_int8(model)
    assert "MatMulInteger" in {node.op_type for node in quantized.graph.node}
    x = np.random.default_rng(0).standard_normal((_BATCH, 40)).astype(np.float32)
    session = _session(quantized)
    [found] = session.run(None, {"x": x})
    assert _error(found, _run(model, x=x)) < 0.02
    for size in (1, 2, 33):
        np.testing.assert_array_equal(session.run(None, {"x": x[:size]})[0], found[:size])


def test_who_only_ranks_reads_the_head_before_its_rows_are_scaled() -> None:
    nodes = [
        helper.make_node("Gemm", ["x", "w"], ["logits"], transB=1),
        helper.make_node("ArgMax", ["logits"], ["best"], axis=1),
        helper.make_node("Cast", ["best"], ["y"], to=TensorProto.FLOAT),
    ]
    model = _graph(nodes, {"w": _random(5000, 40)})
    model.graph.output.append(helper.make_tensor_value_info("logits", TensorProto.FLOAT, None))
    ranked, plain = (quantize_int8(model, ranked=name) for name in ("logits", ""))
    readers = [
        [node for node in one.graph.node if "logits" in node.input] for one in (ranked, plain)
    ]
    assert [len(found) for found in readers] == [0, 1]
    x = np.random.default_rng(0).standard_normal((_BATCH, 40)).astype(np.float32)
    for one, other in zip(*(_session(q).run(None, {"x": x}) for q in (ranked, plain)), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("before", ["Identity", "Relu"])
def test_a_row_of_zeros_gives_the_bias(before: str) -> None:
    nodes = [
        helper.make_node(before, ["x"], ["z"]),
        helper.make_node("Gemm", ["z", "w", "b"], ["y"]),
    ]
    bias = _random(400)
    quantized = quantize_int8(_graph(nodes, {"w": _random(400, 400), "b": bias}))
    assert "MatMulIntegerToFloat" in {node.op_type for node in quantized.graph.node}
    x = np.zeros((3, 400), np.float32)
    x[1] = -1 if before == "Relu" else 1e-44
    np.testing.assert_array_equal(_run(quantized, x=x), np.tile(bias, (3, 1)))


@pytest.mark.parametrize("batch_dependent", [False, True])
@pytest.mark.parametrize("before", ["Identity", "Relu"])
def test_no_processor_cuts_the_largest_sums_off(before: str, batch_dependent: bool) -> None:
    # Weights of which neighbours are alike, and inputs that are large where they are.
    weights = np.sign(_random(400, 400)).repeat(2, axis=0)[:401]
    nodes = [helper.make_node(before, ["x"], ["z"]), helper.make_node("MatMul", ["z", "w"], ["y"])]
    model = _graph(nodes, {"w": weights})
    x = np.maximum(weights.T, -1 if before == "Identity" else 0)
    found = _run(quantize_int8(model, batch_dependent=batch_dependent), x=x)
    assert _error(found, _run(model, x=x)) < 0.01


def test_rows_of_any_size_keep_their_relative_error() -> None:
    model = _graph([helper.make_node("MatMul", ["x", "w"], ["y"])], {"w": _random(400, 400)})
    x = np.random.default_rng(0).standard_normal((6, 400)).astype(np.float32)
    x *= 10.0 ** np.arange(-9, 9, 3, dtype=np.float32)[:, None]
    found, expected = _run(quantize_int8(model), x=x), _run(model, x=x)
    assert max(map(_error, found, expected)) < 0.02


def test_the_given_graph_is_left_as_it_is(network: onnx.ModelProto) -> None:
    before = network.SerializeToString()
    quantize_int8(network)
    assert network.SerializeToString() == before


@pytest.mark.parametrize(
    "node",
    [
        helper.make_node("Gemm", ["x", "w", "b"], ["y"], alpha=2.0),
        helper.make_node("Gemm", ["x", "w", "b"], ["y"], transA=1),
        helper.make_node("Gemm", ["x", "w", "as_row"], ["y"]),
        helper.make_node("MatMul", ["x", "x"], ["y"]),
        helper.make_node("Gemm", ["x", "doubles"], ["y"]),
    ],
    ids=["scaled", "first transposed", "bias of two axes", "no stored matrix", "other type"],
)
def test_other_products_are_left_alone(node: onnx.NodeProto) -> None:
    weights = {"w": _random(8, 8), "b": _random(8), "as_row": _random(1, 8)}
    weights["doubles"] = _random(8, 8).astype(np.float64)
    with pytest.raises(ValueError, match="no linear layer with a stored float32 matrix"):
        quantize_int8(_unchecked(node, weights))


def _unchecked(node: onnx.NodeProto, weights: dict[str, np.ndarray]) -> onnx.ModelProto:
    stored = [from_array(values, name) for name, values in weights.items()]
    graph = helper.make_graph([node], "graph", [], [], stored)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])


def test_a_quantized_graph_is_not_quantized_again(network: onnx.ModelProto) -> None:
    quantized = quantize_int8(network)
    with pytest.raises(ValueError, match="was not quantised before"):
        quantize_int8(quantized)


def _linear(weights: np.ndarray) -> onnx.ModelProto:
    return _graph([helper.make_node("MatMul", ["x", "w"], ["y"])], {"w": weights})


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: quantize_int8(_linear(np.full((8, 8), np.nan, np.float32))),
            "'w' holds a value that is not finite",
        ),
        (
            lambda: quantize_int8(
                _graph([helper.make_node("MatMul", ["x", "w"], ["y"])], {"w": _random(8, 8)}, 17),
            ),
            "opset 18 or newer, the graph has 17",
        ),
    ],
)
def test_errors_say_what_is_wrong(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


def test_a_small_table_stays_float32() -> None:
    nodes = [
        helper.make_node("ArgMax", ["x"], ["ids"], axis=1, keepdims=0),
        helper.make_node("Gather", ["table", "ids"], ["z"]),
        helper.make_node("MatMul", ["z", "w"], ["y"]),
    ]
    table = _random(30, 8)
    quantized = quantize_int8(_graph(nodes, {"table": table, "w": _random(8, 8)}))
    [kept] = [to_array(t) for t in quantized.graph.initializer if t.name == "table"]
    np.testing.assert_array_equal(kept, table)
