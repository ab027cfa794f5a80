"""float16 graphs on a small network with all that overflows or rounds badly in half precision:
types, nearness to float32, masks, and clear errors.
"""

from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper
from onnx.numpy_helper import from_array

from keras_transformer.export.onnx.quantize.float16 import to_float16

_WORDS, _WIDTH, _LENGTH = 3000, 16, 5
# Rows whose attention has a key at all.
_ROWS = [0, 1, 3]
_FLOAT, _FLOAT16 = TensorProto.FLOAT, TensorProto.FLOAT16


def _random(*shape: int) -> np.ndarray:
    return np.random.default_rng(list(shape)).standard_normal(shape).astype(np.float32)


def _weights() -> dict[str, np.ndarray]:
    return {
        # States of several hundreds: their squares are beyond float16.
        "table": _random(_WORDS, _WIDTH) * np.float32(400),
        "rate": np.array([0.9], np.float32),
        "epsilon": np.array(1e-5, np.float32),
        "kernel": _random(_WIDTH, _WIDTH) / np.float32(4),
        "head": np.zeros((_WIDTH, 70_000), np.float32),
        "one": np.array(1, np.float32),
        "far": np.array(-1e9, np.float32),
        "last": np.array([1], np.int64),
    }


def _nodes() -> list[onnx.NodeProto]:
    """Embedding and position → norm → attention to a cache with a mask → log-sum-exp or not."""
    steps: list[tuple[str, list[str], list[str], dict[str, Any]]] = [
        ("Gather", ["table", "ids"], ["embedded"], {}),
        ("Cast", ["step"], ["position"], {"to": _FLOAT}),
        ("Mul", ["position", "rate"], ["angle"], {}),
        ("Sin", ["angle"], ["sine"], {}),
        ("Add", ["embedded", "sine"], ["states"], {}),
        ("ReduceMean", ["states", "last"], ["mean"], {"keepdims": 1}),
        ("Sub", ["states", "mean"], ["centred"], {}),
        ("Mul", ["centred", "centred"], ["squares"], {}),
        ("ReduceMean", ["squares", "last"], ["variance"], {"keepdims": 1}),
        ("Add", ["variance", "epsilon"], ["positive"], {}),
        ("Sqrt", ["positive"], ["deviation"], {}),
        ("Reciprocal", ["deviation"], ["inverse"], {}),
        ("Mul", ["centred", "inverse"], ["normed"], {}),
        ("MatMul", ["normed", "kernel"], ["query"], {}),
        ("Transpose", ["cache"], ["keys"], {"perm": [1, 0]}),
        ("MatMul", ["query", "keys"], ["scores"], {}),
        ("Cast", ["mask"], ["kept"], {"to": _FLOAT}),
        ("Sub", ["one", "kept"], ["dropped"], {}),
        ("Mul", ["dropped", "far"], ["bias"], {}),
        ("Add", ["scores", "bias"], ["masked"], {}),
        ("Softmax", ["masked"], ["attention"], {"axis": -1}),
        ("MatMul", ["attention", "cache"], ["heads"], {}),
        ("Add", ["heads", "normed"], ["new_cache"], {}),
        ("MatMul", ["new_cache", "head"], ["logits"], {}),
    ]
    nodes = [helper.make_node(kind, given, made, **flags) for kind, given, made, flags in steps]
    branches = {"then_branch": _log_softmax(), "else_branch": _as_they_are()}
    return [*nodes, helper.make_node("If", ["normalize"], ["values"], **branches)]


def _log_softmax() -> onnx.GraphProto:
    nodes = [
        helper.make_node("Exp", ["logits"], ["powers"]),
        helper.make_node("ReduceSum", ["powers", "last"], ["sum"]),
        helper.make_node("Log", ["sum"], ["log_sum"]),
        helper.make_node("Sub", ["logits", "log_sum"], ["normalized"]),
    ]
    output = helper.make_tensor_value_info("normalized", _FLOAT, None)
    return helper.make_graph(nodes, "then", [], [output])


def _as_they_are() -> onnx.GraphProto:
    nodes = [helper.make_node("Identity", ["logits"], ["same"])]
    return helper.make_graph(
        nodes, "else", [], [helper.make_tensor_value_info("same", _FLOAT, None)]
    )


def _network(weights: dict[str, np.ndarray]) -> onnx.ModelProto:
    given: list[tuple[str, int, list[str | int]]] = [
        ("ids", TensorProto.INT32, ["rows"]),
        ("step", TensorProto.INT32, [1]),
        ("mask", TensorProto.INT32, ["rows", _LENGTH]),
        ("cache", _FLOAT, [_LENGTH, _WIDTH]),
        ("normalize", TensorProto.BOOL, []),
    ]
    made = [
        ("values", ["rows", weights["head"].shape[1]]),
        ("logits", ["rows", weights["head"].shape[1]]),
        ("attention", ["rows", _LENGTH]),
        ("new_cache", ["rows", _WIDTH]),
    ]
    graph = helper.make_graph(
        _nodes(),
        "graph",
        [helper.make_tensor_value_info(*entry) for entry in given],
        [helper.make_tensor_value_info(name, _FLOAT, shape) for name, shape in made],
        [from_array(values, name) for name, values in weights.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)


@pytest.fixture(scope="module")
def network() -> onnx.ModelProto:
    return _network(_weights())


@pytest.fixture(scope="module")
def halved(network: onnx.ModelProto) -> onnx.ModelProto:
    return to_float16(network, keep_float32=("values", "logits", "no_such_output"))


def _run(model: onnx.ModelProto, dtype: Any, normalize: bool = True) -> dict[str, np.ndarray]:
    onnx.checker.check_model(model, full_check=True)
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    mask = np.ones((4, _LENGTH), np.int32)
    mask[1, 2:] = 0
    mask[2] = 0
    inputs = {
        "ids": np.array([1, 20, 300, 2999], np.int32),
        # In float16 the angle would be off by half a turn.
        "step": np.array([4001], np.int32),
        "mask": mask,
        "cache": _random(_LENGTH, _WIDTH).astype(dtype),
        "normalize": np.array(normalize),
    }
    names = [value.name for value in session.get_outputs()]
    return dict(zip(names, session.run(names, inputs), strict=True))


def test_caches_become_float16_and_what_is_asked_for_stays_float32(
    halved: onnx.ModelProto,
) -> None:
    values = [*halved.graph.input, *halved.graph.output]
    types = {value.name: value.type.tensor_type.elem_type for value in values}
    assert types["cache"] == types["new_cache"] == types["attention"] == _FLOAT16
    assert types["logits"] == types["values"] == _FLOAT
    assert types["ids"] == types["mask"] == TensorProto.INT32


def test_no_matrix_is_left_in_float32(halved: onnx.ModelProto) -> None:
    left = [t.name for t in halved.graph.initializer if t.data_type == _FLOAT and t.dims]
    # The rate of the positions, which are computed in float32.
    assert left == ["rate"]


@pytest.mark.parametrize("normalize", [True, False])
def test_numbers_stay_near_float32(
    network: onnx.ModelProto, halved: onnx.ModelProto, normalize: bool
) -> None:
    expected = _run(network, np.float32, normalize)
    found = _run(halved, np.float16, normalize)
    for name, values in expected.items():
        assert np.isfinite(found[name]).all(), name
        np.testing.assert_allclose(found[name][_ROWS], values[_ROWS], atol=0.02, err_msg=name)


def test_a_sum_of_exponentials_beyond_float16_is_right(halved: onnx.ModelProto) -> None:
    # All logits are 0: their exponentials sum to 70,000, and float16 ends at 65,504.
    np.testing.assert_allclose(_run(halved, np.float16)["values"], -np.log(70_000), rtol=1e-6)


def test_masked_keys_get_no_attention_and_a_row_without_keys_stays_finite(
    halved: onnx.ModelProto,
) -> None:
    attention = _run(halved, np.float16)["attention"]
    assert (attention[1, 2:] == 0).all()
    np.testing.assert_allclose(attention[2].sum(), 1, atol=0.01)


def test_the_given_graph_is_left_as_it_is(network: onnx.ModelProto) -> None:
    before = network.SerializeToString()
    to_float16(network, keep_float32=())
    assert network.SerializeToString() == before


def test_an_output_may_be_any_node_s(network: onnx.ModelProto) -> None:
    halved = to_float16(network, keep_float32=("new_cache",))
    types = {v.name: v.type.tensor_type.elem_type for v in halved.graph.output}
    assert types["new_cache"] == _FLOAT and types["values"] == types["logits"] == _FLOAT16
    # What was looked up is float32, as the output is; the table that it was looked up in is not.
    matrices = {one.name: one.data_type for one in halved.graph.initializer if len(one.dims) == 2}
    assert matrices["table/half"] == _FLOAT16 and set(matrices.values()) == {_FLOAT16}
    found, expected = _run(halved, np.float16), _run(network, np.float32)
    np.testing.assert_allclose(found["new_cache"][_ROWS], expected["new_cache"][_ROWS], atol=0.02)


def test_an_input_may_stay_float32(network: onnx.ModelProto) -> None:
    halved = to_float16(network, keep_float32=("cache", "logits"))
    assert halved.graph.input[3].type.tensor_type.elem_type == _FLOAT
    found, expected = _run(halved, np.float32), _run(network, np.float32)
    np.testing.assert_allclose(found["logits"][_ROWS], expected["logits"][_ROWS], atol=0.02)


def test_a_matrix_beyond_float16_is_refused() -> None:
    weights = _weights()
    weights["kernel"][0, 0] = 1e5
    with pytest.raises(ValueError, match="'kernel' holds 100000, more than float16's limit"):
        to_float16(_network(weights), keep_float32=())


def test_a_graph_of_other_operators_is_refused(network: onnx.ModelProto) -> None:
    foreign = onnx.ModelProto()
    foreign.CopyFrom(network)
    foreign.graph.node[0].domain = "com.microsoft"
    with pytest.raises(
        ValueError, match="portable graphs, but this one contains com.microsoft.Gather"
    ):
        to_float16(foreign, keep_float32=())
