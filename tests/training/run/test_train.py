"""Training runs: steps, files, the final average, and a real kill that leaves no trace."""

import dataclasses
import json
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import few_updates
import keras
import numpy as np
import pytest
from few_updates import without_graphs

from keras_transformer.config import TransformerConfig
from keras_transformer.data.batching.batches import batches_per_epoch
from keras_transformer.data.encoding.encode import encode_pairs
from keras_transformer.data.sources.corpus import Corpus, Pairs
from keras_transformer.runs.checkpoints import checkpoint_step, list_checkpoints
from keras_transformer.runs.finished_run import load_run
from keras_transformer.text.tokenizer import Tokenizer, train_tokenizer
from keras_transformer.training.run.options import TrainOptions
from keras_transformer.training.run.train import train

SETTINGS: dict[str, Any] = {
    "overrides": {
        "model_dim": 8,
        "feed_forward_dim": 12,
        "num_heads": 2,
        "num_encoder_layers": 1,
        "num_decoder_layers": 1,
        "dropout": 0.2,
    },
    "vocab_size": 14,
}
# Three epochs of four batches; checkpoints after 3, 6, 9 and 12 updates cross their borders.
OPTIONS = {
    "epochs": 3,
    "batch_tokens": 48,
    "checkpoint_steps": 3,
    "average_checkpoints": 2,
    "warmup_steps": 4,
    "learning_rate": 0.01,
    "seed": 5,
    "bleu_sentences": 0,
    "final_model": "average",
    "optimizer": "adam",
    "r_drop": 0.0,
}
STEPS, EPOCHS = 12, 3


class BatchLosses(keras.callbacks.Callback):
    """Keeps what `fit` shows after each batch, by the updates made until then."""

    def __init__(self) -> None:
        super().__init__()
        self.by_step: dict[int, float] = {}

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        self.by_step[int(self.model.optimizer.iterations)] = float(logs["loss"])


class Interrupt(keras.callbacks.Callback):
    """Stops a run before its first update."""

    def on_train_begin(self, logs: Any = None) -> None:
        raise KeyboardInterrupt


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    words = ("ab", "ba", "cad", "dac", "bed", "deb")
    source = [f"{a} {b}" if a != b else a for a in words for b in words]
    target = [" ".join(word[::-1] for word in line.split()) for line in source]
    return Corpus(
        train=Pairs(source[:30], target[:30], "words"), valid=Pairs(source[30:], target[30:], "w")
    )


@dataclasses.dataclass(frozen=True)
class Run:
    directory: Path
    model: Any
    losses: dict[int, float]


@pytest.fixture(scope="module")
def unbroken(corpus: Corpus, tmp_path_factory: pytest.TempPathFactory) -> Run:
    directory, losses = tmp_path_factory.mktemp("unbroken"), BatchLosses()
    with without_graphs():
        model = train(
            corpus, directory, options=TrainOptions(**OPTIONS), callbacks=[losses], **SETTINGS
        ).model
    return Run(directory, model, losses.by_step)


KILLED = """
import json, os, signal, sys
import keras
from keras_transformer.data.sources.corpus import Corpus, Pairs
from keras_transformer.training.run.options import TrainOptions
from keras_transformer.training.run.train import train

class Kill(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        if int(self.model.optimizer.iterations) == 8:
            os.kill(os.getpid(), signal.SIGKILL)

given = json.loads(sys.argv[1])
sys.path.append(given["shared"])
from few_updates import without_graphs

corpus = Corpus(*(Pairs(*pairs) for pairs in given["corpus"]))
options = TrainOptions(**given["options"])
with without_graphs():
    train(corpus, given["directory"], options=options, callbacks=[Kill()], **given["settings"])
"""


@pytest.fixture(scope="module")
def resumed(corpus: Corpus, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run killed after 8 updates in a process of its own, then continued in this one."""
    directory, losses = tmp_path_factory.mktemp("killed"), BatchLosses()
    given = {
        "corpus": [
            [list(pairs.source), list(pairs.target), pairs.origin]
            for pairs in (corpus.train, corpus.valid)
        ],
        "directory": str(directory),
        "options": OPTIONS,
        "settings": SETTINGS,
        "shared": str(Path(few_updates.__file__).parent),
    }
    killed = subprocess.run(
        [sys.executable, "-c", KILLED, json.dumps(given)], capture_output=True, check=False
    )
    assert killed.returncode == -signal.SIGKILL, killed.stderr.decode()
    assert not (directory / "model.keras").exists()
    assert [path.name for path in list_checkpoints(directory / "checkpoints")] == [
        "step_00000003.npz",
        "step_00000006.npz",
    ]
    # The record is written before its checkpoint: a kill between them leaves a round too many.
    record = json.loads((directory / "training.json").read_text())
    for values in record["history"].values():
        values.append(9.0)
    (directory / "training.json").write_text(json.dumps(record))
    with without_graphs():
        model = train(
            corpus,
            directory,
            options=TrainOptions(**OPTIONS),
            resume=True,
            callbacks=[losses],
            **SETTINGS,
        ).model
    return Run(directory, model, losses.by_step)


def test_what_is_no_corpus_and_a_single_tokenizer_are_named(corpus: Corpus, tmp_path: Path) -> None:
    wrong: Any = corpus.train
    with pytest.raises(TypeError, match=r"got Pairs: wrap pairs as Corpus\(train=pairs\)"):
        train(wrong, tmp_path / "run")
    single: Any = train_tokenizer(["ab ba abba"] * 3, 8)
    with pytest.raises(TypeError, match="those of source and target, got one Tokenizer: give it"):
        train(corpus, tmp_path / "run", tokenizers=single)
    assert not (tmp_path / "run").exists()


def test_updates_are_the_batches_seen(unbroken: Run, corpus: Corpus) -> None:
    tokenizer = Tokenizer.load(unbroken.directory / "tokenizer.model")
    encoded = encode_pairs(corpus.train, tokenizer, tokenizer, 256)
    assert EPOCHS * batches_per_epoch(encoded, OPTIONS["batch_tokens"]) == STEPS
    assert list(unbroken.losses) == list(range(1, STEPS + 1))
    assert checkpoint_step(list_checkpoints(unbroken.directory / "checkpoints")[-1]) == STEPS


def test_a_killed_run_goes_on_as_if_nothing_had_happened(unbroken: Run, resumed: Run) -> None:
    assert list(resumed.losses) == [7, 8, 9, 10, 11, 12]
    for step, loss in resumed.losses.items():
        assert loss == pytest.approx(unbroken.losses[step], rel=1e-6)
    for name in ("step_00000009.npz", "step_00000012.npz"):
        with (
            np.load(unbroken.directory / "checkpoints" / name) as expected,
            np.load(resumed.directory / "checkpoints" / name) as found,
        ):
            assert set(found.files) == set(expected.files)
            for variable in expected.files:
                np.testing.assert_allclose(
                    found[variable], expected[variable], rtol=1e-5, atol=1e-7, err_msg=variable
                )
    for found, expected in zip(
        resumed.model.get_weights(), unbroken.model.get_weights(), strict=True
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-7)


def test_the_record_of_a_resumed_run_is_the_unbroken_ones(unbroken: Run, resumed: Run) -> None:
    records = [
        json.loads((run.directory / "training.json").read_text()) for run in (unbroken, resumed)
    ]
    for record in records:
        assert record["finished"] is True
        asked = TrainOptions.preset("tiny", **OPTIONS).to_dict()
        assert record["options"] == json.loads(json.dumps(asked))
        assert record["data"]["train"]["kept"] == 30
        assert len(record["history"]["loss"]) == STEPS // OPTIONS["checkpoint_steps"]
    assert set(records[0]["history"]) == {
        f"{prefix}{name}"
        for prefix in ("", "val_")
        for name in ("loss", "token_accuracy", "perplexity")
    } | {"learning_rate", "step"}
    for name, values in records[0]["history"].items():
        np.testing.assert_allclose(records[1]["history"][name], values, rtol=1e-5, err_msg=name)


def test_the_run_directory_is_complete(unbroken: Run) -> None:
    assert {path.name for path in unbroken.directory.iterdir()} == {
        "config.json",
        "losses.tsv",
        "tokenizer.model",
        "model.keras",
        "checkpoints",
        "logs",
        "training.json",
    }
    assert any(path.is_file() for path in (unbroken.directory / "logs").rglob("*tfevents*"))
    assert TransformerConfig.load(unbroken.directory / "config.json") == unbroken.model.config


def test_the_model_is_the_mean_of_the_last_checkpoints(unbroken: Run) -> None:
    paths = list_checkpoints(unbroken.directory / "checkpoints")
    assert [path.name for path in paths] == ["step_00000009.npz", "step_00000012.npz"]
    saved = [dict(np.load(path)) for path in paths]
    names = sorted(name for name in saved[0] if name.startswith("model/"))
    names = [name for name in names if "seed_generator" not in name]
    weights = unbroken.model.get_weights()
    assert len(weights) == len(names)
    for weight, name in zip(weights, names, strict=True):
        expected = (saved[0][name].astype(float) + saved[1][name]) / 2
        np.testing.assert_allclose(weight, expected, atol=1e-7, err_msg=name)


def test_load_run_gives_the_model_and_one_tokenizer(unbroken: Run) -> None:
    model, source, target = load_run(unbroken.directory)
    assert source is target
    ids = {"source_ids": np.array([[5, 6, 3]]), "target_ids": np.array([[2, 7]])}
    np.testing.assert_array_equal(model(ids), unbroken.model(ids))


def test_load_run_says_what_is_missing(tmp_path: Path, unbroken: Run) -> None:
    with pytest.raises(FileNotFoundError, match="is not a run directory of .* is empty"):
        load_run(tmp_path)
    unbroken_config = (unbroken.directory / "config.json").read_text()
    (tmp_path / "config.json").write_text(unbroken_config)
    with pytest.raises(FileNotFoundError, match="the run has not finished; .* --resume"):
        load_run(tmp_path)


def test_a_finished_run_is_not_overwritten(unbroken: Run, corpus: Corpus) -> None:
    before = (unbroken.directory / "model.keras").read_bytes()
    with pytest.raises(FileExistsError, match="holds a run already: continue it with resume"):
        train(corpus, unbroken.directory, options=TrainOptions(**OPTIONS), **SETTINGS)
    assert (unbroken.directory / "model.keras").read_bytes() == before


def test_resuming_a_finished_run_trains_no_further(unbroken: Run, corpus: Corpus) -> None:
    weights = [weight.copy() for weight in unbroken.model.get_weights()]
    losses = BatchLosses()
    model = train(
        corpus,
        unbroken.directory,
        options=TrainOptions(**OPTIONS),
        resume=True,
        callbacks=[losses],
        **SETTINGS,
    ).model
    assert losses.by_step == {}
    for found, expected in zip(model.get_weights(), weights, strict=True):
        np.testing.assert_array_equal(found, expected)


def test_a_finished_run_without_checkpoints_is_left_as_it_is(
    unbroken: Run, corpus: Corpus, tmp_path: Path
) -> None:
    shutil.copytree(
        unbroken.directory, tmp_path / "run", ignore=shutil.ignore_patterns("checkpoints")
    )
    before = {path: path.read_bytes() for path in (tmp_path / "run").iterdir() if path.is_file()}
    overrides = {**SETTINGS["overrides"], "model_dim": 16}
    with pytest.raises(FileExistsError, match=r"run holds a finished model but no checkpoint"):
        train(corpus, tmp_path / "run", overrides=overrides, vocab_size=15, resume=True)
    assert {path: path.read_bytes() for path in before} == before
    assert {path.name for path in (tmp_path / "run").iterdir()} == {
        *(path.name for path in before),
        "logs",
    }


@pytest.mark.parametrize("use", ["train", "valid"])
def test_resuming_on_changed_text_is_refused(unbroken: Run, corpus: Corpus, use: str) -> None:
    pairs = getattr(corpus, use)
    swapped = dataclasses.replace(
        pairs, target=[pairs.target[1], pairs.target[0], *pairs.target[2:]]
    )
    other = dataclasses.replace(corpus, **{use: swapped})
    options = TrainOptions(**OPTIONS)
    with pytest.raises(ValueError, match="was started on other text: resume on the same"):
        train(other, unbroken.directory, options=options, resume=True, **SETTINGS)


@pytest.mark.exhaustive
def test_a_finished_run_goes_on_with_more_epochs(
    unbroken: Run, corpus: Corpus, tmp_path: Path
) -> None:
    shutil.copytree(unbroken.directory, tmp_path / "run")
    losses = BatchLosses()
    options = TrainOptions(**{**OPTIONS, "epochs": EPOCHS + 1})
    train(corpus, tmp_path / "run", options=options, resume=True, callbacks=[losses], **SETTINGS)
    assert list(losses.by_step) == [13, 14, 15, 16]
    record = json.loads((tmp_path / "run" / "training.json").read_text())
    assert record["options"]["epochs"] == EPOCHS + 1
    assert len(record["history"]["loss"]) == 6


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"options": {"learning_rate": 0.02}}, "started with learning_rate=0.01, not 0.02"),
        ({"options": {"batch_tokens": 80}}, "started with batch_tokens=48, not 80"),
        ({"options": {"seed": 6}}, "started with seed=5, not 6"),
        ({"overrides": {"feed_forward_dim": 16}}, "started with feed_forward_dim=12, not 16"),
        ({"vocab_size": 15}, "started with vocab_size=14, not 15"),
        ({"tokenizer_type": "bpe"}, "started with tokenizer_type='unigram', not 'bpe'"),
        ({"joint_vocabulary": False}, "started with joint_vocabulary=True, not False"),
    ],
    ids=str,
)
def test_resuming_with_other_settings_is_refused(
    unbroken: Run, corpus: Corpus, change: dict[str, Any], message: str
) -> None:
    settings = {**SETTINGS, **change}
    settings["overrides"] = {**SETTINGS["overrides"], **change.get("overrides", {})}
    settings["options"] = TrainOptions(**{**OPTIONS, **change.get("options", {})})
    with pytest.raises(ValueError, match=message):
        train(corpus, unbroken.directory, resume=True, **settings)


def test_a_run_stopped_before_its_first_checkpoint_starts_anew(
    tmp_path: Path, corpus: Corpus
) -> None:
    for resume in (False, False, True):
        with without_graphs(), pytest.raises(KeyboardInterrupt):
            train(
                corpus,
                tmp_path,
                options=TrainOptions(**OPTIONS),
                callbacks=[Interrupt()],
                resume=resume,
                **SETTINGS,
            )


def test_a_sentence_longer_than_learned_positions_is_found_before_training(
    tmp_path: Path, corpus: Corpus
) -> None:
    overrides = {**SETTINGS["overrides"], "positions": "learned", "max_positions": 16}
    with pytest.raises(ValueError, match=r"max_length \(256\) is more than .* max_positions \(16"):
        train(corpus, tmp_path, overrides=overrides, vocab_size=14)


@pytest.mark.parametrize(
    "dtype_policy", [pytest.param("float32", marks=pytest.mark.exhaustive), "mixed_bfloat16"]
)
def test_two_vocabularies_and_a_limit_between_checkpoints(
    tmp_path: Path, corpus: Corpus, dtype_policy: str
) -> None:
    options = {**OPTIONS, "max_steps": 5, "dtype_policy": dtype_policy, "clip_norm": 1.0}
    losses = BatchLosses()
    with without_graphs():
        model = train(
            Corpus(corpus.train),
            tmp_path,
            options=TrainOptions(**options),
            joint_vocabulary=False,
            callbacks=[losses],
            overrides=SETTINGS["overrides"],
            vocab_size=14,
        ).model
    assert list(losses.by_step) == [1, 2, 3, 4, 5]
    assert [path.name for path in list_checkpoints(tmp_path / "checkpoints")] == [
        "step_00000003.npz",
        "step_00000005.npz",
    ]
    assert model.config.share_embeddings == "target"
    reloaded, source, target = load_run(tmp_path)
    assert source.model != target.model
    assert reloaded.dtype_policy.name == dtype_policy
    assert keras.config.dtype_policy().name == "float32"
    ids = {"source_ids": np.array([[5, 6, 3]]), "target_ids": np.array([[2, 7]])}
    difference = np.abs(np.asarray(reloaded(ids) - model(ids), "float32"))
    assert difference.max() == 0
