"""Runs one of our operators, as onnxruntime runs it, with plain code and the fastest
instructions of this processor, and by `make test-all` with those between, too."""

import ctypes
import os
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import helper
from onnx.numpy_helper import from_array

from keras_transformer.export.onnx.graphs.operators import NATIVE, record_version
from keras_transformer.runtime.onnx_graphs.operators import instructions, operators_library

Run = Callable[..., list[np.ndarray]]
# `make sanitize` gives a library that was built with sanitizers.
SANITIZED = os.environ.get("KERAS_TRANSFORMER_SANITIZED_OPERATORS")

# The sets between plain code and the fastest here whose loops are their own; instructions_test.cc
# compares those that only have products of integers.
BETWEEN = {"avxvnni": ["avx2"], "vnni": ["avx2"], "bf16": ["avx2", "vnni"], "amx": ["avx2", "vnni"]}
FASTEST = instructions()
SETS = [
    *dict.fromkeys(["portable", FASTEST]),
    *(pytest.param(name, marks=pytest.mark.exhaustive) for name in BETWEEN.get(FASTEST, [])),
]


@pytest.fixture(scope="session")
def compiled() -> Path:
    """The operators' library."""
    return Path(SANITIZED or operators_library())


@pytest.fixture(scope="session", params=SETS)
def library(
    request: pytest.FixtureRequest, compiled: Path, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """The operators' library, capped at a set of instructions."""
    # To the system a copy is another library, which reads the environment anew.
    copy = Path(shutil.copy(compiled, tmp_path_factory.mktemp(request.param) / "operators.so"))
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("KERAS_TRANSFORMER_MAX_ISA", request.param)
        # onnxruntime would let go of it with the last session, and it would forget.
        ctypes.CDLL(str(copy)).keras_transformer_instructions()
    return copy


def session(
    library: Path,
    name: str,
    inputs: Sequence[np.ndarray | None],
    outputs: int,
    stored: Sequence[int],
    **attributes: Any,
) -> Any:
    """A session of one node; inputs keep their number of axes and their types, or are stored, or
    are left out."""
    names = ["" if one is None else f"input_{place}" for place, one in enumerate(inputs)]
    results = [f"output_{place}" for place in range(outputs)]
    node = helper.make_node(name, names, results, domain=NATIVE, **attributes)
    values = [
        helper.make_tensor_value_info(
            name, helper.np_dtype_to_tensor_dtype(value.dtype), [None] * value.ndim
        )
        for place, (name, value) in enumerate(zip(names, inputs, strict=True))
        if place not in stored and value is not None
    ]
    graph = helper.make_graph(
        [node],
        "one",
        values,
        [onnx.ValueInfoProto(name=result) for result in results],
        [from_array(inputs[place], names[place]) for place in stored],
    )
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid(NATIVE, 1)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=9)
    record_version(model)
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 2
    # Memory of onnxruntime's arena is all its own: nothing beyond a tensor would be noticed.
    options.enable_cpu_mem_arena = not SANITIZED
    options.register_custom_ops_library(str(library))
    return ort.InferenceSession(model.SerializeToString(), options)


@pytest.fixture(scope="session")
def run(library: Path) -> Run:
    """`run(operator, inputs, outputs=1, stored=(), **attributes)` gives the outputs.

    `stored` are the places of the inputs that the graph holds, and None is an input that is left
    out; sessions without stored ones are kept.
    """
    sessions: dict[Any, Any] = {}

    def call(
        name: str,
        inputs: Sequence[np.ndarray | None],
        outputs: int = 1,
        stored: Sequence[int] = (),
        **attributes: Any,
    ) -> list[np.ndarray]:
        types = tuple(None if one is None else (one.dtype, one.ndim) for one in inputs)
        key = (name, types, outputs, tuple(sorted(attributes.items())))
        opened = sessions.get(key)
        if stored or opened is None:
            opened = session(library, name, inputs, outputs, stored, **attributes)
        if not stored:
            sessions[key] = opened
        feeds = {
            f"input_{place}": value
            for place, value in enumerate(inputs)
            if place not in stored and value is not None
        }
        return opened.run(None, feeds)

    return call
