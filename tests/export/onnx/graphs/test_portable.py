"""Portable graphs need no runtime but a standard one: the operators, ONNX's own reference, and an
onnxruntime session that fuses nothing; and fused graphs do hold what makes them fast."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx.reference import ReferenceEvaluator

from keras_transformer.artefact.manifest import GRAPHS
from keras_transformer.export import Manifest

SOURCE_IDS = np.array([[5, 6, 7, 8, 3], [9, 10, 3, 0, 0]], np.int32)
BEAMS, LENGTH, STEPS = 2, 6, 3

Arrays = dict[str, np.ndarray]


def nodes(graph: onnx.GraphProto) -> Iterator[onnx.NodeProto]:
    """Every node, also of the graphs inside of nodes."""
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            for inner in (attribute.g, *attribute.graphs):
                yield from nodes(inner)


def operators(path: Path, graph: str) -> Counter[tuple[str, str]]:
    """How many nodes there are of each domain and name."""
    proto = onnx.load(path / f"{graph}.onnx", load_external_data=False)
    assert not proto.functions
    return Counter((node.domain, node.op_type) for node in nodes(proto.graph))


@pytest.mark.parametrize("graph", GRAPHS)
def test_portable_graphs_hold_standard_operators_only(exported_portable: Any, graph: str) -> None:
    found = operators(exported_portable.path, graph)
    assert {domain for domain, _ in found} == {""}
    proto = onnx.load(exported_portable.path / f"{graph}.onnx", load_external_data=False)
    assert [(entry.domain, entry.version) for entry in proto.opset_import] == [("", 18)]
    onnx.checker.check_model(str(exported_portable.path / f"{graph}.onnx"), full_check=True)


@pytest.mark.parametrize(
    ("graph", "expected"),
    [
        ("encoder", {"MultiHeadAttention": 1}),
        ("decoder", {"MultiHeadAttention": 2, "DecoderMaskedMultiHeadAttention": 2}),
        ("greedy", {"MultiHeadAttention": 2, "GroupQueryAttention": 2}),
        ("greedy_scores", {"MultiHeadAttention": 2, "GroupQueryAttention": 2}),
        ("scorer", {"MultiHeadAttention": 2}),
        ("prefill", {"MultiHeadAttention": 2}),
    ],
)
def test_fused_graphs_hold_onnxruntime_s_attention(
    exported: Any, graph: str, expected: dict[str, int]
) -> None:
    found = operators(exported.path, graph)
    fused = {name: count for (_, name), count in found.items() if name.endswith("Attention")}
    assert fused == expected
    assert {domain for domain, _ in found} <= {"", "com.microsoft"}


@pytest.mark.parametrize("graph", GRAPHS)
@pytest.mark.parametrize("target", ["exported", "exported_native", "exported_portable"])
def test_graphs_declare_what_the_manifest_says(
    request: pytest.FixtureRequest, target: str, graph: str
) -> None:
    path = request.getfixturevalue(target).path
    described = Manifest.read(path).graphs[graph]
    proto = onnx.load(path / described.file, load_external_data=False).graph
    # Graphs that make several steps have inputs with defaults, which no reader need give.
    defaults = {value.name for value in proto.initializer}
    inputs = [value for value in proto.input if value.name not in defaults]
    for values, specs in ((inputs, described.inputs), (proto.output, described.outputs)):
        assert [value.name for value in values] == [spec.name for spec in specs]
        for value, spec in zip(values, specs, strict=True):
            tensor = value.type.tensor_type
            sizes = tuple(size.dim_param or size.dim_value for size in tensor.shape.dim)
            dtype = onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type)
            assert (dtype.name, sizes) == (spec.dtype, spec.shape)


# Other runtimes.


class Run:
    """Decodes a few steps with any runtime: `run(graph, inputs)` gives its outputs by name."""

    def __init__(self, directory: Path, kind: str, scratch: Path) -> None:
        self._manifest, self._models = Manifest.read(directory), {}
        for name in GRAPHS:
            file = str(directory / self._manifest.graphs[name].file)
            if kind == "reference":
                self._models[name] = ReferenceEvaluator(onnx.load(file))
                continue
            options = ort.SessionOptions()
            options.intra_op_num_threads = 1
            if kind == "unfused":
                options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
                options.optimized_model_filepath = str(scratch / f"{name}.onnx")
            providers = ["CPUExecutionProvider"]
            self._models[name] = ort.InferenceSession(file, options, providers=providers)

    def __call__(self, graph: str, given: Arrays) -> Arrays:
        described = self._manifest.graphs[graph]
        names = [spec.name for spec in described.outputs]
        inputs = {spec.name: given[spec.name] for spec in described.inputs}
        found = self._models[graph].run(names, inputs)
        return dict(zip(names, map(np.array, found), strict=True))


def decode(run: Run, graph: str) -> list[Arrays]:
    """The outputs of the encoder, of some decoder steps and of the scorer."""
    beams = BEAMS if graph == "decoder" else 1
    batch, rows = len(SOURCE_IDS), len(SOURCE_IDS) * beams
    random = np.random.default_rng(0)
    encoded = run("encoder", {"source_ids": SOURCE_IDS})
    given = {"source_mask": (SOURCE_IDS != 0).astype(np.int32), **encoded}
    caches = {
        f"cache_{kind}_{layer}": np.zeros((rows, 4, LENGTH, 8), np.float32)
        for layer in range(2)
        for kind in ("key", "value")
    }
    cache_beams = np.zeros((batch, beams, LENGTH), np.int32)
    found = [encoded]
    for step in range(STEPS):
        inputs = {
            "target_ids": random.integers(4, 60, rows, np.int32),
            "step": np.array([step], np.int32),
            "beam_size": np.array([beams], np.int32),
            "num_candidates": np.array([7], np.int64),
            "totals": -np.arange(rows, dtype=np.float32).reshape(batch, beams),
            "cache_beams": cache_beams,
        }
        outputs = run(graph, {**inputs, **given, **caches})
        found.append(outputs)
        caches = {name: outputs[f"new_{name}"] for name in caches}
        parents = random.integers(0, beams, (batch, beams), np.int32)
        cache_beams = np.take_along_axis(cache_beams, parents[:, :, None], 1)
        cache_beams[:, :, step] = parents
    target = {
        "target_ids": np.array([[2, 5, 6], [2, 7, 0]], np.int32),
        "labels": np.array([[5, 6, 3], [7, 3, 0]], np.int32),
    }
    scored = run("scorer", {**target, **given})
    # What stands at padding has no meaning.
    found.append({name: value[target["labels"] != 0] for name, value in scored.items()})
    return found


@pytest.fixture(scope="module")
def wanted(exported_portable: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What onnxruntime gives as it is used."""
    run = Run(exported_portable.path, "onnxruntime", tmp_path_factory.mktemp("none"))
    return {graph: decode(run, graph) for graph in ("decoder", "greedy", "greedy_scores")}


@pytest.mark.parametrize("kind", ["reference", "unfused"])
def test_other_runtimes_give_the_same_numbers_at_every_step(
    exported_portable: Any, wanted: dict[str, list[Arrays]], kind: str, tmp_path: Path
) -> None:
    run = Run(exported_portable.path, kind, tmp_path)
    for graph, expected in wanted.items():
        for ours, theirs in zip(decode(run, graph), expected, strict=True):
            assert ours.keys() == theirs.keys()
            for name, value in theirs.items():
                assert ours[name].dtype == value.dtype
                np.testing.assert_allclose(ours[name], value, atol=2e-5, err_msg=name)
    if kind == "unfused":
        # What was run is what was loaded: nothing of com.microsoft came into it.
        for name in GRAPHS:
            assert {domain for domain, _ in operators(tmp_path, name)} == {""}


def test_fused_and_portable_graphs_give_the_same_numbers(
    exported: Any, wanted: dict[str, list[Arrays]], tmp_path: Path
) -> None:
    run = Run(exported.path, "onnxruntime", tmp_path)
    graph = "greedy_scores"
    for ours, theirs in zip(decode(run, graph), wanted[graph], strict=True):
        for name, value in theirs.items():
            np.testing.assert_allclose(ours[name], value, atol=1e-4, err_msg=name)
