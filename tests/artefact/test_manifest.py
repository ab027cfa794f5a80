"""The manifest: what was written is read back, and a damaged artefact is refused before it runs."""

import json
import shutil
from pathlib import Path

import pytest

from keras_transformer.export import Manifest, OnnxTranslator


@pytest.fixture
def copy(exported, tmp_path: Path) -> Path:
    return Path(shutil.copytree(exported.path, tmp_path / "copy"))


def edit(path: Path, **fields: object) -> None:
    """Replaces fields of the manifest, which then has no hash of itself."""
    file = path / "manifest.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), **fields, "sha256": None}))


def test_a_manifest_survives_writing_and_reading(exported, tmp_path: Path) -> None:
    manifest = Manifest.read(exported.path)
    manifest.write(tmp_path)
    assert Manifest.read(tmp_path) == manifest


@pytest.mark.parametrize("name", ["encoder.onnx", "decoder.onnx", "tokenizer.model"])
def test_a_changed_file_is_refused_by_name(copy: Path, name: str) -> None:
    data = bytearray((copy / name).read_bytes())
    data[len(data) // 2] ^= 1
    (copy / name).write_bytes(data)
    with pytest.raises(ValueError, match=name):
        OnnxTranslator(copy)


@pytest.mark.parametrize("name", ["encoder.onnx", "tokenizer.model", "manifest.json"])
def test_a_missing_file_is_refused_by_name(copy: Path, name: str) -> None:
    (copy / name).unlink()
    with pytest.raises(FileNotFoundError, match=name):
        OnnxTranslator(copy)


def test_a_truncated_manifest_is_refused(copy: Path) -> None:
    file = copy / "manifest.json"
    file.write_text(file.read_text()[:-40])
    with pytest.raises(ValueError, match="manifest.json"):
        OnnxTranslator(copy)


def test_another_version_and_format_are_refused(copy: Path) -> None:
    edit(copy, format_version=99)
    with pytest.raises(ValueError, match="99"):
        Manifest.read(copy)
    edit(copy, format_version=1, format="something-else")
    with pytest.raises(ValueError, match="something-else"):
        Manifest.read(copy)


def test_a_file_outside_the_directory_is_refused(copy: Path) -> None:
    graphs = json.loads((copy / "manifest.json").read_text())["graphs"]
    graphs["encoder"]["file"] = "../encoder.onnx"
    edit(copy, graphs=graphs)
    with pytest.raises(ValueError, match="without a folder"):
        Manifest.read(copy)


def test_native_graphs_beside_others_are_checked(exported_fastest, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(exported_fastest.path, tmp_path / "copy"))
    native = json.loads((copy / "manifest.json").read_text())["native"]
    graphs = native["graphs"]
    for wrong, message in (
        ({**native, "graphs": {}}, "native must have some of the graphs encoder, .*got none"),
        ({**native, "graphs": {"head": graphs["encoder"]}}, "some of the graphs .*got head"),
        ({**native, "operators_version": "1"}, "operators_version must be an integer"),
        ({**native, "operators_revision": 2.5}, "operators_revision must be an integer or null"),
        ({"graphs": graphs}, "missing or of the wrong kind.*operators_version"),
        ([], "missing or of the wrong kind"),
    ):
        edit(copy, native=wrong)
        with pytest.raises(ValueError, match=f"manifest.json: .*{message}"):
            Manifest.read(copy)
    edit(copy, native=native, target="portable")
    with pytest.raises(ValueError, match="native must be null unless target is 'onnxruntime'"):
        Manifest.read(copy)
    edit(copy, target="onnxruntime")
    (copy / "native_greedy.onnx").write_bytes(b"")
    with pytest.raises(ValueError, match="native_greedy.onnx has SHA-256"):
        OnnxTranslator(copy)


def test_a_missing_directory_is_told(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="export a model there first"):
        OnnxTranslator(tmp_path / "nothing")
