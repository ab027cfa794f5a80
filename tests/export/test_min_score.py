"""The threshold of low confidence on its way: manifest, translator, server."""

import dataclasses
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from served_models import answer, open_served

from keras_transformer.decoding.translator import Translator
from keras_transformer.export import Manifest, OnnxTranslator
from keras_transformer.export.onnx.export import export_onnx
from keras_transformer.export.saved_model.export import export_saved_model
from keras_transformer.search.confidence import token_score
from keras_transformer.serving.settings import ServeOptions


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
    older = re.sub(r'(?m)^  "(?:min_score|sha256)": .*,?\n', "", text)
    assert (
        "min_score" in text and "min_score" not in older and Manifest.from_json(older) == manifest
    )


@pytest.mark.exhaustive
def test_the_keras_side_flags_as_well(learned_model: Any, tokenizer: Any, texts: list[str]) -> None:
    assert flags(Translator(learned_model, tokenizer, min_score=-1e-9), texts[:1]) == [True]


def test_the_server_s_explanation_has_the_flag(
    scored: Path, exported: Any, texts: list[str]
) -> None:
    for path, expected in ((scored, True), (exported.path, None)):
        model = open_served(path, {"max_length": 40})
        [[hypothesis]] = model.explain(model.read_text(texts[0]).rows)
        assert hypothesis["low_confidence"] is expected
        model.close()


BEAM = {"max_length": 40, "beam_size": 3, "num_hypotheses": 2}


def served(model: Any, name: str, texts: list[str]) -> dict[str, np.ndarray]:
    outputs = answer(model, name, text=texts)
    assert list(outputs) == [spec.name for spec in model.signatures[name].outputs]
    return outputs


@pytest.fixture(scope="module")
def middle(exported: Any, texts: list[str]) -> tuple[float, list[list[bool]]]:
    """A threshold between the texts' scores, and the flags that it gives."""
    with OnnxTranslator(exported.path) as translator:
        found = translator.translate_n_best([*texts[:5], ""], **BEAM)
    scores = [[token_score(one.ids, one.log_probability) for one in row] for row in found]
    ordered = sorted(score for row in scores for score in row)
    threshold = (ordered[4] + ordered[5]) / 2
    flags = [[score < threshold for score in row] for row in scores]
    flags[-1].append(False)  # The empty text has one hypothesis; none is missing with doubt.
    assert {flag for row in flags for flag in row} == {True, False}
    return threshold, flags


def test_the_server_s_hypotheses_have_the_flag_where_a_threshold_is_known(
    exported: Any, texts: list[str], middle: tuple[float, list[list[bool]]]
) -> None:
    threshold, expected = middle
    asked = [*texts[:5], ""]
    model = open_served(exported.path, BEAM, min_score=threshold)
    assert served(model, "translate_n_best", asked)["low_confidence"].tolist() == expected
    both = served(model, "translate_sentences", [f"{texts[0]}\n{texts[1]}", ""])
    best = [expected[0][0], expected[1][0]]
    assert both["low_confidence"].tolist() == [best, [False, False]]
    whole = served(model, "translate_n_best", [f"{texts[0]}\n{texts[1]}"])
    assert whole["low_confidence"][0, 0] == any(best)
    model.close()
    unknown = open_served(exported.path, BEAM)
    for name in ("translate_n_best", "translate_sentences"):
        assert "low_confidence" not in served(unknown, name, asked)
    unknown.close()


@pytest.mark.exhaustive
def test_a_saved_model_s_hypotheses_have_the_flag(
    learned_model: Any,
    tokenizer: Any,
    texts: list[str],
    middle: tuple[float, list[list[bool]]],
    tmp_path: Path,
) -> None:
    import tensorflow as tf

    threshold, expected = middle
    options = {**BEAM, "tokenizer": tokenizer, "min_score": threshold}
    path = export_saved_model(learned_model, tmp_path, **options)
    translate = tf.saved_model.load(str(path)).signatures["translate_n_best"]
    found = translate(text=tf.constant([*texts[:5], ""]))
    assert found["low_confidence"].numpy().tolist() == expected
    with pytest.raises(ValueError, match="at most 0, got 1"):
        export_saved_model(learned_model, tmp_path / "other", **{**options, "min_score": 1.0})


def test_a_server_refuses_what_is_no_threshold(exported: Any) -> None:
    with pytest.raises(ValueError, match="at most 0, got 2"):
        ServeOptions(artefact=exported.path, min_score=2.0)
