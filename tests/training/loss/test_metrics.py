"""Token accuracy and perplexity: worked values, padding, and sums over batches."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_transformer.training.loss.label_smoothing import SmoothedCrossEntropy
from keras_transformer.training.loss.metrics import Perplexity, TokenAccuracy

LABELS = np.array([[4, 8, 3, 0], [5, 3, 0, 0]])
WEIGHTS = (LABELS != 0).astype("float32")


def logits_that_choose(ids: np.ndarray) -> np.ndarray:
    return np.eye(9, dtype="float32")[ids]


def test_accuracy_counts_real_tokens_only() -> None:
    metric = TokenAccuracy()
    # Of five real tokens three are right; all padding is "wrong".
    chosen = np.array([[4, 8, 7, 1], [5, 7, 1, 1]])
    metric.update_state(LABELS, logits_that_choose(chosen), sample_weight=WEIGHTS)
    assert float(metric.result()) == pytest.approx(3 / 5)
    # Right padding would be as little of a merit.
    metric.reset_state()
    chosen[:, 2:] = 0
    metric.update_state(LABELS, logits_that_choose(chosen), sample_weight=WEIGHTS)
    assert float(metric.result()) == pytest.approx(3 / 5)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_perplexity_is_exp_of_the_mean_negative_log_likelihood(token_losses, dtype: str) -> None:
    metric, nats = Perplexity(), []
    for seed, keep in enumerate((WEIGHTS, np.ones_like(WEIGHTS))):
        logits = tf.cast(np.random.default_rng(seed).standard_normal((2, 4, 9)), dtype)
        metric.update_state(LABELS, logits, sample_weight=keep)
        losses = token_losses(LABELS, tf.cast(logits, "float64"), 0.0)
        nats += list(losses[keep > 0])
    # Tokens of both batches weigh alike, though one batch holds more of them.
    assert len(nats) == 13
    assert float(metric.result()) == pytest.approx(np.exp(np.mean(nats)), rel=1e-5)


def test_tokens_of_short_and_long_batches_count_alike() -> None:
    metric = TokenAccuracy()
    metric.update_state(np.array([[4]]), logits_that_choose(np.array([[4]])), np.ones((1, 1)))
    labels, chosen = np.array([[5, 5, 5, 5]]), np.array([[5, 1, 1, 1]])
    metric.update_state(labels, logits_that_choose(chosen), np.ones((1, 4)))
    assert float(metric.result()) == pytest.approx(2 / 5)


def test_perplexity_of_even_odds_is_their_number() -> None:
    metric = Perplexity()
    metric.update_state(LABELS, np.zeros((2, 4, 9)), sample_weight=WEIGHTS)
    assert float(metric.result()) == pytest.approx(9, rel=1e-6)


def test_evaluate_reports_both_over_all_batches(logit_table, token_losses) -> None:
    logit_table.compile(
        loss=SmoothedCrossEntropy(0.1), weighted_metrics=[TokenAccuracy(), Perplexity()]
    )
    ids = np.array([[2, 4, 8, 0], [2, 5, 0, 0]])
    batches = tf.data.Dataset.from_tensor_slices((ids, LABELS, WEIGHTS)).batch(1)
    found = logit_table.evaluate(batches, verbose=0, return_dict=True)
    logits, real = np.asarray(logit_table(ids)), LABELS != 0
    nats = token_losses(LABELS, logits, 0.0)[real]
    assert found["perplexity"] == pytest.approx(np.exp(nats.mean()), rel=1e-5)
    right = (logits.argmax(axis=-1) == LABELS)[real]
    assert found["token_accuracy"] == pytest.approx(right.mean(), rel=1e-6)


@pytest.mark.parametrize("kind", [TokenAccuracy, Perplexity])
def test_config_round_trip(kind: type) -> None:
    metric = kind(name="mine", dtype="float32")
    twin = keras.metrics.deserialize(keras.metrics.serialize(metric))
    assert isinstance(twin, kind)
    assert twin.get_config() == metric.get_config()
