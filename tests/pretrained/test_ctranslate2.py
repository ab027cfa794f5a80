"""Directories of CTranslate2, read: what its engine translates, ours does, with the same ids."""

import json
from pathlib import Path
from typing import Any

import ctranslate2
import numpy as np
import pytest

from keras_transformer import Translator, from_pretrained
from keras_transformer.export import export_pretrained
from keras_transformer.pretrained.errors import ImportRefusedError
from keras_transformer.pretrained.recognise import read_pretrained
from tools.covering import some

KINDS = ("marian", "marian_huggingface", "pegasus", "marian_pre_norm", "opennmt")
TEXTS = ["I am here.", "She wants to go to bed, but she is busy.", "x"]


def write(path: Path, directory: Path) -> tuple[Any, Any, Any]:
    model, source, target = from_pretrained(path)
    tokenizers = {"tokenizer": source, "target_tokenizer": target}
    export_pretrained(model, directory, format="ctranslate2", **tokenizers)
    return model, source, target


@pytest.mark.parametrize("kind", some(KINDS, "pegasus"))
def test_what_is_read_translates_as_the_engine_does(
    kind: str, translators: Path, tmp_path: Path
) -> None:
    original, source, _ = write(translators / kind, tmp_path / "peer")
    model, ours, target = from_pretrained(tmp_path / "peer")
    assert model.config.sinusoid_layout == original.config.sinusoid_layout
    assert ours.encode(TEXTS) == source.encode(TEXTS)
    found = Translator(model, ours, target).translate_n_best(TEXTS, max_length=9, length_penalty=0)
    engine = ctranslate2.Translator(str(tmp_path / "peer"), intra_threads=1)
    pieces = [ours.pieces(row) for row in ours.encode(TEXTS)]
    theirs = engine.translate_batch(
        pieces, beam_size=1, max_decoding_length=9, return_scores=True, length_penalty=0
    )
    for one, other in zip(found, theirs, strict=True):
        assert target.pieces(one[0].ids) == other.hypotheses[0]


@pytest.mark.parametrize("kind", KINDS)
def test_weights_come_back_bit_by_bit(kind: str, translators: Path, tmp_path: Path) -> None:
    original, _, _ = write(translators / kind, tmp_path / "peer")
    model = read_pretrained(tmp_path / "peer").build()
    size = original.config.source_vocab_size
    ours = {weight.path: np.asarray(weight) for weight in model.weights}
    for weight in original.weights:
        found = ours[weight.path]
        np.testing.assert_array_equal(found[:size] if found.ndim else found, np.asarray(weight))


@pytest.mark.parametrize("kind", ["pegasus", "opennmt"])  # One vocabulary, and two.
def test_vocabularies_may_be_lists_of_lines(kind: str, translators: Path, tmp_path: Path) -> None:
    write(translators / kind, tmp_path / "peer")
    expected = read_pretrained(tmp_path / "peer")
    files = list((tmp_path / "peer").glob("*_vocabulary.json"))
    for file in files:
        lines = json.loads(file.read_text(encoding="utf-8"))
        file.with_suffix(".txt").write_bytes("".join(f"{line}\n" for line in lines).encode())
        file.unlink()
    found = read_pretrained(tmp_path / "peer")
    assert found.config == expected.config
    for ours, theirs in zip(found.tokenizers, expected.tokenizers, strict=True):
        assert ours.model == theirs.model
    engine = ctranslate2.Translator(str(tmp_path / "peer"), intra_threads=1)
    pieces = found.tokenizers[0].pieces(found.tokenizers[0].encode(TEXTS)[0])
    assert engine.translate_batch([pieces], max_decoding_length=4)
    (tmp_path / "peer" / files[0].with_suffix(".txt").name).unlink()
    with pytest.raises(ImportRefusedError, match=r"vocabulary.* is missing"):
        read_pretrained(tmp_path / "peer")


@pytest.mark.parametrize("kept", [0, 3, 40, 5000])
def test_a_truncated_model_is_refused(kept: int, translators: Path, tmp_path: Path) -> None:
    write(translators / "pegasus", tmp_path / "peer")
    path = tmp_path / "peer" / "model.bin"
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(ImportRefusedError, match=r"model.bin is no whole model of CTranslate2"):
        read_pretrained(tmp_path / "peer")


def test_a_missing_tokenizer_says_what_to_do(translators: Path, tmp_path: Path) -> None:
    write(translators / "pegasus", tmp_path / "peer")
    (tmp_path / "peer" / "source.model").unlink()
    with pytest.raises(ImportRefusedError, match=r"no SentencePiece model of the source: put it"):
        read_pretrained(tmp_path / "peer")


def test_another_version_is_named(translators: Path, tmp_path: Path) -> None:
    write(translators / "pegasus", tmp_path / "peer")
    path = tmp_path / "peer" / "model.bin"
    path.write_bytes(b"\x09\0\0\0" + path.read_bytes()[4:])
    with pytest.raises(ImportRefusedError, match="CTranslate2's version 9: versions 5 and 6 are"):
        read_pretrained(tmp_path / "peer")
