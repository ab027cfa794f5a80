"""Graphs of a few emitted nodes, and how onnxruntime runs them."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest

from keras_transformer.artefact.entries import GraphTensor
from keras_transformer.export.onnx.graphs.builder import GraphBuilder
from keras_transformer.export.onnx.graphs.operators import NATIVE
from keras_transformer.runtime.onnx_graphs.operators import operators_library

# Types and shapes by name.
Values = Mapping[str, tuple[str, tuple[int | str, ...]]]
Run = Callable[..., list[np.ndarray]]


def specs(values: Values) -> list[GraphTensor]:
    return [
        GraphTensor(name=name, dtype=dtype, shape=shape) for name, (dtype, shape) in values.items()
    ]


@pytest.fixture(scope="session")
def build() -> Callable[..., onnx.ModelProto]:
    """`build(emit, inputs, outputs)`: a graph of what `emit(graph)` returns by name."""

    def make(
        emit: Callable[[GraphBuilder], dict[str, str]], inputs: Values, outputs: Values
    ) -> onnx.ModelProto:
        graph = GraphBuilder(specs(inputs), 18)
        found = emit(graph)
        graph.outputs(found, found.values())
        model = graph.finish(specs(outputs))
        onnx.checker.check_model(model)
        return model

    return make


@pytest.fixture(scope="session")
def open_graph() -> Callable[..., Run]:
    """`open_graph(model)` gives `run(**inputs)`, the graph's outputs in order."""

    def make(model: onnx.ModelProto, threads: int = 1) -> Run:
        options = ort.SessionOptions()
        options.intra_op_num_threads = threads
        options.log_severity_level = 4
        if any(entry.domain == NATIVE for entry in model.opset_import):
            options.register_custom_ops_library(str(operators_library()))
        providers = ["CPUExecutionProvider"]
        session = ort.InferenceSession(model.SerializeToString(), options, providers=providers)

        def run(**inputs: Any) -> list[np.ndarray]:
            return session.run(None, inputs)

        return run

    return make
