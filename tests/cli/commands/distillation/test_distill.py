"""`distill`: what it refuses before any work; test_end_to_end has the way to a student."""

import json
from pathlib import Path
from typing import Any

import pytest

from keras_transformer.runs.run_directory import RunDirectory
from keras_transformer.runtime import workers
from keras_transformer.runtime.onnx_graphs import sessions
from keras_transformer.text.tokenizer import Tokenizer
from keras_transformer.training.run.model_config import model_config, vocabulary_of
from keras_transformer.training.run.options import TrainOptions


@pytest.fixture
def artefact(tmp_path: Path) -> Path:
    """An exported teacher as far as it is looked at first."""
    directory = tmp_path / "artefact"
    directory.mkdir()
    manifest = {"config": {"model_dim": 16}}
    (directory / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    return directory


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--targets all", "--targets='all' chooses among several translations"),
        ("--num-hypotheses 6", "num_hypotheses"),
        ("--word-level 1.5", "--word-level must lie in [0, 1], got 1.5."),
        ("--shard 3/2", "--shard must be I/N with I from 1 to N, such as 2/4, got '3/2'."),
        ("--shard-lines 0", "--shard-lines must be at least 1, got 0."),
        ("--word-level 0.5", "--word-level needs the teacher's run"),
    ],
)
def test_what_cannot_be_done_is_refused_first(
    run_cli, artefact: Path, tmp_path: Path, words: str, message: str
) -> None:
    result = run_cli("distill", artefact, "--output", tmp_path / "student", *words.split())
    assert (result.code, result.out) == (1, "")
    assert message.replace("num_hypotheses", "--num-hypotheses") in result.err
    assert not (tmp_path / "student").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--r-drop 5", "--r-drop=5.0 does not go with --word-level"),
        ("--strategy mirrored", "--strategy='mirrored' does not go with --word-level"),
        ("--tokenizer {model}", "--tokenizer gives it another one"),
        ("--model.num-heads 3", "--model.num-heads (3)"),
    ],
)
def test_students_that_cannot_be_are_refused_first(
    run_cli, finished_run: Path, tmp_path: Path, tokenizer: Tokenizer, words: str, message: str
) -> None:
    for name in ("tokenizer.model", "other.model"):
        (finished_run / name).write_bytes(tokenizer.model)
    flags = words.format(model=finished_run / "other.model").split()
    student = tmp_path / "student"
    result = run_cli("distill", finished_run, "--output", student, "--word-level", 0.5, *flags)
    assert (result.code, result.out) == (1, "")
    assert message in result.err
    assert not student.exists()


def test_an_unfinished_teacher_is_refused(run_cli, finished_run: Path, tmp_path: Path) -> None:
    (finished_run / "model.keras").unlink()
    result = run_cli("distill", finished_run, "--output", tmp_path / "student")
    assert (result.code, result.out) == (1, "")
    assert "model.keras is missing: the run has not finished" in result.err


def test_a_finished_model_without_checkpoints_is_no_student_to_go_on_with(
    run_cli, finished_run: Path, tmp_path: Path, tokenizer: Tokenizer
) -> None:
    (finished_run / "tokenizer.model").write_bytes(tokenizer.model)
    student = tmp_path / "student"
    student.mkdir()
    (student / "model.keras").write_bytes(b"imported")
    result = run_cli("distill", finished_run, "--output", student)
    assert (result.code, result.out) == (1, "")
    assert "holds a finished model but no checkpoint to resume from" in result.err


@pytest.fixture
def student(finished_run: Path, tmp_path: Path, tokenizer: Tokenizer) -> Path:
    """A directory with a run to go on with, of the default options but for dropout."""
    (finished_run / "tokenizer.model").write_bytes(tokenizer.model)
    run = RunDirectory(tmp_path / "student")
    run.checkpoints.mkdir(parents=True)
    (run.checkpoints / "step_00000010.npz").touch()
    overrides = {"dropout": 0.3}
    config = model_config("student", overrides, *vocabulary_of(tokenizer, tokenizer), max_length=9)
    record = {"config": config.to_dict(), "options": TrainOptions.preset("student").to_dict()}
    (run.path / "training.json").write_text(json.dumps({**record, "history": []}))
    return run.path


@pytest.mark.parametrize(
    ("begun_by_distill", "message"),
    [
        (False, "student holds a run that was not started by `distill`: choose another"),
        (True, "student was started with --model.dropout=0.3, not 0.1"),
    ],
)
def test_a_run_that_is_not_this_student_s_is_refused_first(
    run_cli, finished_run: Path, student: Path, begun_by_distill: bool, message: str
) -> None:
    if begun_by_distill:
        (student / "distillation").mkdir()
    result = run_cli("distill", finished_run, "--output", student, "--preset", "student")
    assert (result.code, result.out) == (1, "")
    assert message in result.err


@pytest.mark.parametrize("threads", [1, 3])
def test_threads_reach_the_teacher(
    run_cli, exported: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, threads: int
) -> None:
    for pool in ("TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS"):
        monkeypatch.setenv(pool, "2")
    asked: list[int | None] = []

    def check_threads(count: int | None) -> int:
        asked.append(count)
        return sessions.check_threads(count)

    monkeypatch.setattr(workers, "check_threads", check_threads)
    for name in ("source", "target"):
        (tmp_path / name).write_text("the dog\n", encoding="utf-8")
    flags = ["--data", "files", "--train-source", tmp_path / "source", "--train-target"]
    flags += [tmp_path / "target", "--shard", "1/1", "--output", tmp_path / "student"]
    result = run_cli("distill", exported.path, *flags, "--threads", threads)
    assert (result.code, result.out.splitlines()[-1]) == (0, "1 of 1 shards are translated")
    assert asked == [threads]
