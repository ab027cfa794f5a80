"""The run directory: what it writes it reads, and its files are whole or absent."""

import os
from pathlib import Path

import pytest

from keras_transformer.config import TransformerConfig
from keras_transformer.text.tokenizer import Tokenizer, train_tokenizer
from keras_transformer.training.run_directory import RunDirectory, write_atomically


@pytest.fixture
def run(tmp_path: Path) -> RunDirectory:
    return RunDirectory(tmp_path)


@pytest.fixture(scope="module")
def tokenizers() -> tuple[Tokenizer, Tokenizer]:
    return train_tokenizer(["ab ba abba"] * 3, 8), train_tokenizer(["cd dc cddc"] * 3, 8)


def test_parts_have_the_documented_names(run: RunDirectory) -> None:
    parts = {run.checkpoints, run.logs, run.model}
    assert {part.relative_to(run.path).as_posix() for part in parts} == {
        "checkpoints",
        "logs",
        "model.keras",
    }


def test_config_and_record_come_back(run: RunDirectory) -> None:
    config = TransformerConfig.preset("tiny", vocab_size=100)
    run.save_config(config)
    assert run.load_config() == config
    record = {"history": {"loss": [1.5, 0.1]}, "origin": "español", "finished": False}
    run.save_training(record)
    assert run.load_training() == record


def test_a_shared_tokenizer_is_one_file_and_one_object(run: RunDirectory, tokenizers) -> None:
    run.save_tokenizers(tokenizers[0], tokenizers[0])
    assert [path.name for path in run.path.iterdir()] == ["tokenizer.model"]
    source, target = run.load_tokenizers()
    assert source is target
    assert source.model == tokenizers[0].model


def test_two_tokenizers_are_two_files(run: RunDirectory, tokenizers) -> None:
    run.save_tokenizers(*tokenizers)
    assert sorted(path.name for path in run.path.iterdir()) == [
        "source_tokenizer.model",
        "target_tokenizer.model",
    ]
    assert tuple(found.model for found in run.load_tokenizers()) == tuple(
        given.model for given in tokenizers
    )


def test_tokenizers_of_an_earlier_start_do_not_survive(run: RunDirectory, tokenizers) -> None:
    run.save_tokenizers(*tokenizers)
    run.save_tokenizers(tokenizers[1], tokenizers[1])
    source, target = run.load_tokenizers()
    assert source.model == target.model == tokenizers[1].model


@pytest.mark.parametrize(
    ("read", "name"),
    [
        (RunDirectory.load_config, "config.json"),
        (RunDirectory.load_training, "training.json"),
        (RunDirectory.load_tokenizers, "tokenizer.model"),
    ],
)
def test_a_missing_file_is_named(run: RunDirectory, read, name: str) -> None:
    with pytest.raises(FileNotFoundError, match=f"{name} is missing: .* no run directory"):
        read(run)


def test_a_crash_while_writing_leaves_the_old_file(tmp_path: Path, monkeypatch) -> None:
    path = tmp_path / "training.json"
    write_atomically(path, "old")

    def crash(descriptor: int) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(os, "fsync", crash)
    with pytest.raises(OSError, match="no space left"):
        write_atomically(path, "new, and much longer")
    assert path.read_text() == "old"
