"""`train` on single texts: the commands as users write them, in small, and what is refused."""

import gzip
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from keras_transformer.cli import single_texts
from keras_transformer.runs.finished_run import load_run

LINES = [
    f"a {colour} {thing} runs" for colour in ("red", "blue") for thing in ("dog", "cat", "man")
]
SMALL = (
    "--vocab-size 21 --model.model-dim 8 --model.feed-forward-dim 8 --model.num-heads 2 "
    "--model.num-layers 1 --max-steps 1"
).split()


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    """A folder with plain and labelled texts."""
    (tmp_path / "a.txt").write_text("".join(f"{line}\n" for line in LINES), encoding="utf-8")
    (tmp_path / "b.gz").write_bytes(gzip.compress("\n".join(LINES).encode()))
    rows = [f"{line.split()[1]}\t{line}\n" for line in LINES]
    (tmp_path / "train.tsv").write_text("".join(rows), encoding="utf-8")
    records = [json.dumps({"label": line.split()[1], "text": line}) + "\n" for line in LINES]
    (tmp_path / "train.jsonl").write_text("".join(records), encoding="utf-8")
    (tmp_path / "one.tsv").write_text(rows[0], encoding="utf-8")
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "model.keras").touch()
    return tmp_path


@pytest.mark.exhaustive
@pytest.mark.usefixtures("few_updates")
def test_the_commands_of_the_other_tasks(run_cli, texts: Path) -> None:
    plain = ["--train-text", texts / "a.txt", texts / "b.gz", "--valid-text", texts / "b.gz"]
    table = ["--train-tsv", texts / "train.tsv", "--valid-tsv", texts / "train.tsv"]
    gpt, rows, vectors = (texts / name for name in ("gpt", "rows", "vectors"))
    for words in (
        ["--task", "causal-lm", "--preset", "gpt2-tiny", *plain, "--output", gpt, *SMALL],
        ["--task", "classify", "--train-jsonl", texts / "train.jsonl", "--output", rows, *SMALL],
        ["--task", "embed", *table, "--output", vectors, *SMALL],
    ):
        result = run_cli("train", *words)
        assert (result.code, result.err) == (0, "")
    assert load_run(gpt)[0].config.family == "decoder"
    assert load_run(rows)[0].config.labels == ("blue", "red")
    assert load_run(vectors)[0].config.head == "embedding"


@pytest.mark.usefixtures("few_updates")
def test_the_commands_of_the_tasks(run_cli, texts: Path) -> None:
    plain = ["--train-text", texts / "a.txt", texts / "b.gz", "--valid-text", texts / "b.gz"]
    table = ["--train-tsv", texts / "train.tsv", "--valid-tsv", texts / "train.tsv"]
    bert, labels = texts / "bert", texts / "labels"
    for words in (
        ["--task", "masked-lm", "--preset", "bert-tiny", *plain, "--output", bert, *SMALL],
        ["--task", "classify", "--init", bert, *table, "--output", labels, "--max-steps", 1],
    ):
        result = run_cli("train", *words)
        assert (result.code, result.err) == (0, "")
    assert "37 weights taken" not in result.out and "weights taken, 4 new" in result.out
    assert load_run(bert)[0].config.head == "masked_lm"
    assert load_run(labels)[0].config.labels == ("blue", "red")


def test_pairs_are_read_from_the_columns_that_are_named(run_cli, monkeypatch, texts: Path) -> None:
    corpora: list[Any] = []

    def fake_train(corpus: Any, directory: Path, **settings: Any) -> Any:
        corpora.append(corpus)
        return SimpleNamespace(model=SimpleNamespace(count_params=lambda: 1))

    monkeypatch.setattr("keras_transformer.training.run.train.train", fake_train)
    (texts / "columns.tsv").write_text("1\ta cat\tthe cat\n2\ta dog\tthe dog\n")
    files = ["--train-tsv", texts / "columns.tsv", "--valid-tsv", texts / "columns.tsv"]
    columns = ["--source-column", 2, "--target-column", 1]
    for given in (["--data", "tsv"], []):
        words = ["--task", "embed", *files, *columns, *given]
        result = run_cli("train", "--output", texts / "new", *words)
        assert (result.code, result.err) == (0, "")
    for corpus in corpora:
        for pairs in (corpus.train, corpus.valid):
            assert list(pairs.source) == ["the cat", "the dog"]
            assert list(pairs.target) == ["a cat", "a dog"]
    assert len(corpora) == 2


@pytest.mark.exhaustive
def test_texts_that_were_prepared_are_trained_on(run_cli, texts: Path) -> None:
    files = ["--train-text", texts / "a.txt", "--valid-text", texts / "b.gz"]
    shards = ["--output", texts / "shards", "--vocab-size", 21, "--workers", 1, "--shards", 1]
    prepared = run_cli("prepare", *files, *shards)
    assert prepared.code == 0, prepared.err  # workers of TensorFlow may log
    assert "training texts: kept 6 of 6 texts" in prepared.out
    data = ["--data", "prepared", "--prepared", texts / "shards", "--output", texts / "trained"]
    done = run_cli("train", "--task", "masked-lm", *data, *SMALL[2:])
    assert (done.code, done.err) == (0, "")
    assert load_run(texts / "trained")[0].config.head == "masked_lm"


def test_a_vocabulary_that_is_there_decides_which_cutoffs_fit(
    run_cli, monkeypatch, tokenizer, finished_run: Path, tmp_path: Path
) -> None:
    tokenizer.save(tmp_path / "text.model")
    monkeypatch.setattr(single_texts, "MOST_PIECES", 5)
    for flag, given, size in (
        ("--tokenizer", tmp_path / "text.model", tokenizer.vocab_size),
        ("--init", finished_run, 20),
    ):
        words = ["--task", "causal-lm", flag, given, "--train-text", "no.txt", "--output", "r"]
        fits, beyond = (run_cli("train", *words, "--cutoffs", 7, last) for last in (size - 1, size))
        assert "no such file: no.txt" in fits.err
        assert f"smaller than the vocabulary of {size} ids, got 7, {size}." in beyond.err


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ("--task masked-lm", "--task masked-lm needs --train-text or --train-jsonl."),
        ("--task classify", "--task classify needs --train-tsv or --train-jsonl."),
        ("--task classify --train-text a.txt", "--train-text is not for --task classify"),
        ("--train-jsonl a", "--train-jsonl is of single texts: give --task masked-lm"),
        (
            "--task classify --train-jsonl a --train-tsv b",
            "--train-jsonl replaces --train-tsv: give one of them.",
        ),
        (
            "--task causal-lm --train-text a.txt b.jsonl.gz",
            "--train-text b.jsonl.gz holds JSON lines by its name: give it to --train-jsonl",
        ),
        ("--task masked-lm --data prepared", "--data prepared needs --prepared."),
        ("--task classify --data prepared --prepared a", "--data prepared is not for --task clas"),
        ("--task masked-lm --data prepared --prepared no", "no is not a prepared corpus, or"),
        (
            "--task masked-lm --data prepared --prepared a --vocab-size 9",
            "--vocab-size cannot be changed after the corpus was prepared",
        ),
        ("--task masked-lm --data tfds", "--data tfds needs --tfds-name."),
        ("--task tag --data tfds --tfds-name a", "--data tfds is not for --task tag: give"),
        ("--task masked-lm --train-text a --tfds-name b", "--tfds-name belongs to --data tfds."),
        (
            "--task masked-lm --data tfds --tfds-name b --train-text a",
            "--train-text is not for --data tfds",
        ),
        ("--task classify --train-jsonl {folder}/a.txt", "a.txt, line 1: expected a JSON object"),
        ("--task embed --train-text a.txt", "--train-text is not for --task embed, which reads"),
        ("--task embed --train-tsv a --r-drop 1", "--r-drop=1.0 is not for embed, which"),
        ("--task embed --train-tsv {folder}/a.txt", "a.txt, line 1: expected at least 2 columns"),
        ("--task causal-lm --train-tsv a.tsv", "--train-tsv is not for --task causal-lm"),
        (
            "--task causal-lm --preset tiny",
            "--preset tiny is not for --task causal-lm, which takes",
        ),
        (
            "--task permutation-lm --memory-length 9 --train-text a.txt",
            "--memory-length is for --task causal-lm, not for permutation-lm.",
        ),
        (
            "--task masked-lm --memory-length 0 --train-text a.txt",
            "--memory-length is for --task causal-lm, not for masked-lm.",
        ),
        (
            "--task causal-lm --train-text a.txt --vocab-size 20 --cutoffs 9 5",
            "--cutoffs must rise and be smaller than the vocabulary of 20 ids, got 9, 5.",
        ),
        (
            "--task causal-lm --train-text a.txt --model.div-value 2",
            "--model.div-value=2 needs cutoffs, which is not given.",
        ),
        ("--cutoffs 9 20", "--cutoffs is for --task causal-lm, not for translation."),
        ("--preset gpt2", "--preset gpt2 is not for --task translation, which takes tiny, small"),
        (
            "--train-text a.txt",
            "--train-text is plain text: give --task masked-lm, permutation-lm or causal-lm.",
        ),
        ("--masking spans", "masking='spans' is for masked-lm, not for translation"),
        ("--model.num-layers 3", "--model.num-layers is not for --task translation."),
        ("--task causal-lm --train-text no.txt", "no such file: no.txt"),
        ("--task causal-lm --train-text a --lora-rank 4", "--lora-rank adapts the weights of a"),
        (
            "--task causal-lm --train-text a --init-target-vectors no.vec",
            "--init-target-vectors is for --task translation, not for causal-lm",
        ),
        (
            "--task causal-lm --train-text a --no-joint-vocabulary",
            "--no-joint-vocabulary is for --task translation, not for causal-lm",
        ),
        ("--task masked-lm --init no --train-text a", "no directory no: give a training run."),
        (
            "--task masked-lm --init {folder} --train-text a",
            "holds no config.json (a training run).",
        ),
        (
            "--task masked-lm --vocab-size 9 --init-decoder no --train-text a",
            "--init-decoder is for --task translation: give masked-lm --init.",
        ),
        (
            "--task masked-lm --data prepared --prepared a --next-sentence",
            "--next-sentence needs the text, and a prepared corpus holds rows",
        ),
        (
            "--task classify --train-tsv a --phrases p.txt",
            "--phrases='p.txt' is for masked-lm, not for classify.",
        ),
        (
            "--task causal-lm --train-text a --train-source b",
            "--train-source is for --task translation",
        ),
        (
            "--task causal-lm --train-text a --general-source b --general-target b",
            "--general-source is for --task translation, not for causal-lm.",
        ),
        (
            "--task causal-lm --train-text a --general-target b",
            "--general-target is for --task translation, not for causal-lm.",
        ),
        (
            "--task tag --train-text a --general-share 0.1",
            "--general-share is for --task translation, not for tag.",
        ),
        (
            "--task masked-lm --train-text a --demo-size 100",
            "--demo-size is for --task translation, not for masked-lm.",
        ),
        (
            "--task classify --train-tsv a --source-column 1",
            "--source-column is for --task translation and embed, not for classify.",
        ),
        (
            "--task embed --train-jsonl a --target-column 2",
            "--target-column belongs to --train-tsv and --valid-tsv: leave it out, or",
        ),
        (
            "--task embed --train-tsv {folder}/train.tsv --source-column 1",
            "--source-column and --target-column must be two different numbers from 0",
        ),
        (
            "--output {folder}/run --resume --task causal-lm --train-text a",
            "/run holds a finished model but no checkpoint to resume from",
        ),
        ("--task causal-lm --train-text a --masking spans", "is for masked-lm, not for causal-lm"),
        (
            "--task masked-lm --train-text a --model.num-encoder-layers 2",
            "--model.num-encoder-layers: an encoder has no such field",
        ),
        (
            "--task masked-lm --train-text a --max-length 600",
            "--max-length (600) is more than the model's --model.max-positions (512)",
        ),
        (
            "--task causal-lm --train-text a --denoising sentinels",
            "is for denoising, not for causal",
        ),
        (
            "--task masked-lm --train-text {folder}/a.txt --masking phrases",
            "--phrases must name a file, one phrase a line, for --masking='phrases'",
        ),
        (
            "--task masked-lm --train-text {folder}/a.txt --masking phrases --phrases no.txt",
            "no such file: no.txt",
        ),
        (
            "--task masked-lm --train-text {folder}/a.txt --next-sentence",
            "--next-sentence draws random sentences of other documents",
        ),
        ("--task classify --train-tsv {folder}/a.txt", "a.txt, line 1: expected label<TAB>text"),
        ("--task classify --train-tsv {folder}/one.tsv", "two or more labels"),
        (
            "--task masked-lm --train-text {folder}/a.txt --patience 2",
            "--patience chooses by the validation loss",
        ),
    ],
)
def test_wrong_settings_are_told_in_one_line_before_any_work(
    run_cli, monkeypatch, texts: Path, flags: str, message: str
) -> None:
    monkeypatch.setattr(single_texts, "load_training", lambda: pytest.fail("TensorFlow is loaded"))
    monkeypatch.setattr(
        "keras_transformer.cli.commands.train.load_training",
        lambda: pytest.fail("TensorFlow is loaded"),
    )
    words = flags.format(folder=texts).split()
    result = run_cli("train", *(() if "--output" in words else ("--output", "r")), *words)
    assert result.code in (1, 2)
    assert message in result.err and result.err.count("\n") == 1
