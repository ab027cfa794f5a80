"""Runs of permutation language modelling: resumed as if unbroken, asked for tokens, and tuned."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from single_texts import LABELLED, LINES, weights

from keras_transformer.data.sources.corpus import Corpus, Pairs
from keras_transformer.data.sources.tagged import TaggedCorpus, TaggedTexts
from keras_transformer.decoding.encoder import TextEncoder
from keras_transformer.runs.finished_run import load_run
from keras_transformer.training.run.loss_record import read_losses
from keras_transformer.training.run.options import TrainOptions
from keras_transformer.training.texts.options import TextOptions
from keras_transformer.training.texts.train import train_texts

TAGGED = TaggedCorpus(
    TaggedTexts([line.split() for line in LINES[:40]], [["X", "Y", "X"]] * 40, origin="tags")
)
PAIRED = Corpus(Pairs(LINES[:30], LINES[30:60], "demo"))
RELATIVE: dict[str, Any] = {"overrides": {"max_positions": None}}


@pytest.mark.exhaustive
def test_a_resumed_run_is_the_unbroken_one_and_fills_masks(start, tmp_path: Path) -> None:
    whole = start("permutation-lm", "whole", **RELATIVE)
    start("permutation-lm", "broken", options={"max_steps": 3}, **RELATIVE)
    (tmp_path / "broken" / "model.keras").unlink()
    resumed = start("permutation-lm", "broken", resume=True, **RELATIVE)
    losses = [read_losses(tmp_path / name / "losses.tsv") for name in ("whole", "broken")]
    assert losses[0] == losses[1] and len(losses[0]) == 6
    for path, weight in weights(whole).items():
        np.testing.assert_array_equal(weight, weights(resumed)[path])
    model, tokenizer, _ = load_run(tmp_path / "whole")
    assert model.config.query_stream and model.config.relative_sinusoids
    [[best, *_]] = TextEncoder(model, tokenizer).fill_mask(["w1 <mask> w3"], num_hypotheses=3)
    assert len(best.tokens) == 1


@pytest.mark.exhaustive
def test_a_classifier_starts_from_it_and_learns(start, tmp_path: Path) -> None:
    start("permutation-lm", "run", options={"max_steps": 1}, **RELATIVE)
    options = {"max_steps": 40, "learning_rate": 0.01, "warmup_steps": 4, "checkpoint_steps": 20}
    model = train_texts(
        "classify",
        LABELLED,
        tmp_path / "labels",
        init=tmp_path / "run",
        overrides={"dropout": 0.0},
        options=TrainOptions(max_length=32, **options),
    ).model
    assert not model.config.query_stream and model.config.relative_segments
    record = json.loads((tmp_path / "labels" / "training.json").read_text())
    assert {path.split("/")[0] for path in record["transfer"]["fresh"]} == {"pooler", "head"}
    assert "encoder/block_0/attention/segments/vectors" in record["transfer"]["taken"]
    first, last = record["history"]["loss"]
    assert last < first


@pytest.mark.exhaustive
def test_a_tagger_and_vectors_start_from_it(start, tmp_path: Path) -> None:
    start("permutation-lm", "run", options={"max_steps": 1}, **RELATIVE)
    options = TrainOptions(max_length=32, max_steps=2)
    for task, corpus, head in (("tag", TAGGED, "tagging"), ("embed", PAIRED, "embedding")):
        settings = {"init": tmp_path / "run", "options": options}
        model = train_texts(task, corpus, tmp_path / task, **settings).model
        assert model.config.head == head and model.config.relative_segments
        record = json.loads((tmp_path / task / "training.json").read_text())
        assert "encoder/block_0/attention/segments/vectors" in record["transfer"]["taken"]


@pytest.mark.parametrize(
    ("task", "settings", "message"),
    [
        (
            "permutation-lm",
            {"preset": "bert-tiny"},
            "knows its places by relative sinusoids .* got positions='learned', relative_sinusoids",
        ),
        (
            "permutation-lm",
            {"overrides": {"memory_length": 4, "max_positions": None}},
            "memory_length: an encoder has no such field",
        ),
        (
            "masked-lm",
            {"text_options": TextOptions(partial_prediction=4)},
            "partial_prediction=4 is for permutation-lm, not for masked-lm",
        ),
    ],
)
def test_what_does_not_go_with_it_is_refused(start, task: str, settings: dict, message) -> None:
    with pytest.raises(ValueError, match=message):
        start(task, "run", **settings)
