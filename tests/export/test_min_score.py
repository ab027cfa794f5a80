"""The threshold of low confidence on its way: manifest, translator, server."""

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from keras_transformer.decoding.options import SearchOptions
from keras_transformer.decoding.translator import Translator
from keras_transformer.export import Manifest, OnnxTranslator
from keras_transformer.export.onnx.export import export_onnx
from keras_transformer.export.server.model import ServedModel


@pytest.fixture(scope="module")
def scored(learned_model: Any, tokenizer: Any, tmp_path_factory: Any) -> Path:
    directory = tmp_path_factory.mktemp("scored") / "artefact"
    return export_onnx(learned_model, tokenizer, directory, min_score=-1e-9)


def flags(translator: Any, texts: list[str]) -> list[bool | None]:
    return [found.low_confidence for [found] in translator.translate_n_best(texts)]


def test_an_artefact_s_threshold_holds_until_another_is_given(
    scored: Path, exported: Any, texts: list[str]
) -> None:
    assert Manifest.read(scored).min_score == -1e-9
    with OnnxTranslator(scored) as own, OnnxTranslator(scored, min_score=-1e9) as given:
        assert flags(own, [*texts[:2], ""]) == [True, True, False]
        assert flags(given, texts[:2]) == [False, False]
        assert own.score(texts[:1], texts[:1])[0].low_confidence is True
    with OnnxTranslator(exported.path) as unknown:
        assert flags(unknown, texts[:1]) == [None]
    with pytest.raises(ValueError, match="at most 0, got 2"):
        OnnxTranslator(scored, min_score=2)


def test_a_manifest_without_a_threshold_is_read(exported: Any) -> None:
    manifest = Manifest.read(exported.path)
    text = dataclasses.replace(manifest, min_score=None).to_json()
    older = text.replace('  "min_score": null,\n', "")
    assert older != text and Manifest.from_json(older) == manifest


def test_the_keras_side_flags_as_well(learned_model: Any, tokenizer: Any, texts: list[str]) -> None:
    assert flags(Translator(learned_model, tokenizer, min_score=-1e-9), texts[:1]) == [True]


def test_the_server_s_explanation_has_the_flag(
    scored: Path, exported: Any, texts: list[str]
) -> None:
    for path, expected in ((scored, True), (exported.path, None)):
        model = ServedModel(path, SearchOptions(max_length=40))
        [[hypothesis]] = model.explain(model.read_text(texts[0]).rows)
        assert hypothesis["low_confidence"] is expected
        model.close()
