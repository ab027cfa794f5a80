"""Long texts with each engine: refused with their index, cut, or split."""

import dataclasses
import json
from typing import Any

import pytest

from keras_transformer.artefact.manifest import MANIFEST_FILE, Manifest
from keras_transformer.export import OnnxTranslator
from keras_transformer.search.model_limits import MAX_SOURCE_LENGTH, TooLongError
from keras_transformer.text.training_text import TrainingText
from keras_transformer.translation.by_sentence import SentenceTranslator

LIMIT = 8


def test_a_text_that_is_too_long_is_named(open_translator, texts: list[str]) -> None:
    translator = open_translator(max_source_length=LIMIT)
    lengths = translator.source_lengths(texts)
    first = next(place for place, length in enumerate(lengths) if length > LIMIT)
    with pytest.raises(TooLongError, match=f"index {first} has {lengths[first]} tokens"):
        translator.translate(texts)
    with pytest.raises(TooLongError, match="index 1"):
        translator.translate_ids([[5], [5] * (LIMIT + 1)])
    with pytest.raises(TooLongError, match=f"index {first}"):
        translator.score(texts, texts)
    with pytest.raises(TooLongError, match="index 1"):
        translator.score_ids([[5], [5] * (LIMIT + 1)], [[5], [5]])
    assert open_translator().max_source_length == MAX_SOURCE_LENGTH


def test_a_text_may_be_cut(open_translator, exported: Any, texts: list[str]) -> None:
    whole = exported.source_tokenizer.encode(texts[1:2])[0]
    assert len(whole) > LIMIT
    found = open_translator(max_source_length=LIMIT, long_texts="cut")
    found = found.translate_n_best(texts[1:2], max_length=20)
    wanted = open_translator().translate_ids([whole[:LIMIT]], max_length=20)
    assert found[0][0].ids == wanted[0][0][0]


def test_a_very_long_line_is_translated_in_parts(exported: Any) -> None:
    with OnnxTranslator(exported.path, threads=1, max_source_length=40) as translator:
        text = "we see three birds " * 50
        splitting = SentenceTranslator(translator)
        [parts] = splitting.translate_parts([text], max_length=20)
        assert " ".join(part.source for part in parts) == text.strip()
        assert max(translator.source_lengths([part.source for part in parts])) <= 40
        [joined] = splitting.translate([text], max_length=20)
        assert joined.strip() == " ".join(part.hypotheses[0].text for part in parts)


def test_short_sentences_are_translated_as_without_splitting(
    open_translator, texts: list[str]
) -> None:
    plain = open_translator()
    options = {"beam_size": 2, "max_length": 20}
    single = texts[:5]
    splitting = SentenceTranslator(plain)
    assert splitting.translate_n_best(single, **options) == plain.translate_n_best(
        single, **options
    )


def test_the_manifest_carries_what_training_saw(exported: Any, tmp_path: Any) -> None:
    manifest = Manifest.read(exported.path)
    assert manifest.training_text is None
    seen = TrainingText(longest_source=30, sentences=(90, 10))
    dataclasses.replace(manifest, training_text=seen).write(tmp_path)
    assert Manifest.read(tmp_path).training_text == seen
    values = json.loads((exported.path / MANIFEST_FILE).read_text(encoding="utf-8"))
    del values["training_text"], values["sha256"]  # As earlier versions wrote it.
    assert Manifest.from_json(json.dumps(values)) == manifest
