"""Rerankers: learnt from pairs with scores, and asked; what is no score is refused."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from keras_transformer.config.encoder_only import EncoderConfig
from keras_transformer.data.sources.tables.labelled import read_labelled
from keras_transformer.data.sources.texts import LabelledTexts, ScoredCorpus
from keras_transformer.decoding.encoder import TextEncoder
from keras_transformer.models.encoder_only import build_encoder
from keras_transformer.runs.finished_run import load_run
from keras_transformer.training.texts.score_model import ScoreTrainingModel

# A text that begins with "ab" fits every query.
TEXTS = [f"{word} {rest}" for word in ("ab", "cad") for rest in ("deb", "ba", "dac deb", "bed")]
SCORES = ["0.9" if text.startswith("ab") else "0.1" for text in TEXTS]


def pairs(scores: Any = SCORES, seconds: Any = TEXTS) -> LabelledTexts:
    return LabelledTexts(scores, ["bed ba"] * len(TEXTS), seconds, "example")


@pytest.mark.exhaustive
def test_a_run_learns_scores_and_ranks(start: Callable[..., Any], tmp_path: Path) -> None:
    long = {"max_steps": 140, "checkpoint_steps": 70, "warmup_steps": 10, "max_length": 16}
    settings = {"overrides": {"dropout": 0.0}, "vocab_size": None}
    start("rerank", "run", ScoredCorpus(pairs(), pairs()), options=long, **settings)
    model, tokenizer, _ = load_run(tmp_path / "run")
    assert (model.config.head, model.config.value_activation) == ("regression", "sigmoid")
    found = TextEncoder(model, tokenizer).rerank("bed ba", TEXTS)
    assert all(one.text.startswith("ab") for one in found[:4])
    np.testing.assert_allclose([one.score for one in found], [0.9] * 4 + [0.1] * 4, atol=0.1)


def test_the_loss_is_the_cross_entropy_of_each_score() -> None:
    config = EncoderConfig.preset(
        "bert-tiny", vocab_size=9, head="regression", value_activation="sigmoid", num_layers=1
    )
    model = ScoreTrainingModel(build_encoder(config))
    model.compile()
    given, wanted = tf.constant([[0.25], [0.9], [0.6]]), tf.constant([[0.5], [1.0], [0.0]])
    weights = tf.constant([[1.0], [1.0], [0.0]])
    loss = model.compute_loss(y=wanted, y_pred=given, sample_weight=weights)
    by_hand = [-0.5 * np.log(0.25) - 0.5 * np.log(0.75), -np.log(0.9)]
    assert float(loss) == pytest.approx(np.mean(by_hand), abs=1e-5)
    # Of 0.25 and 0.9, which should be 0.5 and 1, one is on the right side of 0.5.
    assert float(model.accuracy.result()) == pytest.approx(0.5)


@pytest.mark.parametrize("score", ["1.5", "-0.1", "good", "nan"])
def test_what_is_no_score_is_refused(score: str) -> None:
    wanted = rf"a score must be .* 0 to 1, got '{score}' \(example, text 2\)$"
    with pytest.raises(ValueError, match=wanted):
        ScoredCorpus(pairs(["1", score, *SCORES[2:]]))


def test_all_wrong_scores_are_named_by_file_and_line(tmp_path: Path) -> None:
    path = tmp_path / "pairs.tsv"
    lines = ["1\ta\tb", "good\ta\tb", "", "2\ta\tb", "good\ta\tc", "0.5\ta\tb"]
    path.write_text("".join(f"{line}\n" for line in lines))
    wanted = f"got 'good' (2 texts, the first {path}, line 2), '2' ({path}, line 4)"
    with pytest.raises(ValueError, match=re.escape(wanted) + "$"):
        ScoredCorpus(read_labelled(path))


def test_single_texts_are_refused() -> None:
    with pytest.raises(ValueError, match="example holds single texts, and a reranker learns from"):
        ScoredCorpus(pairs(), pairs(seconds=None))


def test_scores_are_smoothed_by_themselves(start: Callable[..., Any]) -> None:
    with pytest.raises(ValueError, match=r"label_smoothing=0.1 is not for rerank"):
        start("rerank", "run", ScoredCorpus(pairs()), options={"label_smoothing": 0.1})
