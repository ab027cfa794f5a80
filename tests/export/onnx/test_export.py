"""export_onnx: what it writes agrees with Keras, and it appears whole or not at all."""

import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import keras
import numpy as np
import onnx
import pytest

from keras_transformer.artefact.manifest import GRAPHS
from keras_transformer.export import Manifest, OnnxTranslator, export_onnx
from keras_transformer.export.onnx import export as export_module
from keras_transformer.runtime.onnx_graphs import operators
from keras_transformer.text.tokenizer import Tokenizer, train_tokenizer


@pytest.fixture(scope="module")
def small_model(make_model: Callable[..., Any]) -> Any:
    """The least that can be exported."""
    return make_model(model_dim=8, feed_forward_dim=8, num_heads=1, num_decoder_layers=1)


@pytest.mark.parametrize(
    ("fixture", "target"),
    [
        ("exported", None),
        ("exported_native", None),
        ("exported_portable", None),
        ("exported_fastest", "onnxruntime"),
        ("exported_fastest", "native"),
    ],
)
def test_ids_and_scores_equal_the_keras_translator(
    request: pytest.FixtureRequest,
    fixture: str,
    target: str | None,
    keras_side: Any,
    texts: list[str],
) -> None:
    runtime = OnnxTranslator(request.getfixturevalue(fixture).path, threads=1, target=target)
    for beam_size in (1, 4):
        options = {"beam_size": beam_size, "num_hypotheses": beam_size, "max_length": 45}
        wanted = keras_side.translate_n_best(texts, **options)
        found = runtime.translate_n_best(texts, **options)
        for ours, theirs in zip(found, wanted, strict=True):
            assert [one.ids for one in ours] == [one.ids for one in theirs]
            assert [one.text for one in ours] == [one.text for one in theirs]
            numbers = [[(one.score, one.log_probability) for one in few] for few in (ours, theirs)]
            np.testing.assert_allclose(*numbers, atol=1e-4)


def test_the_manifest_says_what_was_written(
    exported: Any, exported_native: Any, exported_portable: Any, exported_fastest: Any
) -> None:
    for targets, made in (
        (["onnxruntime"], exported),
        (["native"], exported_native),
        (["portable"], exported_portable),
        (["native", "onnxruntime"], exported_fastest),
    ):
        manifest = Manifest.read(made.path)
        assert list(manifest.targets) == targets
        assert manifest.target == targets[-1]
        assert (manifest.precision, manifest.opset, manifest.fallback) == ("float32", 18, None)
        assert 0 < manifest.max_difference <= 1e-4
        assert manifest.config == made.model.config.to_dict()
        names = {entry.file for entry in manifest.files}
        assert {*names, "manifest.json"} == set(os.listdir(made.path))
        assert manifest.tokenizers["source"] == manifest.tokenizers["target"]


@pytest.mark.parametrize("graph", GRAPHS)
def test_all_targets_keep_one_contract(
    exported: Any, exported_native: Any, exported_portable: Any, graph: str
) -> None:
    fused, *others = (
        Manifest.read(one.path).graphs[graph]
        for one in (exported, exported_native, exported_portable)
    )
    for other in others:
        assert (fused.inputs, fused.outputs) == (other.inputs, other.outputs)


def test_graphs_for_both_targets_share_their_weights(
    exported: Any, exported_native: Any, exported_fastest: Any
) -> None:
    both, alone, other = (
        (one.path / "weights.bin").stat().st_size
        for one in (exported_fastest, exported, exported_native)
    )
    # Biases that lie elsewhere, and bytes that find our greedy search's candidates.
    assert both < 1.1 * max(alone, other)


def test_without_our_operators_the_fastest_are_onnxruntime_s(
    small_model: Any, tokenizer: Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(operators, "_NAME", "_absent")
    manifest = Manifest.read(export_onnx(small_model, tokenizer, tmp_path / "artefact"))
    assert manifest.targets == ("onnxruntime",)
    assert manifest.fallback is not None and "compiled when the package" in manifest.fallback


def test_a_tied_embedding_is_stored_once(exported: Any) -> None:
    for graph in ("decoder", "greedy"):
        proto = onnx.load(exported.path / f"{graph}.onnx", load_external_data=False)
        vocabulary = exported.model.config.target_vocab_size
        assert len([one for one in proto.graph.initializer if vocabulary in one.dims]) == 1


def test_two_tokenizers_are_stored_for_two_vocabularies(
    make_model: Callable[..., Any], tokenizer: Tokenizer, texts: list[str], tmp_path: Path
) -> None:
    target = train_tokenizer(["la casa es roja y el perro corre", *texts], 50, "bpe")
    sizes = {"model_dim": 8, "feed_forward_dim": 8, "num_heads": 1, "num_decoder_layers": 1}
    model = make_model(target_vocab_size=50, share_embeddings="target", **sizes)
    path = export_onnx(model, tokenizer, tmp_path / "artefact", target_tokenizer=target)
    tokenizers = Manifest.read(path).tokenizers
    for side, written in (("source", tokenizer), ("target", target)):
        assert (path / tokenizers[side].file).read_bytes() == written.model
    [[found]] = OnnxTranslator(path, threads=1).translate_n_best(["hello"], max_length=9)
    assert found.text == target.decode([found.ids])[0]


@pytest.mark.exhaustive
def test_a_bfloat16_model_is_exported_in_float32(
    exported: Any, make_model: Callable[..., Any], texts: list[str], tmp_path: Path
) -> None:
    keras.config.set_dtype_policy("mixed_bfloat16")
    model = make_model()
    model.set_weights(exported.model.get_weights())
    path = export_onnx(
        model, exported.source_tokenizer, tmp_path / "artefact", target="onnxruntime"
    )
    assert keras.config.dtype_policy().name == "mixed_bfloat16"
    assert Manifest.read(path).weights == Manifest.read(exported.path).weights
    found, wanted = (OnnxTranslator(one, threads=1) for one in (path, exported.path))
    assert found.translate(texts, beam_size=2) == wanted.translate(texts, beam_size=2)


# The directory.


def test_an_existing_artefact_is_replaced_only_when_asked(
    exported: Any, small_model: Any, tmp_path: Path
) -> None:
    path = Path(shutil.copytree(exported.path, tmp_path / "artefact"))
    with pytest.raises(FileExistsError, match="exists: choose another directory, or overwrite"):
        export_onnx(small_model, exported.source_tokenizer, path)
    assert Manifest.read(path) == Manifest.read(exported.path)
    found = export_onnx(small_model, exported.source_tokenizer, str(path), overwrite=True)
    assert found == path
    Manifest.read(path).verify(path)
    assert Manifest.read(path).config["model_dim"] == 8
    assert os.listdir(tmp_path) == ["artefact"]


def test_a_directory_that_is_no_artefact_is_never_replaced(
    small_model: Any, tokenizer: Tokenizer, tmp_path: Path
) -> None:
    (tmp_path / "thesis.txt").write_text("years of work")
    with pytest.raises(FileExistsError, match="not an artefact"):
        export_onnx(small_model, tokenizer, tmp_path, overwrite=True)
    assert (tmp_path / "thesis.txt").read_text() == "years of work"


def fail_half_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets the disk run full while an artefact is written."""

    def fail(*arguments: Any) -> None:
        [directory] = [one for one in arguments if isinstance(one, Path)]
        (directory / "encoder.onnx").write_bytes(b"half a graph")
        raise OSError("no space left")

    monkeypatch.setattr(export_module, "_write", fail)


def test_a_failed_export_leaves_nothing_behind(
    small_model: Any, tokenizer: Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fail_half_way(monkeypatch)
    with pytest.raises(OSError, match="no space left"):
        export_onnx(small_model, tokenizer, tmp_path / "artefact")
    assert os.listdir(tmp_path) == []


def test_a_failed_replacement_keeps_the_old_artefact(
    exported: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = Path(shutil.copytree(exported.path, tmp_path / "artefact"))
    fail_half_way(monkeypatch)
    with pytest.raises(OSError, match="no space left"):
        export_onnx(exported.model, exported.source_tokenizer, path, overwrite=True)
    Manifest.read(path).verify(path)
    assert os.listdir(tmp_path) == ["artefact"]


# What cannot be exported.


def test_an_activation_that_onnx_lacks_is_named(
    make_model: Callable[..., Any], tokenizer: Tokenizer, tmp_path: Path
) -> None:
    sizes = {"model_dim": 8, "feed_forward_dim": 8, "num_heads": 1, "num_decoder_layers": 1}
    with pytest.raises(ValueError, match="needs Expm1, which ONNX does not have"):
        export_onnx(make_model(activation="celu", **sizes), tokenizer, tmp_path / "artefact")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"opset": 17}, "opset must be at least 18, got 17"),
        ({"opset": 99}, r"opset must be at most \d+, .* onnx and onnxruntime read .*, got 99"),
        ({"opset": 19, "target": "portable"}, "opset must be at most 18 for .*tf2onnx.*, got 19"),
        (
            {"target": "tensorrt"},
            "target must be one of fastest, onnxruntime, native, portable, got 'tensorrt'",
        ),
        ({"quantize": "int3"}, "quantize must be one of .*int8.*, got 'int3'"),
        ({"quantize": "int8", "target": "portable"}, "quantize='int8' needs onnxruntime"),
        (
            {"quantize": "bfloat16", "target": "onnxruntime"},
            "quantize='bfloat16' needs .* own operators.*'onnxruntime'",
        ),
    ],
    ids=str,
)
def test_wrong_options_are_named(
    small_model: Any, tokenizer: Tokenizer, tmp_path: Path, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        export_onnx(small_model, tokenizer, tmp_path / "artefact", **options)
    assert os.listdir(tmp_path) == []


@pytest.mark.exhaustive
def test_graphs_of_the_newest_operator_set_are_those_of_keras(
    small_model: Any, tokenizer: Tokenizer, tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match="opset must be at most") as refusal:
        export_onnx(small_model, tokenizer, tmp_path, opset=99)
    [newest] = re.findall(r"at most (\d+)", str(refusal.value))
    path = export_onnx(small_model, tokenizer, tmp_path / "artefact", opset=int(newest))
    assert Manifest.read(path).opset == int(newest)


def test_a_foreign_tokenizer_and_a_foreign_model_are_refused(
    small_model: Any, tokenizer: Tokenizer, texts: list[str], tmp_path: Path
) -> None:
    other = train_tokenizer(texts, 50, "bpe")
    with pytest.raises(ValueError, match="source tokenizer has 50 ids.*source_vocab_size is 60"):
        export_onnx(small_model, other, tmp_path / "artefact")
    with pytest.raises(ValueError, match="target tokenizer has 50 ids.*target_vocab_size is 60"):
        export_onnx(small_model, tokenizer, tmp_path / "artefact", target_tokenizer=other)
    with pytest.raises(TypeError, match="build_transformer"):
        export_onnx(keras.Sequential([keras.layers.Dense(1)]), tokenizer, tmp_path / "artefact")
