"""Directories: the format is recognised, and what cannot be read is refused in one line."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from keras_transformer.pretrained.errors import ImportRefusedError
from keras_transformer.pretrained.recognise import from_pretrained, read_pretrained


@pytest.fixture
def copied(translators: Path, tmp_path: Path) -> Path:
    """A directory of T5 to damage."""
    return Path(shutil.copytree(translators / "t5", tmp_path / "t5"))


def change(path: Path, **fields: object) -> None:
    file = path / "config.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), **fields}))


def test_formats_are_told_by_their_files(translators: Path) -> None:
    found = {name: read_pretrained(translators / name).format for name in ("marian", "t5", "nllb")}
    assert found == {"marian": "marian", "t5": "t5", "nllb": "m2m_100"}


def test_a_missing_directory_says_that_nothing_is_downloaded(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="Nothing is downloaded"):
        read_pretrained(tmp_path / "google" / "flan-t5")


def test_a_directory_without_a_model_says_what_it_lacks(tmp_path: Path) -> None:
    with pytest.raises(
        ImportRefusedError, match=r"holds no config.json \(Hugging .* lists"
    ) as error:
        read_pretrained(tmp_path)
    assert len(str(error.value)) < len(str(tmp_path)) + 250


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "config.json is no JSON: "),
        ("[]", "config.json must hold names and values, is "),
        ('{"model_type": "x"}', "model_type 'x', which is unknown. docs/import.md lists what can"),
        ('{"model_type": "qwen-2"}', "which is unknown; did you mean 'qwen2'[?] docs/import.md"),
    ],
)
def test_a_foreign_config_is_named(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "config.json").write_text(content)
    with pytest.raises(ImportRefusedError, match=message):
        read_pretrained(tmp_path)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"feed_forward_proj": "gated-tan"}, "feed_forward_proj: 'gated-tan', not supported"),
        ({"d_ff": 99}, r"gives a weight of shape \(16, 24\), but the config needs \(16, 99\)"),
        ({"num_layers": 3}, "lacks the tensor"),
        ({"num_layers": 1}, "tensors that the model its config describes does not have"),
    ],
)
def test_a_config_that_does_not_fit_is_named(copied: Path, fields: dict, message: str) -> None:
    change(copied, **fields)
    with pytest.raises(ImportRefusedError, match=message):
        from_pretrained(copied)


def test_a_missing_tokenizer_is_named(copied: Path) -> None:
    (copied / "spiece.model").unlink()
    with pytest.raises(ImportRefusedError, match=r"spiece.model is missing"):
        read_pretrained(copied)


def test_a_damaged_tokenizer_is_named(copied: Path) -> None:
    (copied / "spiece.model").write_bytes(b"nothing")
    with pytest.raises(ImportRefusedError, match=r"spiece.model is no SentencePiece model"):
        read_pretrained(copied)


def test_a_truncated_weights_file_is_named(copied: Path) -> None:
    path = copied / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(ImportRefusedError, match=r"model.safetensors is no whole"):
        read_pretrained(copied)


@pytest.mark.parametrize(
    ("name", "theirs", "other"),
    [
        ("marian", "decoder-autoreg: self-attention", "decoder-autoreg: average-attention"),
        ("marian_ssru", "dec-cell: ssru", "dec-cell: gru"),
        ("marian", "transformer-pool: false", "transformer-pool: true"),
    ],
)
def test_an_option_of_marian_that_nothing_computes_is_named(
    translators: Path, tmp_path: Path, name: str, theirs: str, other: str
) -> None:
    with np.load(translators / name / "model.npz") as file:
        arrays = {name: file[name] for name in file.files}
    text = arrays["special:model.yml"].tobytes().decode().rstrip("\0")
    assert theirs in text
    text = text.replace(theirs, other)
    arrays["special:model.yml"] = np.frombuffer(text.encode(), np.int8)
    np.savez(tmp_path / "model.npz", **arrays)
    shutil.copy(translators / name / "vocab.spm", tmp_path)
    option, value = other.split(": ")
    with pytest.raises(ImportRefusedError, match=f"(?i){option}: '?{value}"):
        read_pretrained(tmp_path)


def test_a_marian_model_without_its_vocabulary_says_what_is_needed(
    translators: Path, tmp_path: Path
) -> None:
    shutil.copy(translators / "marian" / "model.npz", tmp_path)
    with pytest.raises(ImportRefusedError, match=r"must hold the vocabularies of model.npz"):
        read_pretrained(tmp_path)
