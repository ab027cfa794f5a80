"""Runs one of our operators, as onnxruntime runs it."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import helper

from keras_transformer.export.onnx.operators import NATIVE
from keras_transformer.export.runtime.operators import operators_library

Run = Callable[..., list[np.ndarray]]


def session(name: str, inputs: Sequence[np.ndarray], outputs: int, **attributes: Any) -> Any:
    """A session of one node; inputs keep their number of axes and their types."""
    names = [f"input_{place}" for place in range(len(inputs))]
    results = [f"output_{place}" for place in range(outputs)]
    node = helper.make_node(name, names, results, domain=NATIVE, **attributes)
    values = [
        helper.make_tensor_value_info(
            name, helper.np_dtype_to_tensor_dtype(value.dtype), [None] * value.ndim
        )
        for name, value in zip(names, inputs, strict=True)
    ]
    graph = helper.make_graph(
        [node], "one", values, [onnx.ValueInfoProto(name=result) for result in results]
    )
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid(NATIVE, 1)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=9)
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 2
    options.register_custom_ops_library(str(operators_library()))
    return ort.InferenceSession(model.SerializeToString(), options)


@pytest.fixture(scope="session")
def run() -> Run:
    """`run(operator, inputs, outputs=1, **attributes)` gives the outputs; sessions are kept."""
    sessions: dict[Any, Any] = {}

    def call(
        name: str, inputs: Sequence[np.ndarray], outputs: int = 1, **attributes: Any
    ) -> list[np.ndarray]:
        key = (name, tuple((i.dtype, i.ndim) for i in inputs), tuple(sorted(attributes.items())))
        if key not in sessions:
            sessions[key] = session(name, inputs, outputs, **attributes)
        feeds = {f"input_{place}": value for place, value in enumerate(inputs)}
        return sessions[key].run(None, feeds)

    return call
