"""Whole runs with gradual unfreezing: resumed ones, and what is new in a translation."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
from single_texts import write_run

from keras_transformer.data.sources.corpus import Corpus, Pairs
from keras_transformer.data.sources.texts import LabelledCorpus, LabelledTexts, TextCorpus, Texts
from keras_transformer.runs.checkpoints import checkpoint_step, list_checkpoints
from keras_transformer.runs.finished_run import load_run
from keras_transformer.runs.run_directory import RunDirectory
from keras_transformer.training.run.options import TrainOptions
from keras_transformer.training.run.train import train
from keras_transformer.training.texts.train import train_texts

pytestmark = pytest.mark.usefixtures("few_updates")

WORDS = ("ab", "ba", "cad", "dac", "bed", "deb")
LINES = [f"{a} {b}" for a in WORDS for b in WORDS]
TEXTS = TextCorpus(Texts(LINES, "texts"))
LABELS = ["early" if line < "b" else "late" for line in LINES]
LABELLED = LabelledCorpus(LabelledTexts(LABELS, LINES, None, "train"))
OPTIONS = {"batch_tokens": 64, "max_length": 32, "learning_rate": 0.01, "warmup_steps": 2}


def weights(model: Any) -> dict[str, np.ndarray]:
    return {weight.path: np.array(weight) for weight in model.weights}


@pytest.fixture(scope="module")
def begun(tmp_path_factory) -> Path:
    """A finished run of a masked language model of one block."""
    sizes = {"model_dim": 8, "feed_forward_dim": 16}
    return write_run(tmp_path_factory.mktemp("begun"), "masked-lm", LINES, **sizes)


@pytest.fixture
def classify(begun: Path, tmp_path: Path) -> Callable[..., Any]:
    """`classify(name, ...)`: trains a classifier from the run into a directory of that name."""

    def run(name: str, resume: bool = False, **given: Any) -> Any:
        options = {"max_steps": 7, "checkpoint_steps": 2, "unfreeze_steps": 5, "cooldown": 0.0}
        return train_texts(
            "classify",
            LABELLED,
            tmp_path / name,
            init=begun,
            options=TrainOptions(**{**OPTIONS, **options, **given}),
            resume=resume,
        ).model

    return run


@pytest.mark.exhaustive
def test_a_resumed_run_is_the_unbroken_one(classify, tmp_path: Path) -> None:
    """Broken off before the embeddings join."""
    whole = classify("whole")
    classify("broken")
    place = RunDirectory(tmp_path / "broken")
    place.model.unlink()
    for path in list_checkpoints(place.checkpoints):
        if checkpoint_step(path) > 4:
            path.unlink()
    resumed = classify("broken", resume=True)
    for path, weight in weights(whole).items():
        np.testing.assert_array_equal(weight, weights(resumed)[path])
    with pytest.raises(ValueError, match="started with unfreeze_steps=5, not 4"):
        classify("broken", resume=True, unfreeze_steps=4)


class FirstUpdate(keras.callbacks.Callback):
    """Keeps the weights after the first update."""

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        if batch == 0:
            self.weights = weights(self.model.transformer)


def test_what_is_new_learns_from_the_start_and_what_is_taken_waits(
    begun: Path, tmp_path: Path
) -> None:
    options = TrainOptions(max_steps=2, unfreeze_steps=1, bleu_sentences=0, **OPTIONS)
    corpus, first = Corpus(Pairs(LINES, LINES[::-1], "pairs")), FirstUpdate()
    overrides = {"num_decoder_layers": 1}
    model = train(
        corpus,
        tmp_path / "run",
        init=begun,
        overrides=overrides,
        options=options,
        callbacks=[first],
    ).model
    taken = weights(load_run(begun)[0])["embeddings/tokens/matrix"]
    matrix = "source_embeddings/tokens/matrix"
    np.testing.assert_array_equal(first.weights[matrix], taken)
    assert np.any(weights(model)[matrix] != taken)
    assert np.all(first.weights["decoder/block_0/feed_forward_residual/layer_norm/gamma"] != 1)


def test_without_weights_to_start_from_it_is_refused(tmp_path: Path) -> None:
    options = TrainOptions(unfreeze_steps=2)
    message = "unfreeze_steps lets the weights .* and there is none: give one"
    with pytest.raises(ValueError, match=message):
        train_texts("masked-lm", TEXTS, tmp_path / "texts", options=options)
    with pytest.raises(ValueError, match=message):
        train(Corpus(Pairs(LINES, LINES, "pairs")), tmp_path / "pairs", options=options)
