"""A directory is trained into once, and a resumed run is the same run."""

from pathlib import Path
from typing import Any

import pytest

from keras_transformer.config import TransformerConfig
from keras_transformer.config.decoder_only import DecoderConfig
from keras_transformer.config.encoder_only import EncoderConfig
from keras_transformer.data.sources.digest import TEXT_SHA256
from keras_transformer.runs.checkpoints import checkpoint_path
from keras_transformer.runs.history import History
from keras_transformer.runs.run_directory import RunDirectory
from keras_transformer.training.run.options import TrainPlan
from keras_transformer.training.run.resuming import history_to_resume, refuse_to_overwrite


def settings(**options: Any) -> dict[str, Any]:
    return {
        "config": TransformerConfig(source_vocab_size=9).to_dict(),
        "options": TrainPlan(**options).to_dict(),
        "data": {"origin": "words"},
    }


@pytest.fixture
def begun(tmp_path: Path) -> RunDirectory:
    """A directory with a checkpoint."""
    run = RunDirectory(tmp_path)
    run.checkpoints.mkdir()
    checkpoint_path(run.checkpoints, 3).touch()
    return run


def test_a_run_is_not_overwritten(tmp_path: Path, begun: RunDirectory) -> None:
    with pytest.raises(FileExistsError, match="holds a run already"):
        refuse_to_overwrite(begun)
    refuse_to_overwrite(RunDirectory(tmp_path / "other"))


def test_a_finished_model_without_checkpoints_is_not_resumed(tmp_path: Path) -> None:
    run = RunDirectory(tmp_path)
    refuse_to_overwrite(run, resume=True)
    run.model.touch()
    with pytest.raises(
        FileExistsError, match=r"no checkpoint to resume from: .* \(--init /.*--out"
    ):
        refuse_to_overwrite(run, resume=True)
    run.checkpoints.mkdir()
    checkpoint_path(run.checkpoints, 3).touch()
    refuse_to_overwrite(run, resume=True)


@pytest.mark.parametrize("resume", [False, True])
@pytest.mark.parametrize(
    ("files", "named"),
    [
        (("config.json", "tokenizer.json"), "config.json"),
        (("model.safetensors", "config.json", "tokenizer.json"), "config.json"),
        (("manifest.json", "tokenizer.model", "encoder.onnx"), "encoder.onnx"),
    ],
)
def test_files_of_others_are_not_overwritten(
    tmp_path: Path, files: tuple[str, ...], named: str, resume: bool
) -> None:
    for name in files:
        (tmp_path / name).write_text('{"model_type": "bert"}')
    with pytest.raises(FileExistsError, match=f"holds files of another model, such as {named}"):
        refuse_to_overwrite(RunDirectory(tmp_path), resume=resume)


def test_what_a_run_left_that_was_killed_early_is_replaced(tmp_path: Path) -> None:
    run = RunDirectory(tmp_path)
    for name in ("train.log", "notes"):
        (tmp_path / name).touch()
        refuse_to_overwrite(run)
        (tmp_path / name).unlink()
    for name in ("tokenizer.model", "rehearsal.tsv", "partial.7.config.json", "distillation"):
        (tmp_path / name).touch()
        refuse_to_overwrite(run)
    run.save_config(TransformerConfig(source_vocab_size=9))
    run.save_training(settings(), History(), finished=False)
    for name in ("checkpoints", "logs", "worker_1", ".cache"):
        (tmp_path / name).mkdir()
    (tmp_path / "losses.tsv").touch()
    for resume in (False, True):
        refuse_to_overwrite(run, resume=resume)


def test_figures_come_back_where_only_the_length_of_the_run_changed(begun: RunDirectory) -> None:
    history = History({"step": [3], "val_loss": [2.5]})
    begun.save_training(settings(), history, finished=False)
    assert history_to_resume(begun, settings(epochs=90)).figures == history.figures
    with pytest.raises(ValueError, match=r"started with learning_rate=0\.004, not 0\.1: resume"):
        history_to_resume(begun, settings(learning_rate=0.1))


def test_a_run_of_a_version_without_an_option_had_its_default(begun: RunDirectory) -> None:
    older = settings()
    del older["options"]["r_drop"], older["config"]["activation_dropout"]
    begun.save_training(older, History(), finished=False)
    history_to_resume(begun, settings())
    with pytest.raises(ValueError, match=r"started with r_drop=0\.0, not 5\.0: resume"):
        history_to_resume(begun, settings(r_drop=5.0))


@pytest.mark.parametrize("family", [TransformerConfig, EncoderConfig, DecoderConfig])
def test_a_run_of_any_family_resumes_without_settings_that_its_version_lacked(
    family: Any, begun: RunDirectory
) -> None:
    size = "source_vocab_size" if family is TransformerConfig else "vocab_size"
    config = family(**{size: 9})
    now = {**settings(), "config": config.to_dict()}
    kept = {name: now["config"][name] for name in ("family", size) if name in now["config"]}
    begun.save_training({**now, "config": kept}, History(), finished=False)
    history_to_resume(begun, now)


def test_a_run_is_resumed_on_the_text_that_it_was_started_on(begun: RunDirectory) -> None:
    before, now = settings(), settings()
    now["data"][TEXT_SHA256] = "c0ffee"
    begun.save_training(before, History(), finished=False)
    history_to_resume(begun, now)  # A version that did not record its text was started on this.
    assert now["data"][TEXT_SHA256] == "c0ffee"
    before["data"][TEXT_SHA256] = "decaf"
    begun.save_training(before, History(), finished=False)
    with pytest.raises(ValueError, match="was started on other text: resume on the same, or"):
        history_to_resume(begun, now)


def test_the_same_text_may_lie_elsewhere(begun: RunDirectory) -> None:
    before, now = settings(), settings()
    before["data"] |= {"origin": "a.txt", TEXT_SHA256: "c0ffee"}
    now["data"] |= {"origin": "/home/a.txt", TEXT_SHA256: "c0ffee"}
    begun.save_training(before, History(), finished=False)
    history_to_resume(begun, now)
    now["data"][TEXT_SHA256] = "decaf"
    with pytest.raises(ValueError, match="was started on other text"):
        history_to_resume(begun, now)


def test_a_version_that_recorded_no_kind_of_vocabulary_had_this_one(begun: RunDirectory) -> None:
    before, now = settings(), settings()
    now["data"]["tokenizer_type"] = "bpe"
    begun.save_training(before, History(), finished=False)
    history_to_resume(begun, now)
    before["data"]["tokenizer_type"] = "unigram"
    begun.save_training(before, History(), finished=False)
    with pytest.raises(ValueError, match="started with tokenizer_type='unigram', not 'bpe'"):
        history_to_resume(begun, now)


@pytest.mark.parametrize(
    ("tasks", "told"),
    [
        (("masked-lm", "causal-lm"), "task='masked-lm', not 'causal-lm'"),
        ((None, "causal-lm"), "task='translation', not 'causal-lm'"),
    ],
)
def test_another_task_is_named_before_what_follows_from_it(
    begun: RunDirectory, tasks: tuple[str | None, str], told: str
) -> None:
    before, now = settings(learning_rate=0.1), settings()
    for record, task in zip((before, now), tasks, strict=True):
        if task is not None:
            record["data"]["task"] = task
    begun.save_training(before, History(), finished=False)
    with pytest.raises(ValueError, match=f"was started with {told}: resume"):
        history_to_resume(begun, now)
