"""export_onnx: graphs equal Keras, hold standard operators only, and appear whole or not at all."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import keras
import numpy as np
import onnx
import pytest

from keras_transformer.decoding.translator import Translator
from keras_transformer.export import Manifest, OnnxTranslator, export_onnx
from keras_transformer.export.onnx import export as export_module
from keras_transformer.text.tokenizer import Tokenizer, train_tokenizer

VARIANTS: dict[str, dict[str, Any]] = {
    "pre-norm": {"norm": "pre"},
    "target embeddings": {"share_embeddings": "target"},
    "separate embeddings": {"share_embeddings": "none"},
    "learned positions": {"positions": "learned", "max_positions": 40},
    "key and value widths": {"key_dim": 5, "value_dim": 7},
    "gelu, other depths": {"activation": "gelu", "num_encoder_layers": 1, "num_decoder_layers": 3},
}


def ids_of(translator: Any, tokenizer: Tokenizer, texts: list[str], **options: Any) -> list[Any]:
    """The ids of each sentence's hypotheses, from either translator."""
    found = translator.translate_ids(tokenizer.encode(texts), **options)
    return [[list(hypothesis[0]) for hypothesis in sentence] for sentence in found]


def same_results(exported: Path, model: Any, source: Tokenizer, target: Tokenizer, texts) -> None:
    """Both sides give the same ids, greedy and beam, and some of them are not empty."""
    keras_side, runtime = Translator(model, source, target), OnnxTranslator(exported, threads=1)
    for options in ({"max_length": 12}, {"beam_size": 4, "num_hypotheses": 4, "max_length": 12}):
        wanted = ids_of(keras_side, source, texts, **options)
        assert ids_of(runtime, source, texts, **options) == wanted
        assert any(ids for sentence in wanted for ids in sentence)
    assert keras_side.translate(texts[:1]) == runtime.translate(texts[:1])


def test_the_check_against_keras_is_recorded(exported) -> None:
    difference = Manifest.read(exported.path).max_difference
    assert 0 < difference <= 1e-4


@pytest.mark.parametrize("name", ["encoder", "decoder"])
def test_graphs_are_valid_and_hold_standard_operators_only(exported, name: str) -> None:
    graph = Manifest.read(exported.path).graphs[name]
    proto = onnx.load(exported.path / graph.file)
    onnx.checker.check_model(proto, full_check=True)
    assert {node.domain for node in proto.graph.node} <= {"", "ai.onnx"}
    assert [value.name for value in proto.graph.input] == [spec.name for spec in graph.inputs]
    assert [value.name for value in proto.graph.output] == [spec.name for spec in graph.outputs]


def test_ids_and_scores_equal_the_keras_translator(exported, texts: list[str]) -> None:
    keras_side = Translator(exported.model, exported.source_tokenizer)
    runtime = OnnxTranslator(exported.path)
    for beam_size in (1, 4):
        options = {"beam_size": beam_size, "num_hypotheses": beam_size, "max_length": 45}
        wanted = keras_side.translate_n_best(texts, **options)
        found = runtime.translate_n_best(texts, **options)
        for ours, theirs in zip(found, wanted, strict=True):
            assert [one.ids for one in ours] == [one.ids for one in theirs]
            assert [one.text for one in ours] == [one.text for one in theirs]
            np.testing.assert_allclose(
                [(one.score, one.log_probability) for one in ours],
                [(one.score, one.log_probability) for one in theirs],
                atol=1e-4,
            )


@pytest.mark.parametrize("fields", VARIANTS.values(), ids=VARIANTS.keys())
def test_every_variant_exports(
    fields: dict[str, Any],
    make_model: Callable[..., Any],
    tokenizer: Tokenizer,
    texts: list[str],
    tmp_path: Path,
) -> None:
    model = make_model(**fields)
    path = export_onnx(model, tokenizer, tmp_path / "artefact")
    same_results(path, model, tokenizer, tokenizer, texts)


def test_two_vocabularies_export_with_two_tokenizers(
    make_model: Callable[..., Any], tokenizer: Tokenizer, texts: list[str], tmp_path: Path
) -> None:
    target = train_tokenizer(["la casa es roja y el perro corre", *texts], 50, "bpe")
    model = make_model(target_vocab_size=50, share_embeddings="target")
    path = export_onnx(model, tokenizer, tmp_path / "artefact", target_tokenizer=target)
    same_results(path, model, tokenizer, target, texts)


def test_a_bfloat16_model_is_exported_in_float32(
    make_model: Callable[..., Any], tokenizer: Tokenizer, tmp_path: Path
) -> None:
    twin = make_model()
    keras.config.set_dtype_policy("mixed_bfloat16")
    model = make_model()
    keras.config.set_dtype_policy("float32")
    model.set_weights(twin.get_weights())
    path = export_onnx(model, tokenizer, tmp_path / "artefact")
    same_results(path, twin, tokenizer, tokenizer, ["hello", "the red dog"])


def test_an_existing_directory_is_replaced_only_when_asked(
    make_model: Callable[..., Any], tokenizer: Tokenizer, tmp_path: Path
) -> None:
    path = export_onnx(make_model(), tokenizer, tmp_path / "artefact")
    first = Manifest.read(path)
    with pytest.raises(FileExistsError, match="overwrite=True"):
        export_onnx(make_model(), tokenizer, path)
    export_onnx(make_model(norm="pre"), tokenizer, path, overwrite=True)
    second = Manifest.read(path)
    second.verify(path)
    assert (first.config["norm"], second.config["norm"]) == ("post", "pre")
    assert os.listdir(tmp_path) == ["artefact"]


def test_a_directory_that_is_no_artefact_is_never_replaced(
    make_model: Callable[..., Any], tokenizer: Tokenizer, tmp_path: Path
) -> None:
    (tmp_path / "thesis.txt").write_text("years of work")
    with pytest.raises(FileExistsError, match="no artefact"):
        export_onnx(make_model(), tokenizer, tmp_path, overwrite=True)
    assert (tmp_path / "thesis.txt").read_text() == "years of work"


def test_a_failed_export_leaves_nothing_behind(
    make_model: Callable[..., Any],
    tokenizer: Tokenizer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*_: Any) -> float:
        raise ValueError("the numbers differ")

    monkeypatch.setattr(export_module, "check_numbers", fail)
    with pytest.raises(ValueError, match="the numbers differ"):
        export_onnx(make_model(), tokenizer, tmp_path / "artefact")
    assert os.listdir(tmp_path) == []


def test_a_failed_replacement_keeps_the_old_artefact(
    exported, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = Path(shutil.copytree(exported.path, tmp_path / "artefact"))

    def fail(*arguments: Any) -> None:
        (arguments[3] / "encoder.onnx").write_bytes(b"half a graph")
        raise OSError("no space left")

    monkeypatch.setattr(export_module, "_write", fail)
    with pytest.raises(OSError, match="no space left"):
        export_onnx(exported.model, exported.source_tokenizer, path, overwrite=True)
    Manifest.read(path).verify(path)
    assert os.listdir(tmp_path) == ["artefact"]


def test_an_activation_that_onnx_lacks_is_named(
    make_model: Callable[..., Any], tokenizer: Tokenizer, tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match="needs Expm1, which ONNX does not have"):
        export_onnx(make_model(activation="celu"), tokenizer, tmp_path / "artefact")
    assert os.listdir(tmp_path) == []


def test_a_tied_embedding_is_stored_once(exported) -> None:
    proto = onnx.load(exported.path / "decoder.onnx")
    vocabulary = exported.model.config.target_vocab_size
    assert len([one for one in proto.graph.initializer if vocabulary in one.dims]) == 1


def test_a_foreign_tokenizer_and_a_foreign_model_are_refused(
    make_model: Callable[..., Any], tokenizer: Tokenizer, texts: list[str], tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match="tokenizer has 50 ids"):
        export_onnx(make_model(), train_tokenizer(texts, 50, "bpe"), tmp_path / "artefact")
    with pytest.raises(TypeError, match="build_transformer"):
        export_onnx(keras.Sequential([keras.layers.Dense(1)]), tokenizer, tmp_path / "artefact")
    with pytest.raises(ValueError, match="opset must be at least 18"):
        export_onnx(make_model(), tokenizer, tmp_path / "artefact", opset=17)
