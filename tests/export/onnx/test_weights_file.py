"""Graphs of an artefact share one file of weights, and one of them at a time is in memory."""

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
import onnxruntime

from keras_transformer.artefact.entries import GraphTensor
from keras_transformer.export.onnx.graphs.builder import GraphBuilder
from keras_transformer.export.onnx.weights_file import save_graphs

WIDTH = 32
MATRIX = np.random.default_rng(0).standard_normal((WIDTH, WIDTH)).astype(np.float32)


def graph(factor: float) -> onnx.ModelProto:
    """Multiplies by a matrix, then by a number."""
    x, y = (GraphTensor(name=name, dtype="float32", shape=("rows", WIDTH)) for name in "xy")
    made = GraphBuilder([x], opset=18)
    found = made.op("MatMul", "x", MATRIX)
    made.output("y", made.op("Mul", found, np.float32(factor)))
    return made.finish([y])


def test_equal_matrices_are_stored_once_and_read_by_each_graph(tmp_path: Path) -> None:
    factors = {"one.onnx": 1.0, "two.onnx": 2.0}
    save_graphs(((name, graph(factor)) for name, factor in factors.items()), tmp_path, "w.bin")
    assert (tmp_path / "w.bin").stat().st_size == MATRIX.nbytes
    inputs = np.ones((2, WIDTH), np.float32)
    for name, factor in factors.items():
        session = onnxruntime.InferenceSession(tmp_path / name)
        [found] = session.run(None, {"x": inputs})
        np.testing.assert_allclose(found, inputs @ MATRIX * factor, rtol=1e-5, atol=1e-5)


def test_nothing_keeps_a_graph_while_the_next_is_made(tmp_path: Path) -> None:
    """A message that is emptied keeps its memory: with large models that was 2.5 GB."""
    counts = []

    def graphs() -> Iterator[tuple[str, onnx.ModelProto]]:
        for name in ("one.onnx", "two.onnx"):
            made = graph(1.0)
            yield name, made
            counts.append(sys.getrefcount(made))

    save_graphs(graphs(), tmp_path, "w.bin")
    # Its name here and the argument of the count.
    assert counts == [2, 2]
