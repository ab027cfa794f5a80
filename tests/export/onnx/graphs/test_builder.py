"""GraphBuilder: what is stored once, how graphs are spliced, what is declared."""

import numpy as np
import onnx
import onnx.reference
import pytest
from onnx import TensorProto, helper
from onnx.numpy_helper import from_array, to_array

from keras_transformer.artefact.entries import GraphTensor
from keras_transformer.export.onnx.graphs.builder import GraphBuilder, digest, integers
from keras_transformer.export.onnx.graphs.operators import MICROSOFT

X, Y = (GraphTensor(name=name, dtype="float32", shape=("rows", 3)) for name in "xy")


def test_equal_arrays_are_stored_once_and_others_apart() -> None:
    graph = GraphBuilder([X], 18)
    one = np.arange(3, dtype=np.float32)
    same, turned = graph.operand(one), graph.operand(one[::-1])
    assert graph.operand(one.copy()) == same != turned
    others = [np.float32(0), np.zeros(1, np.float32), np.zeros((1, 1), np.float32), np.int32(0)]
    assert len({graph.operand(values) for values in others}) == len(others)
    graph.output("y", graph.op("Add", "x", one))
    stored = graph.finish([Y]).graph.initializer
    assert len(stored) == 2 + len(others)
    np.testing.assert_array_equal(to_array(stored[1]), one[::-1])
    assert [tuple(tensor.dims) for tensor in stored[2:]] == [(), (1,), (1, 1), ()]


def test_a_digest_tells_types_and_shapes_apart() -> None:
    zeros = [np.zeros(shape, dtype) for shape in ((4,), (2, 2)) for dtype in (np.int32, np.float32)]
    assert len({digest(values) for values in zeros}) == 4
    assert digest(np.ones((2, 3)).T) == digest(np.ones((3, 2)))


def test_only_used_domains_are_imported() -> None:
    for domain, imported in (("", [("", 20)]), (MICROSOFT, [("", 20), (MICROSOFT, 1)])):
        graph = GraphBuilder([X], 20)
        graph.output("y", graph.op("Gelu", "x", domain=domain))
        model = graph.finish([Y])
        assert [(one.domain, one.version) for one in model.opset_import] == imported
        assert (model.producer_name, model.graph.name) == ("keras-transformer", "graph")
        onnx.checker.check_model(model)


def test_shapes_are_computed_once() -> None:
    graph = GraphBuilder([X], 18)
    shapes = [graph.extended_shape("x", 1, 2), graph.extended_shape("x", 1, 2)]
    assert shapes[0] == shapes[1] != graph.extended_shape("x", 3)
    graph.output("y", graph.op("Reshape", "x", graph.extended_shape("x")))
    counted = [node.op_type for node in graph.finish([Y]).graph.node]
    assert counted.count("Shape") == 1 and counted.count("Concat") == 2


def test_a_missing_or_a_wrong_output_is_named() -> None:
    graph = GraphBuilder([X], 18)
    graph.output("z", graph.op("Relu", "x"))
    with pytest.raises(RuntimeError, match="has the outputs z"):
        graph.finish([Y])


def branch(name: str, operator: str) -> onnx.GraphProto:
    node = helper.make_node(operator, ["a"], [name])
    return helper.make_graph(
        [node], name, [], [helper.make_tensor_value_info(name, TensorProto.FLOAT, None)]
    )


def test_a_graph_with_subgraphs_is_spliced_twice_without_a_clash() -> None:
    branches = {"then_branch": branch("t", "Relu"), "else_branch": branch("e", "Neg")}
    nodes = [
        helper.make_node("Add", ["x", "w"], ["a"], "n"),
        helper.make_node("If", ["flag"], ["y"], "m", **branches),
    ]
    stored = [from_array(np.ones(3, np.float32), "w"), from_array(np.array(False), "flag")]
    other = helper.make_graph(
        nodes,
        "other",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["rows", 3])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["rows", 3])],
        stored,
    )
    graph = GraphBuilder([X], 18)
    value = graph.splice(other, {"x": "x"})["y"]
    graph.output("y", graph.splice(other, {"x": value})["y"])
    model = graph.finish([Y])
    onnx.checker.check_model(model, full_check=True)
    assert len(model.graph.initializer) == 2
    [found] = onnx.reference.ReferenceEvaluator(model).run(None, {"x": np.ones((1, 3), np.float32)})
    # -(1 + 1) = -2, then -(-2 + 1) = 1.
    np.testing.assert_array_equal(found, [[1, 1, 1]])


def test_integers_are_int64() -> None:
    assert integers(2, -1).dtype == np.int64 and integers().shape == (0,)


def test_what_no_output_depends_on_can_be_dropped() -> None:
    graph = GraphBuilder([X], 18)
    kept = graph.op("Add", "x", np.ones(3, np.float32))
    graph.op("Add", graph.op("Relu", kept), np.zeros(3, np.float32))
    graph.output("y", kept)
    graph.drop_unread()
    model = graph.finish([Y])
    assert [node.op_type for node in model.graph.node] == ["Add"]
    assert [to_array(one).tolist() for one in model.graph.initializer] == [[1, 1, 1]]
