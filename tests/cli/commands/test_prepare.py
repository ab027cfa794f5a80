"""`prepare` and `train --data prepared`: text to shards to a run, and what is refused."""

import json

import pytest

from keras_transformer.cli.commands import prepare
from keras_transformer.runs.finished_run import load_run


@pytest.fixture
def calls(monkeypatch):
    """What reaches the preparing function, which is not run."""
    made = []
    monkeypatch.setattr(prepare, "prepare", lambda *given, **named: made.append((given, named)))
    return made


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    directory = tmp_path_factory.mktemp("text")
    words = [first + second for first in "bdfgkl" for second in "aeiou"]
    lines = [f"{words[i % 30]} {words[i * 7 % 30]} {words[i * i % 30]}" for i in range(240)]
    (directory / "a.en").write_text("\n".join(lines) + "\n")
    (directory / "a.de").write_text("\n".join(line[::-1] for line in lines) + "\n")
    (directory / "valid").write_text("\n".join(lines[:8]) + "\n")
    return directory


@pytest.mark.exhaustive
@pytest.mark.usefixtures("few_updates", "without_workers")
def test_text_is_prepared_and_trained_on(run_cli, text, tmp_path) -> None:
    files = ["--train-source", text / "a.en", "--train-target", text / "a.de"]
    valid = ["--valid-source", text / "valid", "--valid-target", text / "valid"]
    shards, run = tmp_path / "shards", tmp_path / "run"
    vocabulary = "--vocab-size 60 --tokenizer-type bpe --workers 1 --shards 2".split()
    result = run_cli("prepare", *files, *valid, *vocabulary, "--output", shards)
    assert result.code == 0, result.err
    assert "training pairs: kept 240 of 240 pairs" in result.out
    assert f"2 shards: train with --data prepared --prepared {shards}" in result.out

    training = "--batch-tokens 256 --checkpoint-steps 1 --bleu-sentences 0 --r-drop 0".split()
    training += "--model.num-encoder-layers 1 --model.num-decoder-layers 1".split()
    command = ["train", "--data", "prepared", "--prepared", shards, *training, "--output", run]
    result = run_cli(*command, "--max-steps", 1)
    assert result.code == 0, result.err
    _, source_tokenizer, target_tokenizer = load_run(run)
    assert source_tokenizer is target_tokenizer and source_tokenizer.vocab_size == 60
    record = json.loads((run / "training.json").read_text())
    assert record["data"]["made_from"]["options"]["shards"] == 2
    assert record["data"]["valid"]["kept"] == 8
    assert record["training_text"]["sentences"] == [240]
    assert record["training_text"]["longest_source"] >= 3

    result = run_cli(*command, "--resume", "--max-length", 100)
    assert (
        result.code == 1 and "was prepared with --max-length=256, more than the 100" in result.err
    )


def test_every_flag_reaches_the_preparation(run_cli, calls, text) -> None:
    (text / "t.tsv").write_text("a\tb\tc\n")
    run_cli(
        *("prepare", "--train-tsv", text / "t.tsv", "--source-column", 2, "--output", "out"),
        *"--target-column 0 --workers 3 --vocab-size 99 --tokenizer-type bpe --seed 4".split(),
        *"--no-joint-vocabulary --tokenizer-sentences 50 --max-length 9 --shards 5".split(),
        *("--tokenizer", "one.model", "two.model"),
    )
    [((train, output), named)] = calls
    assert list(train.pairs()) == [("c", "a")]
    assert (str(output), named["workers"], named["valid"]) == ("out", 3, None)
    assert [str(path) for path in named["tokenizers"]] == ["one.model", "two.model"]
    assert named["options"] == prepare.PrepareOptions(
        vocab_size=99,
        tokenizer_type="bpe",
        joint_vocabulary=False,
        tokenizer_sentences=50,
        max_length=9,
        shards=5,
        seed=4,
    )


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ("--train-text a --train-tsv b", "--train-tsv gives pairs, but single texts are given too"),
        ("--train-text a --tokenizer b c", "--tokenizer takes one model for single texts, got 2."),
        ("", "prepare needs --train-source and --train-target, --train-tsv, --train-files or"),
        ("--train-source a", "--train-source and --train-target go together"),
        ("--train-tsv a --valid-target b", "--valid-source and --valid-target go together"),
        (
            "--train-tsv a --train-source b --train-target c",
            "--train-tsv replaces --train-source: give one of them.",
        ),
        ("--train-tsv a --tokenizer b c d", "--tokenizer takes one or two models, got 3."),
        (
            "--train-text a --source-column 2",
            "--source-column belongs to --train-tsv, which is not given.",
        ),
        ("--train-source no.a --train-target no.b", "no such file: no.a, no.b"),
        ("--train-tsv no.a", "no such file: no.a"),
        ("--train-tsv a --max-length 1", "--max-length must be at least 2, got 1"),
        ("--train-text a --num-sentinels -1", "--num-sentinels must be at least 0, got -1"),
    ],
)
def test_wrong_settings_are_told_in_one_line(run_cli, calls, flags: str, message: str) -> None:
    result = run_cli("prepare", "--output", "out", *flags.split())
    assert result.code in (1, 2) and calls == []
    assert message in result.err and result.err.count("\n") == 1


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ("", "--data prepared needs --prepared."),
        ("--prepared no", "no/manifest.json is missing"),
        (
            "--prepared no --vocab-size 9",
            "--vocab-size cannot be changed after the corpus was prepared",
        ),
        ("--prepared no --no-joint-vocabulary", "--joint-vocabulary cannot be changed"),
        ("--prepared no --tokenizer-type bpe", "--tokenizer-type cannot be changed"),
    ],
)
def test_training_on_what_is_not_prepared_is_refused(run_cli, flags: str, message: str) -> None:
    result = run_cli("train", "--data", "prepared", "--output", "r", *flags.split())
    assert result.code == 1 and message in result.err


def test_the_flag_of_a_prepared_corpus_belongs_to_it_alone(run_cli) -> None:
    result = run_cli("train", "--data", "demo", "--prepared", "a", "--output", "r")
    assert "--prepared belongs to --data prepared, but --data is demo." in result.err
