"""Runs on prepared single texts: what they record, resume and refuse."""

import json
import shutil
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest

from keras_transformer.data.prepared.corpus import PreparedCorpus
from keras_transformer.data.prepared.options import PrepareOptions
from keras_transformer.data.prepared.prepare import prepare
from keras_transformer.data.sources.streams import ParallelFiles, SingleFiles
from keras_transformer.runs.checkpoints import checkpoint_step, list_checkpoints
from keras_transformer.training.run.options import TrainOptions
from keras_transformer.training.run.train import train
from keras_transformer.training.texts.options import TextOptions
from keras_transformer.training.texts.train import train_texts

pytestmark = pytest.mark.usefixtures("few_updates", "without_workers")

WORDS = ("ab", "ba", "cad", "dac", "bed", "deb")
LINES = [f"{a} {b}" for a in WORDS for b in WORDS]
SIZES = {"model_dim": 16, "feed_forward_dim": 32, "num_heads": 2}
OPTIONS = {"batch_tokens": 64, "checkpoint_steps": 2, "warmup_steps": 4, "learning_rate": 0.01}


@pytest.fixture(scope="module")
def corpora(tmp_path_factory, without_workers) -> dict[str, PreparedCorpus]:
    """Prepared corpora: "texts" and "pairs"."""
    folder = tmp_path_factory.mktemp("corpora")
    path, few = folder / "a.txt", folder / "few.txt"
    path.write_text("".join(f"{line}\n" for line in LINES))
    few.write_text("".join(f"{line}\n" for line in LINES[:6]))
    streams: dict[str, Any] = {
        "texts": (SingleFiles((path,)), SingleFiles((few,))),
        "pairs": (ParallelFiles((path,), (path,)), ParallelFiles((few,), (few,))),
    }
    options = PrepareOptions(vocab_size=14, max_length=24, shards=2)
    for name, (stream, valid) in streams.items():
        prepare(
            stream, folder / name, valid=valid, options=options, workers=1, say=lambda line: None
        )
    return {name: PreparedCorpus.load(folder / name) for name in streams}


def start(task: Any, corpus: PreparedCorpus, directory: Path, **given: Any) -> Any:
    settings = {
        name: given.pop(name) for name in ("resume", "text_options", "callbacks") if name in given
    }
    overrides = {**SIZES, **({"num_layers": 1, "max_positions": 32} if task[0] in "mc" else {})}
    options = TrainOptions(
        **{
            **OPTIONS,
            "max_steps": 4,
            "max_length": 32,
            "cooldown": 0.0,
            "bleu_sentences": 0,
            **given,
        }
    )
    given = {"overrides": overrides, "options": options, **settings}
    return train_texts(task, corpus, directory, **given).model


@pytest.mark.exhaustive
def test_sentinels_are_prepared_with_the_vocabulary(
    corpora: dict[str, PreparedCorpus], tmp_path: Path
) -> None:
    sentinels = TextOptions(denoising="sentinels")
    with pytest.raises(
        ValueError, match="prepare the corpus with --num-sentinels 100 and no --tok"
    ):
        start("denoising", corpora["texts"], tmp_path / "a", text_options=sentinels)
    (tmp_path / "a.txt").write_text("".join(f"{line}\n" for line in LINES))
    options = PrepareOptions(vocab_size=24, max_length=24, shards=1, num_sentinels=9)
    files = SingleFiles((tmp_path / "a.txt",))
    prepare(files, tmp_path / "p", options=options, workers=1, say=lambda line: None)
    corpus = PreparedCorpus.load(tmp_path / "p")
    assert len(corpus.source_tokenizer.sentinel_ids) == 9
    start("denoising", corpus, tmp_path / "run", text_options=sentinels, max_steps=1)


@pytest.mark.parametrize(
    "task",
    [
        pytest.param("masked-lm", marks=pytest.mark.exhaustive),
        "causal-lm",
        pytest.param("denoising", marks=pytest.mark.exhaustive),
    ],
)
def test_each_task_on_plain_text_trains_and_resumes(
    task: str, corpora: dict[str, PreparedCorpus], tmp_path: Path, capsys
) -> None:
    corpus = corpora["texts"]
    asked = {"max_steps": 2, "checkpoint_steps": 1}
    whole = start(task, corpus, tmp_path / "whole", **asked)
    assert "train: kept 36 of 36 texts" in capsys.readouterr().out
    start(task, corpus, tmp_path / "broken", **{**asked, "max_steps": 1})
    (tmp_path / "broken" / "model.keras").unlink()
    resumed = start(task, corpus, tmp_path / "broken", resume=True, **asked)
    for one, other in zip(whole.weights, resumed.weights, strict=True):
        np.testing.assert_array_equal(one, other)
    record = json.loads((tmp_path / "whole" / "training.json").read_text())
    assert record["data"]["task"] == task and record["data"]["origin"] == "prepared"
    assert record["history"]["val_loss"][-1] > 0
    tokenizer = (tmp_path / "whole" / "tokenizer.model").read_bytes()
    assert tokenizer == corpus.source_tokenizer.model


def test_corpora_that_do_not_fit_are_refused(
    corpora: dict[str, PreparedCorpus], tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match="prepared of pairs, and masked-lm needs single texts"):
        start("masked-lm", corpora["pairs"], tmp_path / "a")
    with pytest.raises(ValueError, match="a prepared corpus is not for classify"):
        start("classify", corpora["texts"], tmp_path / "a")
    with pytest.raises(ValueError, match="prepared of single texts, and translation needs pairs"):
        train(corpora["texts"], tmp_path / "a", task="translation", overrides=SIZES)
    with pytest.raises(ValueError, match="packing='stream' needs the text"):
        packed = TextOptions(packing="stream")
        start("causal-lm", corpora["texts"], tmp_path / "b", text_options=packed)
    with pytest.raises(ValueError, match="next_sentence=True needs the text"):
        pairs = TextOptions(next_sentence=True)
        start("masked-lm", corpora["texts"], tmp_path / "b", text_options=pairs)
    with pytest.raises(ValueError, match="prepared with max_length=24, more than the 16"):
        start("masked-lm", corpora["texts"], tmp_path / "c", max_length=16)


class Change(keras.callbacks.Callback):
    """Changes a file after an update."""

    def __init__(self, path: Path, content: bytes | None, update: int) -> None:
        super().__init__()
        self.path, self.content, self.update = path, content, update

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        if int(self.model.optimizer.iterations) == self.update:
            self.path.unlink() if self.content is None else self.path.write_bytes(self.content)


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    "split",
    [
        "valid",
        # The pipeline reads five epochs ahead.
        pytest.param("train", marks=pytest.mark.exhaustive),
    ],
)
@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"none", r"shard .* is damaged: .* --resume goes on"),
        pytest.param(None, "shard .* is missing", marks=pytest.mark.exhaustive),
    ],
)
def test_a_shard_that_changes_ends_training_with_its_name_and_keeps_the_checkpoints(
    corpora: dict[str, PreparedCorpus],
    tmp_path: Path,
    split: str,
    content: bytes | None,
    message: str,
) -> None:
    shutil.copytree(corpora["texts"].train.directory, tmp_path / "texts")
    corpus = PreparedCorpus.load(tmp_path / "texts")
    path = next((tmp_path / "texts").glob(f"{split}-*"))
    whole, given = path.read_bytes(), {"checkpoint_steps": 1, "max_steps": 40}
    with pytest.raises((ValueError, FileNotFoundError), match=message):
        start("causal-lm", corpus, tmp_path / "run", callbacks=[Change(path, content, 2)], **given)
    [*_, newest] = list_checkpoints(tmp_path / "run" / "checkpoints")
    path.write_bytes(whole)
    given["max_steps"] = checkpoint_step(newest) + 1
    start("causal-lm", corpus, tmp_path / "run", resume=True, **given)
