"""The run directory: what it writes it reads, and its files are whole or absent."""

import json
from pathlib import Path

import pytest
from fresh_process import python

from keras_transformer.config import TransformerConfig
from keras_transformer.generation.chat_template import CHAT_TEMPLATE, ChatTemplate
from keras_transformer.runs.history import History
from keras_transformer.runs.run_directory import (
    RunDirectory,
    load_min_score,
    load_search,
    load_training_text,
)
from keras_transformer.text.tokenizer import Tokenizer, train_tokenizer


@pytest.fixture
def run(tmp_path: Path) -> RunDirectory:
    return RunDirectory(tmp_path)


@pytest.fixture(scope="module")
def tokenizers() -> tuple[Tokenizer, Tokenizer]:
    return train_tokenizer(["ab ba abba"] * 3, 8), train_tokenizer(["cd dc cddc"] * 3, 8)


def test_parts_have_the_documented_names(run: RunDirectory) -> None:
    parts = {run.checkpoints, run.logs, run.losses, run.bad_batch, run.model}
    assert {part.relative_to(run.path).as_posix() for part in parts} == {
        "checkpoints",
        "logs",
        "losses.tsv",
        "bad_batch.txt",
        "model.keras",
    }


def test_config_and_record_come_back(run: RunDirectory) -> None:
    config = TransformerConfig.preset("tiny", vocab_size=100)
    run.save_config(config)
    assert run.load_config() == config
    history = History()
    history.append(100, {"loss": 1.5, "val_loss": 2.5})
    history.append(200, {"loss": 1.0, "val_loss": 3.5})
    run.save_training({"origin": "español"}, history, finished=False)
    assert run.load_training() == {
        "origin": "español",
        "history": {"step": [100, 200], "loss": [1.5, 1.0], "val_loss": [2.5, 3.5]},
        "best": {"step": 100, "val_loss": 2.5},
        "finished": False,
    }


def test_a_worker_removes_what_a_kill_left_of_its_own_files_alone(run: RunDirectory) -> None:
    own = run.path / "worker_1"
    own.mkdir()
    left = [directory / "partial.7.losses.tsv" for directory in (run.path, own)]
    for path in left:
        path.touch()
    config = TransformerConfig.preset("tiny", vocab_size=100)
    RunDirectory(run.path, worker=1).save_config(config)
    assert [path.exists() for path in left] == [True, False]
    assert not (run.path / "config.json").exists()
    run.save_config(config)
    assert not left[0].exists()


@pytest.mark.parametrize("load", [load_search, load_min_score, load_training_text])
def test_what_is_no_run_has_no_entries(load, run: RunDirectory) -> None:
    for wrong in (run.path / "nope", run.path):
        with pytest.raises(FileNotFoundError, match="is not a run directory"):
            load(wrong)
    run.save_config(TransformerConfig.preset("tiny", vocab_size=100))
    assert not load(run.path)


def test_without_validation_no_round_is_called_the_best(run: RunDirectory) -> None:
    run.save_training({}, History({"step": [1], "loss": [3.0]}), finished=True)
    assert run.load_training()["best"] is None


def test_tokenizers_of_another_kind_have_another_ending(
    run: RunDirectory, tokenizers, tokenizer_jsons: dict[str, bytes]
) -> None:
    json = Tokenizer(tokenizer_jsons["gpt2"])
    for given, names in (
        (tokenizers, {"source_tokenizer.model", "target_tokenizer.model"}),
        ((json, json), {"tokenizer.json"}),
        ((json, Tokenizer(json.model)), {"source_tokenizer.json", "target_tokenizer.json"}),
        ((tokenizers[0], tokenizers[0]), {"tokenizer.model"}),
    ):
        run.save_tokenizers(*given)
        assert {path.name for path in run.path.iterdir()} == names
        found = run.load_tokenizers()
        assert [one.model for one in found] == [one.model for one in given]
        assert (found[0] is found[1]) == (given[0] is given[1])


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
    with pytest.raises(FileNotFoundError, match=f"{name} is missing: .* not a run directory"):
        read(run)


@pytest.mark.parametrize("content", ['{"a": ', "[1]", "\x00"])
def test_a_damaged_record_is_named(run: RunDirectory, content: str) -> None:
    (run.path / "training.json").write_text(content)
    with pytest.raises(ValueError, match=r"training.json is damaged \(.*\): put a copy of it back"):
        run.load_training()


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ({"min_score": "x"}, "min_score: "),
        ({"min_score": 1.5}, "min_score: min_score is a log-probability"),
        ({"search": {"beam_size": 0}}, "search: "),
        ({"search": [1]}, "search: "),
        ({"training_text": {}}, "training_text: 'longest_source'"),
        ({"training_text": {"longest_source": {}, "sentences": [1]}}, "training_text: "),
    ],
)
def test_a_damaged_entry_of_the_record_is_named(
    run: RunDirectory, entries: dict, message: str
) -> None:
    (run.path / "config.json").write_text("{}")
    (run.path / "training.json").write_text(json.dumps(entries))
    with pytest.raises(ValueError, match=rf"training.json is damaged \({message}"):
        _ = run.load_min_score(), run.load_search(), run.load_training_text()


@pytest.mark.parametrize("values", [{"special_ids": {"pad": "x"}}, {"special_ids": {"odd": 1}}])
def test_a_config_of_other_types_is_named(run: RunDirectory, values: dict) -> None:
    config = json.loads(TransformerConfig.preset("tiny", vocab_size=20).to_json())
    (run.path / "config.json").write_text(json.dumps({**config, **values}))
    with pytest.raises(ValueError, match=r"config\.json: "):
        run.load_config()


def test_a_runs_files_are_named_without_loading_keras() -> None:
    command = "import sys, keras_transformer.runs.run_directory; print(*sys.modules)"
    result = python("-c", command)
    assert not {"keras", "tensorflow"} & set(result.stdout.split())


def test_a_chat_template_is_kept(run: RunDirectory) -> None:
    assert run.load_chat_template() is None
    chat = ChatTemplate("{{ messages }}", {"bos_token": "<s>"})
    run.save_chat_template(chat)
    assert run.load_chat_template() == chat
    (run.path / CHAT_TEMPLATE).write_text("{", "utf-8")
    with pytest.raises(ValueError, match=f"{CHAT_TEMPLATE}: it is not a chat template"):
        run.load_chat_template()
    run.save_chat_template(None)
    assert run.load_chat_template() is None
