"""Sentence embeddings: the loss of whole updates, runs in small, and what they export."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
from single_texts import write_run

from keras_transformer.config.encoder_only import EncoderConfig
from keras_transformer.data.sources.corpus import Corpus, Pairs
from keras_transformer.decoding.encoder import TextEncoder
from keras_transformer.models.families import build_model
from keras_transformer.runs.finished_run import load_run
from keras_transformer.training.loop.compiling import compile_training
from keras_transformer.training.run.options import TrainOptions, TrainPlan
from keras_transformer.training.texts.embedding_model import EmbeddingTrainingModel
from keras_transformer.training.texts.train import train_texts

WORDS = ("ab", "ba", "cad", "dac", "bed", "deb")
FIRST = [f"{a} {b}" for a in WORDS for b in WORDS]
SECOND = [f"{b} {a} {b}" for a in WORDS for b in WORDS]
CORPUS = Corpus(Pairs(FIRST, SECOND, "train"), Pairs(FIRST[:9], SECOND[:9], "valid"))
SIZES = {"model_dim": 16, "feed_forward_dim": 32, "num_heads": 2, "num_layers": 1}
OPTIONS = {"batch_tokens": 200, "max_length": 32, "learning_rate": 0.01, "warmup_steps": 4}


@pytest.fixture(scope="module")
def begun(tmp_path_factory) -> Path:
    """A finished run of a masked language model."""
    return write_run(tmp_path_factory.mktemp("begun"), "masked-lm", FIRST + SECOND)


@pytest.fixture
def embed(begun: Path, tmp_path: Path) -> Callable[..., Any]:
    """`embed(name, ...)`: trains embeddings from the run into a directory of that name."""

    def run(name: str, **given: Any) -> Any:
        settings = {name: given.pop(name) for name in ("resume", "overrides") if name in given}
        options = {**OPTIONS, "label_smoothing": 0.0, "max_steps": 6, "checkpoint_steps": 3}
        options = TrainOptions(**{**options, "cooldown": 0.0, **given})
        return train_texts(
            "embed", CORPUS, tmp_path / name, init=begun, options=options, **settings
        ).model

    return run


@pytest.mark.parametrize(("pooling", "num_token_types"), [("mean", 0), ("first", 2)])
def test_loss_and_accuracy_are_those_of_the_vectors(pooling: Any, num_token_types: int) -> None:
    keras.utils.set_random_seed(0)
    config = EncoderConfig.preset(
        "bert-tiny", vocab_size=20, head="embedding", pooling=pooling,
        num_token_types=num_token_types, dropout=0.0, attention_dropout=0.0, **SIZES
    )  # fmt: skip
    model = build_model(config)
    training = compile_training(EmbeddingTrainingModel(model), TrainPlan(label_smoothing=0.0), 9)
    ids = np.random.default_rng(0).integers(5, 20, (4, 2, 6), np.int32)
    ids[1, 0, 4:] = ids[2, 1, 3:] = 0
    inputs = {"token_ids": ids}
    if num_token_types:
        inputs["token_type_ids"] = np.zeros_like(ids)
    sides = [
        np.asarray(model({name: rows[:, side] for name, rows in inputs.items()}), np.float64)
        for side in (0, 1)
    ]
    first, second = (side / np.linalg.norm(side, axis=1, keepdims=True) for side in sides)
    logits = 20 * first @ second.T
    expected = np.mean(np.log(np.exp(logits).sum(axis=1)) - np.diag(logits))
    labels = np.arange(4, dtype=np.int32)[:, None]
    found = training.test_on_batch(inputs, labels, np.ones((4, 1), np.float32), return_dict=True)
    assert found["loss"] == pytest.approx(expected, rel=1e-4)
    assert found["retrieval_accuracy"] == np.mean(logits.argmax(axis=1) == np.arange(4))
    assert "perplexity" not in found


@pytest.mark.exhaustive
def test_a_run_learns_to_find_the_other_text(embed, tmp_path: Path, begun: Path) -> None:
    model = embed("run", max_steps=150, checkpoint_steps=150, average_checkpoints=1)
    assert model.config.head == "embedding" and model.config.num_layers == 1
    encoder = TextEncoder(*load_run(tmp_path / "run")[:2])
    first, second = (encoder.embed(texts) for texts in (FIRST, SECOND))
    first, second = (side / np.linalg.norm(side, axis=1, keepdims=True) for side in (first, second))
    found = np.argmax(first @ second.T, axis=1)
    assert np.mean(found == np.arange(len(FIRST))) > 0.7


@pytest.mark.exhaustive
def test_a_resumed_run_is_the_unbroken_one(embed, tmp_path: Path) -> None:
    whole = embed("whole")
    embed("broken", max_steps=3)
    (tmp_path / "broken" / "model.keras").unlink()
    resumed = embed("broken", resume=True)
    for one, other in zip(whole.weights, resumed.weights, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"label_smoothing": 0.1}, "label_smoothing=0.1 is not for embed"),
        ({"r_drop": 1.0}, "r_drop=1.0 is not for embed"),
        ({"micro_batches": 2}, "micro_batches=2 is not for embed, .* leave it at 1"),
        ({"strategy": "mirrored"}, "strategy='mirrored' is not for embed, .* leave it at None"),
    ],
)
def test_what_does_not_go_with_negatives_of_a_batch_is_refused(values: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        TrainOptions(**{"label_smoothing": 0.0, **values}).check_own_loss("embed, as said")


@pytest.mark.usefixtures("few_updates")
@pytest.mark.parametrize("pooling", [pytest.param("mean", marks=pytest.mark.exhaustive), "first"])
def test_an_export_embeds_as_the_run_does(embed, tmp_path: Path, pooling: str) -> None:
    from keras_transformer.export import export_onnx
    from keras_transformer.runtime.encoder import OnnxEncoder

    embed("run", max_steps=1, overrides={"pooling": pooling})
    model, tokenizer, _ = load_run(tmp_path / "run")
    export_onnx(model, tokenizer, tmp_path / "exported")
    found = OnnxEncoder(tmp_path / "exported").embed(FIRST[:5])
    np.testing.assert_allclose(found, TextEncoder(model, tokenizer).embed(FIRST[:5]), atol=1e-5)
