"""What version 0.1 left on disk loads, gives the answers that it gave, and trains on."""

from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest

from keras_transformer import TrainOptions, load_run, train
from keras_transformer.data.sources.corpus import Corpus, Pairs

IDS = {
    "source_ids": np.array([[5, 6, 7, 3]], np.int32),
    "target_ids": np.array([[2, 9, 8]], np.int32),
}


@pytest.mark.parametrize("name", ["finished", "tied"])
def test_a_run_gives_the_logits_that_it_gave(runs: Path, name: str) -> None:
    model = load_run(runs / name)[0]
    np.testing.assert_allclose(model(IDS), np.load(runs / name / "logits.npy"), atol=1e-6)


@pytest.mark.parametrize("name", ["finished", "tied"])
def test_a_model_is_loaded_by_keras_alone_and_saved_again(runs: Path, name: str) -> None:
    model = keras.saving.load_model(runs / name / "model.keras")
    model.save(runs / "again.keras")
    again = keras.saving.load_model(runs / "again.keras")
    for loaded in (model, again):
        np.testing.assert_allclose(loaded(IDS), np.load(runs / name / "logits.npy"), atol=1e-6)


def read(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()


@pytest.mark.exhaustive
def test_an_interrupted_training_goes_on_as_it_would_have(runs: Path) -> None:
    source, target = read(runs / "source.txt"), read(runs / "target.txt")
    corpus = Corpus(Pairs(source, target, "t"), Pairs(source[:6], target[:6], "v"))
    model: dict[str, Any] = {"model_dim": 8, "feed_forward_dim": 12, "num_heads": 2}
    model |= {"num_encoder_layers": 1, "num_decoder_layers": 1, "dropout": 0.1}
    model |= {"positions": "learned", "max_positions": 20, "share_embeddings": "none"}
    options = TrainOptions(
        epochs=4,
        batch_tokens=64,
        checkpoint_steps=5,
        average_checkpoints=2,
        final_model="average",
        learning_rate=0.003,
        warmup_steps=10,
        max_length=20,
        bleu_sentences=0,
    )
    train(
        corpus,
        runs / "interrupted",
        options=options,
        vocab_size=28,
        overrides=model,
        resume=True,
    )
    logits = load_run(runs / "interrupted")[0](IDS)
    np.testing.assert_allclose(logits, np.load(runs / "finished" / "logits.npy"), atol=1e-5)
