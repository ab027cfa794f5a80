"""Runs on streams: resumed as if unbroken, validated with memory, and what does not go with it."""

from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
from few_updates import without_graphs
from single_texts import PLAIN

from keras_transformer.data.encoding.stream import encode_stream
from keras_transformer.data.sources.texts import TextCorpus, Texts
from keras_transformer.runs.finished_run import load_run
from keras_transformer.runs.run_directory import RunDirectory
from keras_transformer.training.run.options import TrainOptions
from keras_transformer.training.texts.options import TextOptions

STREAM = TextOptions(packing="stream")
MEMORY: dict[str, Any] = {
    "preset": "transformer-xl-tiny",
    "text_options": STREAM,
    "overrides": {"max_positions": None, "memory_length": 8},
    "options": {"max_length": 8, "checkpoint_steps": 5, "max_steps": 10},
}


def test_a_resumed_run_is_the_unbroken_one_with_its_memory(start, tmp_path: Path) -> None:
    options = {"max_length": 8, "checkpoint_steps": 1, "max_steps": 2}
    two = {**MEMORY, "options": options}
    with without_graphs():
        whole = start("causal-lm", "whole", **two)
        start("causal-lm", "broken", **{**MEMORY, "options": {**options, "max_steps": 1}})
        (tmp_path / "broken" / "model.keras").unlink()
        resumed = start("causal-lm", "broken", resume=True, **two)
    for one, other in zip(whole.weights, resumed.weights, strict=True):
        np.testing.assert_array_equal(one, other)
    names = [tmp_path / run / "checkpoints" / "step_00000002.npz" for run in ("whole", "broken")]
    first, second = (np.load(name) for name in names)
    assert any("memory_keep_mask" in name for name in first.files)
    for name in first.files:
        np.testing.assert_array_equal(first[name], second[name])


def test_the_validation_loss_is_that_of_one_pass(start, tmp_path: Path) -> None:
    valid = Texts(PLAIN.train.lines[3:9], "valid")
    corpus = TextCorpus(PLAIN.train, valid)
    options = {"max_length": 8, "batch_tokens": 8, "checkpoint_steps": 2, "max_steps": 2}
    with without_graphs():
        start("causal-lm", "run", corpus, **{**MEMORY, "options": options})
    model, tokenizer, _ = load_run(tmp_path / "run")
    stream = encode_stream(valid, tokenizer, 8)
    ids, labels = stream.token_ids[None, :-1], stream.token_ids[1:]
    log_probs = np.asarray(keras.ops.log_softmax(model({"token_ids": ids}), axis=-1))[0]
    nats = -log_probs[np.arange(len(labels)), labels].mean()
    figures = RunDirectory(tmp_path / "run").load_training()["history"]
    assert figures["val_perplexity"][-1] == pytest.approx(np.exp(nats), rel=1e-4)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"r_drop": 1.0}, "r_drop=1.0 does not go with a memory of packing='stream'"),
        ({"micro_batches": 2}, "micro_batches=2 does not go with a memory"),
        ({"strategy": "mirrored"}, "strategy='mirrored' does not go with a memory"),
    ],
)
def test_what_divides_or_doubles_rows_is_refused(options: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        TrainOptions(**options).check_memory()


@pytest.mark.exhaustive
def test_rows_that_do_not_go_on_train_the_model_without_memory(start, tmp_path: Path) -> None:
    start("causal-lm", "run", **{**MEMORY, "text_options": TextOptions()})
    assert load_run(tmp_path / "run")[0].config.memory_length == 8
