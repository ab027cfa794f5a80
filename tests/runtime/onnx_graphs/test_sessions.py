"""Sessions are opened with a valid number of threads and only for the graphs that are described."""

import dataclasses
from typing import Any

import onnxruntime
import pytest

from keras_transformer.artefact.files import ArtefactFiles
from keras_transformer.artefact.manifest import GRAPHS, sha256_of
from keras_transformer.cores import available_cores
from keras_transformer.export import Manifest
from keras_transformer.runtime.onnx_graphs.sessions import open_session


@pytest.fixture(scope="module")
def manifest(exported: Any) -> Manifest:
    return Manifest.read(exported.path)


@pytest.mark.parametrize("threads", [1.5, True, "2"])
def test_threads_of_another_type_are_refused(
    exported: Any, manifest: Manifest, threads: Any
) -> None:
    with pytest.raises(TypeError, match=f"threads must be an integer or None, got {threads!r}"):
        open_session(manifest, ArtefactFiles(exported.path), "encoder", threads)


@pytest.mark.parametrize("threads", [0, -1])
def test_too_few_threads_are_refused(exported: Any, manifest: Manifest, threads: int) -> None:
    with pytest.raises(ValueError, match=f"threads must be at least 1, got {threads}"):
        open_session(manifest, ArtefactFiles(exported.path), "encoder", threads)


@pytest.mark.parametrize(("threads", "expected"), [(None, available_cores()), (3, 3)])
@pytest.mark.parametrize("graph", GRAPHS)
def test_threads_reach_the_session(
    exported: Any, manifest: Manifest, graph: str, threads: int | None, expected: int
) -> None:
    session = open_session(manifest, ArtefactFiles(exported.path), graph, threads)
    assert session.get_session_options().intra_op_num_threads == expected
    assert session.get_providers() == ["CPUExecutionProvider"]


def test_an_ordinary_session_lives_beside_ours(exported: Any, manifest: Manifest) -> None:
    kept = [open_session(manifest, ArtefactFiles(exported.path), graph) for graph in GRAPHS]
    onnxruntime.InferenceSession(exported.path / manifest.graphs["encoder"].file)
    assert kept


@pytest.mark.parametrize("graph", GRAPHS)
def test_outputs_in_another_order_are_refused(
    exported: Any, manifest: Manifest, graph: str
) -> None:
    described = manifest.graphs[graph]
    swapped = dataclasses.replace(described, outputs=described.outputs[::-1])
    wrong = dataclasses.replace(manifest, graphs={**manifest.graphs, graph: swapped})
    with pytest.raises(ValueError, match=f"{graph}.onnx has the outputs .*manifest.*export"):
        open_session(wrong, ArtefactFiles(exported.path), graph, threads=1)


def test_a_graph_may_leave_unnamed_what_the_manifest_names(exported: Any, tmp_path: Any) -> None:
    import onnx

    model = onnx.load(exported.path / "encoder.onnx")
    for value in (*model.graph.input, *model.graph.output):
        for size in value.type.tensor_type.shape.dim:
            if size.dim_param:
                size.Clear()
    onnx.save(model, tmp_path / "encoder.onnx")
    manifest = Manifest.read(exported.path)
    changed = sha256_of(tmp_path / "encoder.onnx")
    graph = dataclasses.replace(manifest.graphs["encoder"], sha256=changed)
    manifest = dataclasses.replace(manifest, graphs={**manifest.graphs, "encoder": graph})
    assert open_session(manifest, ArtefactFiles(tmp_path), "encoder", threads=1)
