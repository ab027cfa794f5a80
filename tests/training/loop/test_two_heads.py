"""BERT's two losses: their sum in float64, whole and in parts."""

from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_transformer.config.encoder_only import EncoderConfig
from keras_transformer.models.encoder_only import build_encoder
from keras_transformer.training.loop.accumulation import accumulated_gradients
from keras_transformer.training.loop.training_model import TrainingModel
from keras_transformer.training.loss.cross_entropy import count_tokens

PLACES = np.array([[1, 2, 3], [2, 0, 0], [3, 1, 0]], np.int32)
LABELS = np.array([[1, 7, 9, 5], [0, 8, 0, 0], [1, 6, 11, 0]], np.int32)
HIDDEN = np.array([[1, 1, 1], [1, 0, 0], [1, 1, 0]], np.float32)


@pytest.fixture(scope="module")
def model(randomize: Any) -> Any:
    config = EncoderConfig(
        vocab_size=20,
        model_dim=8,
        feed_forward_dim=12,
        num_heads=2,
        num_layers=1,
        max_positions=10,
        layer_norm_epsilon=1e-5,
        head="pretraining",
        dropout=0.0,
        attention_dropout=0.0,
    )
    return randomize(build_encoder(config))


@pytest.fixture
def batch() -> Any:
    ids = np.array([[2, 7, 9, 5, 3], [2, 6, 8, 3, 0], [2, 11, 5, 6, 3]], np.int32)
    inputs = {"token_ids": ids, "token_type_ids": np.int32(ids > 8), "places": PLACES}
    weights = np.concatenate([np.full((3, 1), HIDDEN.sum() / 3, np.float32), HIDDEN], axis=1)
    return tf.nest.map_structure(tf.constant, (inputs, LABELS, weights))


def log_softmax(logits: Any) -> np.ndarray:
    logits = np.asarray(logits, np.float64)
    return logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True))


def test_the_loss_is_the_sum_of_both_means(model: Any, batch: Any) -> None:
    inputs, labels, weights = batch
    training = TrainingModel(model, label_smoothing=0.0)
    loss = training.compute_loss(inputs, labels, training(inputs), weights)
    outputs = model({name: inputs[name] for name in ("token_ids", "token_type_ids")})
    tokens = np.take_along_axis(log_softmax(outputs["logits"]), PLACES[:, :, None], axis=1)
    of_tokens = np.take_along_axis(tokens, LABELS[:, 1:, None], axis=2)[..., 0]
    pairs = log_softmax(outputs["next_sentence"])
    of_pairs = np.take_along_axis(pairs, LABELS[:, :1], axis=1)
    expected = -(of_tokens * HIDDEN).sum() / HIDDEN.sum() - of_pairs.mean()
    np.testing.assert_allclose(loss, expected, rtol=1e-5)
    accuracy = float(training.next_sentence_accuracy.result())
    assert accuracy == pytest.approx(np.mean(pairs.argmax(1) == LABELS[:, 0]))
    perplexity = np.exp(-(of_tokens * HIDDEN).sum() / HIDDEN.sum())
    np.testing.assert_allclose(training.perplexity.result(), perplexity, rtol=1e-4)


def test_parts_of_a_batch_add_up_to_it(model: Any, batch: Any) -> None:
    training = TrainingModel(model)
    training.compile(keras.optimizers.SGD())
    tokens = count_tokens(batch[2])
    whole, parts = (accumulated_gradients(training, batch, tokens, count) for count in (1, 3))
    np.testing.assert_allclose(whole[0], parts[0], rtol=1e-5)
    for one, other in zip(whole[1], parts[1], strict=True):
        np.testing.assert_allclose(one, other, atol=1e-5)
    trained = {variable.path for variable in training.trainable_variables}
    assert {"next_sentence/linear/kernel", "pooler/linear/kernel"} <= trained
