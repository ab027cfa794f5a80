"""The arithmetic that both forms of the loss and the metrics share, by hand."""

import numpy as np
import pytest
import tensorflow as tf

from keras_transformer.training.loss.cross_entropy import (
    count_tokens,
    cross_entropy,
    is_best,
    logit_of,
    over_targets,
)
from keras_transformer.training.loss.label_smoothing import smoothed_cross_entropy
from keras_transformer.training.loss.linear_cross_entropy import linear_cross_entropy
from keras_transformer.training.loss.metrics import TokenAccuracy


def test_the_mean_over_targets_is_that_of_the_smoothed_distribution() -> None:
    values = np.array([1.0, 2.0, 6.0])
    # ε = 0.3 over three tokens: targets 0.1, 0.8 and 0.1 for label 1.
    expected = 0.1 * 1 + 0.8 * 2 + 0.1 * 6
    assert over_targets(values[1], values.mean(), 0.3) == pytest.approx(expected)
    assert over_targets(values[1], values.mean(), 0.0) == 2.0


def test_cross_entropy_of_even_odds_is_their_logarithm() -> None:
    assert cross_entropy(np.log(4.0), 0.0) == pytest.approx(np.log(4))


def test_the_logit_of_each_label_is_picked() -> None:
    logits = np.arange(12, dtype="float32").reshape(2, 2, 3)
    found = np.asarray(logit_of([[0, 2], [1, 1]], logits))
    np.testing.assert_array_equal(found, [[0, 5], [7, 10]])


def test_a_label_is_best_where_no_logit_is_higher_but_for_rounding() -> None:
    highest = np.array([2.0, 2.0, 2.0, 1e4, 1e4], "float32")
    at_label = np.array([2.0, 2.0 - 1e-6, 1.99, 1e4 - 0.05, 1e4 - 1], "float32")
    assert np.asarray(is_best(at_label, highest)).tolist() == [True, True, False, True, False]


def test_accuracy_counts_a_label_that_is_as_high_as_another() -> None:
    metric = TokenAccuracy()
    metric.update_state(np.array([[1, 2]]), np.array([[[3.0, 3.0, 1.0], [3.0, 3.0, 1.0]]]))
    assert float(metric.result()) == pytest.approx(1 / 2)


def test_a_batch_without_tokens_counts_as_one() -> None:
    assert float(count_tokens(np.zeros(3, "float32"))) == 1
    assert float(count_tokens(np.array([1.0, 0.5, 1.0], "float32"))) == 2.5


def test_labels_that_a_generator_keeps_stay_what_they_are() -> None:
    # TensorFlow takes such an array without a copy if it begins where its own memory might.
    memory = np.zeros(1024 + 16, "int32")
    labels = memory[-memory.ctypes.data % 64 // 4 :][:1024]
    labels[:] = np.random.default_rng(0).integers(0, 100, 1024)
    before = labels.copy()
    states, matrix = tf.random.normal((1024, 8)), tf.random.normal((100, 8))
    data = tf.data.Dataset.from_generator(
        lambda: iter([labels]), output_signature=tf.TensorSpec((None,), tf.int32)
    )

    @tf.function
    def both(iterator: tf.data.Iterator) -> tuple[tf.Tensor, ...]:
        given = next(iterator)
        weights = tf.ones(tf.shape(given))
        logits = tf.matmul(states, matrix, transpose_b=True)
        return (
            linear_cross_entropy(states, matrix, given, weights, 0.1),
            smoothed_cross_entropy(given, logits, 0.1),
        )

    for _ in range(3):
        both(iter(data))
        np.testing.assert_array_equal(labels, before)
