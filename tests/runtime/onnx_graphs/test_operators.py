"""The library of our operators is found where it was compiled; where it was not, a message says
what to do before anything else happens."""

import dataclasses
import logging
import platform
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import onnx
import onnxruntime
import pytest
from fresh_process import python

from keras_transformer.artefact.files import ArtefactFiles
from keras_transformer.export import Manifest, OnnxTranslator, export_onnx
from keras_transformer.runtime.onnx_graphs import operators
from keras_transformer.runtime.onnx_graphs.operators import (
    operators_library,
    operators_revision,
    operators_version,
)
from keras_transformer.runtime.onnx_graphs.sessions import open_session


@pytest.fixture
def uncompiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the package had been installed without a compiler."""
    monkeypatch.setattr(operators, "_NAME", "_absent")


@pytest.mark.skipif(shutil.which("g++") is None, reason="no compiler")
def test_it_is_compiled_where_a_compiler_is() -> None:
    options = onnxruntime.SessionOptions()
    options.register_custom_ops_library(str(operators_library()))
    assert operators_library().name == "_operators.so"


@pytest.mark.skipif(shutil.which("nm") is None, reason="no nm")
def test_every_version_of_python_may_use_it() -> None:
    needed = subprocess.check_output(
        ["nm", "-D", "--undefined-only", operators_library()], text=True
    )
    assert "memcpy" in needed and "Py" not in needed


def test_many_sessions_may_register_it(exported_native: Any) -> None:
    first, second = (OnnxTranslator(exported_native.path, threads=1) for _ in range(2))
    first.close()
    assert second.translate(["hello"], max_length=5) == second.translate(["hello"], max_length=5)


def test_an_artefact_that_needs_it_is_refused_without(
    exported_native: Any, uncompiled: None
) -> None:
    # The encoder is opened with the translator, so that nothing has begun yet.
    with pytest.raises(ImportError, match='export with target="onnxruntime"'):
        OnnxTranslator(exported_native.path)


def test_nothing_is_exported_without_it(exported: Any, tmp_path: Path, uncompiled: None) -> None:
    with pytest.raises(ImportError, match=r"install it from source with GCC 12 or clang 14"):
        export_onnx(exported.model, exported.source_tokenizer, tmp_path / "a", target="native")
    assert list(tmp_path.iterdir()) == []


def test_the_command_line_says_so_in_one_line(exported_native: Any, tmp_path: Path) -> None:
    program = (
        "import sys; from keras_transformer.runtime.onnx_graphs import operators; "
        "operators._NAME = '_absent'; from keras_transformer.cli import main; "
        f"sys.exit(main(['translate', {str(exported_native.path)!r}]))"
    )
    done = python("-c", program, fails=True, given="hello\n")
    assert done.returncode == 1
    assert "they are not here" in done.stderr
    assert "Traceback" not in done.stderr


def test_an_artefact_records_the_version_that_it_needs(exported_native: Any, exported: Any) -> None:
    assert Manifest.read(exported_native.path).operators_version == operators_version()
    assert Manifest.read(exported.path).operators_version is None


def test_an_artefact_of_another_version_is_refused(exported_native: Any) -> None:
    manifest = Manifest.read(exported_native.path)
    other = dataclasses.replace(manifest, operators_version=operators_version() + 1)
    found = operators_version()
    with pytest.raises(
        ImportError, match=rf"for version {found + 1} .*version {found} is installed"
    ):
        open_session(other, ArtefactFiles(exported_native.path), "encoder")


def test_an_artefact_of_a_later_revision_is_refused(
    exported_native: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    manifest = Manifest.read(exported_native.path)
    assert manifest.operators_revision == operators_revision()
    first = dataclasses.replace(manifest, operators_revision=None)
    assert open_session(first, ArtefactFiles(exported_native.path), "encoder")
    monkeypatch.setattr(operators, "operators_revision", lambda: 1)
    assert open_session(first, ArtefactFiles(exported_native.path), "encoder")
    with pytest.raises(
        ImportError, match=r"for revision \d+ .*revision 1 is installed: update this package"
    ):
        open_session(manifest, ArtefactFiles(exported_native.path), "encoder")


def test_an_artefact_without_a_version_is_of_the_first(
    exported_native: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    manifest = Manifest.read(exported_native.path)
    first = dataclasses.replace(manifest, operators_version=None)
    assert open_session(first, ArtefactFiles(exported_native.path), "encoder")
    monkeypatch.setattr(operators, "operators_version", lambda: 2)
    with pytest.raises(ImportError, match="for version 1 .*version 2 is installed"):
        open_session(first, ArtefactFiles(exported_native.path), "encoder")


def open_directly(model: onnx.ModelProto, directory: Path) -> onnxruntime.InferenceSession:
    """As another program does, which reads no manifest: `directory` has the weights."""
    path = directory / "graph.onnx"
    onnx.save(model, path)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.register_custom_ops_library(str(operators_library()))
    return onnxruntime.InferenceSession(str(path), options)


@pytest.fixture
def graph(exported_native: Any, tmp_path: Path) -> onnx.ModelProto:
    """The encoder, with its weights in `tmp_path`."""
    shutil.copy(exported_native.path / "weights.bin", tmp_path)
    return onnx.load(exported_native.path / "encoder.onnx", load_external_data=False)


def versions_of(model: onnx.ModelProto) -> list[onnx.AttributeProto]:
    attributes = [a for node in model.graph.node for a in node.attribute]
    return [attribute for attribute in attributes if attribute.name == "operators_version"]


def test_graphs_record_the_version_in_their_domain_and_nodes(graph: onnx.ModelProto) -> None:
    [domain] = [entry for entry in graph.opset_import if entry.domain == "keras_transformer"]
    own = [node for node in graph.graph.node if node.domain == domain.domain]
    assert domain.version == operators_version()
    assert [found.i for found in versions_of(graph)] == [operators_version()] * len(own)


@pytest.mark.parametrize("more", [-1, 1])
def test_a_graph_of_another_version_is_refused_without_its_manifest(
    graph: onnx.ModelProto, tmp_path: Path, more: int
) -> None:
    found = operators_version()
    for recorded in versions_of(graph):
        recorded.i = found + more
    with pytest.raises(Exception, match=f"for version {found + more} .*version {found} is instal"):
        open_directly(graph, tmp_path)


def test_a_graph_that_records_no_version_is_of_the_first(
    graph: onnx.ModelProto, tmp_path: Path
) -> None:
    for node in graph.graph.node:
        kept = [a for a in node.attribute if a.name != "operators_version"]
        del node.attribute[:]
        node.attribute.extend(kept)
    assert operators_version() == 1 and open_directly(graph, tmp_path)


@pytest.mark.parametrize("content", [b"", b"no library", "another"])
def test_a_library_that_cannot_be_loaded_is_named(
    exported_native: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes | str
) -> None:
    path = tmp_path / "_operators.so"
    if content == "another":  # a library, but without what ours has
        content = Path(onnxruntime.capi.onnxruntime_pybind11_state.__file__).read_bytes()
    path.write_bytes(content)
    monkeypatch.setattr(operators, "operators_library", lambda: path)
    with pytest.raises(ImportError, match=f"{path} cannot be used.*install this package again"):
        open_session(
            Manifest.read(exported_native.path), ArtefactFiles(exported_native.path), "encoder"
        )


def test_instructions_that_there_are_not_are_refused(
    exported_native: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Another library to the system, which reads the environment anew.
    copy = shutil.copy(operators_library(), tmp_path / "operators.so")
    monkeypatch.setattr(operators, "operators_library", lambda: copy)
    monkeypatch.setenv("KERAS_TRANSFORMER_MAX_ISA", "avx")
    with pytest.raises(ValueError, match='must be portable, .*got "avx"'):
        open_session(
            Manifest.read(exported_native.path), ArtefactFiles(exported_native.path), "encoder"
        )


@pytest.mark.parametrize("slow", [True, False])
def test_slow_kernels_are_told_once(
    exported_native: Any, monkeypatch: pytest.MonkeyPatch, caplog: Any, slow: bool
) -> None:
    monkeypatch.setattr(operators, "instructions", lambda: "portable" if slow else "avx2")
    operators._tell_that_they_are_slow.cache_clear()
    manifest = Manifest.read(exported_native.path)
    with caplog.at_level(logging.WARNING):
        for graph in ("encoder", "greedy"):
            open_session(manifest, ArtefactFiles(exported_native.path), graph)
    assert ["no fast kernels" in record.getMessage() for record in caplog.records] == [True] * slow


def test_an_export_tells_of_slow_kernels(
    exported: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: Any
) -> None:
    monkeypatch.setattr(operators, "instructions", lambda: "portable")
    operators._tell_that_they_are_slow.cache_clear()
    with pytest.raises(FileExistsError):  # it is told before any work is done
        export_onnx(exported.model, exported.source_tokenizer, tmp_path, target="native")
    assert "no fast kernels" in caplog.text


@pytest.mark.skipif(
    sys.platform != "linux" or platform.machine() != "x86_64", reason="other processors"
)
def test_what_the_kernels_use_is_what_the_processor_has() -> None:
    flags = Path("/proc/cpuinfo").read_text().split("flags")[1].split("\n")[0].split()
    if {"amx_tile", "amx_int8"} <= set(flags):
        expected = "amx"
    elif {"avx512_vnni", "avx512vl", "avx512_bf16"} <= set(flags):
        expected = "bf16"
    elif {"avx512_vnni", "avx512vl"} <= set(flags):
        expected = "vnni"
    elif {"avx_vnni", "fma"} <= set(flags):
        expected = "avxvnni"
    else:
        expected = "avx2" if {"avx2", "fma"} <= set(flags) else "portable"
    assert operators.instructions() == expected
