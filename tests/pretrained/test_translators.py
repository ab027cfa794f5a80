"""Translators of Marian and Hugging Face, read: ids, probabilities and searches are theirs, in
Keras and in every exported form.
"""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from served_models import answer, open_served

from keras_transformer import OnnxTranslator, Translator, from_pretrained
from keras_transformer.export import export_onnx, export_saved_model
from keras_transformer.translation.translator import TextTranslator

FOLDER = Path(__file__).parents[1] / "fixtures" / "translators"
NAMES = sorted(path.name for path in FOLDER.iterdir() if path.is_dir())
# By default every model is exported for one target; Keras's searches, which take their time to be
# traced, are tried with one model, and tf2onnx, which takes its own, with none.
# One of each kind of blocks, and one of each form of special tokens.
QUICK = {
    *((name, "native") for name in ("bart", "marian", "marian_ssru_pre_norm", "nllb", "t5gemma")),
    *((name, "onnxruntime") for name in ("fsmt", "longt5", "mbart50", "opennmt")),
}
EXPORTED = [
    *(
        pytest.param(
            name,
            target,
            marks=() if (name, target) in QUICK else pytest.mark.exhaustive,
        )
        for name in NAMES
        for target in ("onnxruntime", "native")
    ),
    *(pytest.param(name, "portable", marks=pytest.mark.exhaustive) for name in NAMES),
]
IN_KERAS = [
    pytest.param(name, marks=() if name == "nllb" else pytest.mark.exhaustive) for name in NAMES
]


@pytest.fixture(scope="module")
def keras_translator(given: Any) -> Translator:
    return Translator(given.model, given.source, given.target)


@pytest.fixture(scope="module")
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
    wanted = {
        "bart",
        "marian",
        "marian_ssru",
        "marian_huggingface",
        "t5",
        "mbart",
        "m2m100",
        "nllb",
    }
    assert wanted <= found


def test_ids_are_theirs(given: Any) -> None:
    config = given.model.config
    begins, eos = config.marks.begins(), config.special_ids.eos
    for side, tokenizer, begin, ends in (
        ("source", given.source, begins.source, config.source_ends),
        ("target", given.target, begins.target, (eos,)),
    ):
        theirs = given.reference[f"{side}_ids"]
        ours = tokenizer.encode(given.reference[f"{side}s"])
        assert [[*begin, *row, *ends] for row in ours] == theirs
    assert given.source.encode(given.reference["hostile"]) == given.reference["hostile_ids"]


def check(translator: TextTranslator, given: Any) -> None:
    """Compares log-probabilities and searches."""
    reference = given.reference
    scored = translator.score(reference["sources"], reference["targets"])
    found = [one.log_probability for one in scored]
    np.testing.assert_allclose(found, reference["log_probabilities"], atol=1e-4)
    for beam_size in (1, 4):
        if f"beam_{beam_size}" not in reference:
            continue  # Marian's decoder disagrees with its scorer where norms come first.
        results = translator.translate_n_best(
            reference["sources"], beam_size=beam_size, **given.limits
        )
        theirs = [until_eos(ids, given) for ids in reference[f"beam_{beam_size}"]]
        assert [found[0].ids for found in results] == theirs


def until_eos(ids: Sequence[int], given: Any) -> list[int]:
    eos = given.model.config.special_ids.eos
    return list(ids[: ids.index(eos)] if eos in ids else ids)


@pytest.mark.parametrize("given", IN_KERAS, indirect=True)
def test_probabilities_and_searches_in_keras_are_theirs(
    given: Any, keras_translator: Translator
) -> None:
    check(keras_translator, given)


@pytest.mark.parametrize(("given", "onnx_translator"), EXPORTED, indirect=True)
def test_probabilities_and_searches_of_exported_graphs_are_theirs(
    given: Any, onnx_translator: OnnxTranslator
) -> None:
    check(onnx_translator, given)


@pytest.mark.parametrize(("given", "onnx_translator"), EXPORTED, indirect=True)
def test_texts_hold_no_mark(given: Any, onnx_translator: OnnxTranslator) -> None:
    texts = onnx_translator.translate(given.reference["sources"][:4], max_length=12)
    codes = given.model.config.marks.languages
    for text in texts:
        assert not any(code in text for code in codes)
        assert "<" not in text or "</s>" not in text


@pytest.mark.exhaustive
def test_a_server_and_a_saved_model_mark_languages(translators: Path, tmp_path: Path) -> None:
    """Those of M2M100 and NLLB: texts and probabilities are the live model's."""
    path = translators / "nllb"
    model, source, target = from_pretrained(path)
    reference = json.loads((path / "reference.json").read_text(encoding="utf-8"))
    texts, search = reference["sources"][:3], {"max_length": 12, "target_language": "fra_Latn"}
    live = Translator(model, source, target)
    best = live.translate(texts, **search)
    totals = [one.log_probability for one in live.score(texts, best, target_language="fra_Latn")]
    others = [one.log_probability for one in live.score(texts, best)]
    assert np.abs(np.subtract(totals, others)).min() > 0.01

    export_onnx(model, source, tmp_path / "onnx", target_tokenizer=target)
    served = open_served(tmp_path / "onnx", search, threads=1)
    answers = answer(served, "serving_default", text=texts)
    check_equal(answers["translation"].tolist(), best)
    scored = answer(served, "score", source=texts, target=best)
    check_equal(scored["log_probability"].tolist(), totals)
    served.close()

    saved = {"tokenizer": source, "target_tokenizer": target}
    export_saved_model(model, tmp_path / "saved", **saved, **search)
    signatures = tf.saved_model.load(str(tmp_path / "saved" / "1")).signatures
    answers = signatures["serving_default"](text=tf.constant(texts))
    check_equal(answers["translation"].numpy().tolist(), best)
    scored = signatures["score"](source=tf.constant(texts), target=tf.constant(best))
    check_equal(scored["log_probability"].numpy().tolist(), totals)


def check_equal(found: Sequence[Any], expected: Sequence[Any]) -> None:
    if isinstance(expected[0], float):
        np.testing.assert_allclose(found, expected, atol=1e-4)
    else:
        assert [text.decode() for text in found] == expected
