"""Sessions are opened with a valid number of threads and only for the graphs that are described."""

import dataclasses
from typing import Any

import onnxruntime
import pytest

from keras_transformer.export import Manifest
from keras_transformer.export.manifest import GRAPHS
from keras_transformer.export.runtime import sessions
from keras_transformer.export.runtime.sessions import available_cores, open_session, saturates_bytes


@pytest.fixture(scope="module")
def manifest(exported: Any) -> Manifest:
    return Manifest.read(exported.path)


@pytest.mark.parametrize("threads", [1.5, True, "2"])
def test_threads_of_another_type_are_refused(
    exported: Any, manifest: Manifest, threads: Any
) -> None:
    with pytest.raises(TypeError, match=f"threads must be an integer or None, got {threads!r}"):
        open_session(manifest, exported.path, "encoder", threads)


@pytest.mark.parametrize("threads", [0, -1])
def test_too_few_threads_are_refused(exported: Any, manifest: Manifest, threads: int) -> None:
    with pytest.raises(ValueError, match=f"threads must be at least 1, got {threads}"):
        open_session(manifest, exported.path, "encoder", threads)


@pytest.mark.parametrize(("threads", "expected"), [(None, available_cores()), (3, 3)])
@pytest.mark.parametrize("graph", GRAPHS)
def test_threads_reach_the_session(
    exported: Any, manifest: Manifest, graph: str, threads: int | None, expected: int
) -> None:
    session = open_session(manifest, exported.path, graph, threads)
    assert session.get_session_options().intra_op_num_threads == expected
    assert session.get_providers() == ["CPUExecutionProvider"]


def test_an_ordinary_session_lives_beside_ours(exported: Any, manifest: Manifest) -> None:
    kept = [open_session(manifest, exported.path, graph) for graph in GRAPHS]
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
        open_session(wrong, exported.path, graph, threads=1)


def test_a_graph_may_leave_unnamed_what_the_manifest_names(exported: Any, tmp_path: Any) -> None:
    import onnx

    model = onnx.load(exported.path / "encoder.onnx")
    for value in (*model.graph.input, *model.graph.output):
        for size in value.type.tensor_type.shape.dim:
            if size.dim_param:
                size.Clear()
    onnx.save(model, tmp_path / "encoder.onnx")
    assert open_session(Manifest.read(exported.path), tmp_path, "encoder", threads=1)


def test_only_int8_goes_the_slower_way_round_saturation(
    exported: Any, manifest: Manifest, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = "session.x64quantprecision"
    monkeypatch.setattr(sessions, "saturates_bytes", lambda: True)
    for precision in ("int8", "int8_batch_dependent"):
        described = dataclasses.replace(manifest, precision=precision)
        options = open_session(described, exported.path, "greedy").get_session_options()
        assert options.get_session_config_entry(key) == "1"
    # Bytes of float32 graphs are small enough.
    options = open_session(manifest, exported.path, "greedy").get_session_options()
    with pytest.raises(RuntimeError):
        options.get_session_config_entry(key)


@pytest.mark.parametrize(
    ("machine", "flags", "expected"),
    [
        ("x86_64", "flags : avx2 avx512_vnni", False),
        ("x86_64", "flags : avx2 avx_vnni", False),
        ("x86_64", "flags : avx2 avx512f", True),
        ("AMD64", None, True),
        ("aarch64", None, False),
    ],
)
def test_processors_that_cut_off_sums_of_bytes_are_told_apart(
    machine: str, flags: str | None, expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read(*_: Any, **__: Any) -> str:
        if flags is None:
            raise FileNotFoundError("/proc/cpuinfo")
        return flags

    monkeypatch.setattr("platform.machine", lambda: machine)
    monkeypatch.setattr("pathlib.Path.read_text", read)
    saturates_bytes.cache_clear()
    try:
        assert saturates_bytes() is expected
    finally:
        saturates_bytes.cache_clear()
