"""Translators of Marian and Hugging Face, read: ids, probabilities and searches are theirs, in
Keras and in every exported form.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from keras_transformer import OnnxTranslator, Translator
from keras_transformer.export import export_onnx
from keras_transformer.translation.translator import TextTranslator

TARGETS = ("portable", "onnxruntime", "native")


@pytest.fixture(scope="module")
def keras_translator(given: Any) -> Translator:
    return Translator(given.model, given.source, given.target)


@pytest.fixture(scope="module", params=TARGETS)
def onnx_translator(
    request: pytest.FixtureRequest, given: Any, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[OnnxTranslator]:
    path = tmp_path_factory.mktemp("exported") / "model"
    export_onnx(
        given.model, given.source, path, target_tokenizer=given.target, target=request.param
    )
    with OnnxTranslator(path, threads=1) as translator:
        yield translator


def test_there_are_models_of_every_kind(translators: Path) -> None:
    found = {path.name for path in translators.iterdir()}
    assert {"marian", "marian_huggingface", "t5", "mbart50", "m2m100", "nllb"} <= found


def test_ids_are_theirs(given: Any) -> None:
    begins, eos = given.model.config.marks.begins(), given.model.config.special_ids.eos
    for side, tokenizer, begin in (
        ("source", given.source, begins.source),
        ("target", given.target, begins.target),
    ):
        theirs = given.reference[f"{side}_ids"]
        ours = tokenizer.encode(given.reference[f"{side}s"])
        assert [[*begin, *row, eos] for row in ours] == theirs
    assert given.source.encode(given.reference["hostile"]) == given.reference["hostile_ids"]


def check(translator: TextTranslator, given: Any) -> None:
    """Compares log-probabilities and searches."""
    reference = given.reference
    scored = translator.score(reference["sources"], reference["targets"])
    found = [one.log_probability for one in scored]
    np.testing.assert_allclose(found, reference["log_probabilities"], atol=1e-4)
    for beam_size in (1, 4):
        results = translator.translate_n_best(
            reference["sources"], beam_size=beam_size, **given.limits
        )
        theirs = [until_eos(ids, given) for ids in reference[f"beam_{beam_size}"]]
        assert [found[0].ids for found in results] == theirs


def until_eos(ids: Sequence[int], given: Any) -> list[int]:
    eos = given.model.config.special_ids.eos
    return list(ids[: ids.index(eos)] if eos in ids else ids)


def test_probabilities_and_searches_in_keras_are_theirs(
    given: Any, keras_translator: Translator
) -> None:
    check(keras_translator, given)


def test_probabilities_and_searches_of_exported_graphs_are_theirs(
    given: Any, onnx_translator: OnnxTranslator
) -> None:
    check(onnx_translator, given)


def test_texts_hold_no_mark(given: Any, keras_translator: Translator) -> None:
    texts = keras_translator.translate(given.reference["sources"][:4], max_length=12)
    codes = given.model.config.marks.languages
    for text in texts:
        assert not any(code in text for code in codes)
        assert "<" not in text or "</s>" not in text
