"""The loss of an adaptive softmax, against that of the log-probabilities of all ids."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_transformer.layers import AdaptiveSoftmax
from keras_transformer.training.loss.adaptive_cross_entropy import adaptive_cross_entropy

STATES = np.random.default_rng(0).standard_normal((9, 8)).astype("float32")
# Twice the last cluster has no token.
LABELS = {"all": [0, 3, 4, 6, 7, 10, 9, 5, 1], "frequent": [0, 1, 2, 3, 4, 5, 6, 0, 0]}
WEIGHTS = np.array([1, 1, 1, 0.5, 1, 2, 0, 1, 0], "float32")


@pytest.fixture
def head(randomize) -> AdaptiveSoftmax:
    made = AdaptiveSoftmax(11, [4, 7], div_value=2, use_bias=True)
    made.build(STATES.shape)
    return randomize(made)


@pytest.mark.parametrize(
    ("which", "jit_compile"),
    [
        ("all", False),
        ("frequent", False),
        pytest.param("frequent", True, marks=pytest.mark.exhaustive),
        pytest.param("all", True, marks=pytest.mark.exhaustive),
    ],
)
def test_loss_and_gradients_are_those_of_all_log_probabilities(
    which: str, jit_compile: bool, head: AdaptiveSoftmax
) -> None:
    labels = tf.constant(LABELS[which])

    @tf.function(jit_compile=jit_compile, autograph=False)
    def fused(states: tf.Tensor) -> tf.Tensor:
        return adaptive_cross_entropy(states, head.softmaxes, labels, tf.constant(WEIGHTS))

    with tf.GradientTape(persistent=True) as tape:
        sums = fused(tf.constant(STATES))
        loss = sums[0]
        chosen = tf.gather(head(STATES), labels, batch_dims=1)
        expected = -tf.reduce_sum(chosen * WEIGHTS)
    np.testing.assert_allclose(sums[:2], [expected, expected], rtol=1e-5)
    ours, theirs = (tape.gradient(one, head.trainable_variables) for one in (loss, expected))
    for mine, other in zip(ours, theirs, strict=True):
        zeros = np.zeros_like(other)
        np.testing.assert_allclose(zeros if mine is None else mine, other, atol=1e-5)


def test_a_hit_has_the_best_cluster_and_the_best_id_in_it(head: AdaptiveSoftmax) -> None:
    first, *others = (np.asarray(one.logits(STATES)) for one in head.softmaxes)
    best = [
        row if row < 4 else (4, 7)[row - 4] + others[row - 4][token].argmax()
        for token, row in enumerate(first.argmax(-1))
    ]
    labels = np.where(np.arange(9) % 2, best, 0).astype("int32")
    sums = adaptive_cross_entropy(STATES, head.softmaxes, labels, WEIGHTS)
    assert float(sums[2]) == pytest.approx(WEIGHTS[labels == best].sum())


def test_shapes_that_are_fixed_give_the_same(head: AdaptiveSoftmax, monkeypatch) -> None:
    given = STATES, head.softmaxes, np.array(LABELS["all"], np.int32), WEIGHTS
    expected = adaptive_cross_entropy(*given)
    monkeypatch.setattr(keras.backend, "backend", lambda: "jax")
    np.testing.assert_allclose(adaptive_cross_entropy(*given), expected, rtol=1e-5)
