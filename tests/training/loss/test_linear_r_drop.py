"""The final linear layer and R-Drop in one, against the definition in float64 and autodiff."""

from collections.abc import Callable

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from keras_transformer.training.loss.linear_cross_entropy import linear_cross_entropy
from keras_transformer.training.loss.linear_r_drop import linear_r_drop

SMOOTHING = 0.1


def example(tokens: int, vocabulary: int, seed: int = 0) -> tuple[np.ndarray, ...]:
    generator = np.random.default_rng(seed)
    return (
        generator.normal(size=(2 * tokens, 6)).astype("float32"),
        generator.normal(size=(vocabulary, 6)).astype("float32"),
        generator.integers(0, vocabulary, tokens).astype("int32"),
        generator.choice([0.0, 1.0, 0.5], tokens).astype("float32"),
    )


def reference(
    states: np.ndarray,
    matrix: np.ndarray,
    labels: np.ndarray,
    weights: np.ndarray,
    strength: float,
) -> np.ndarray:
    """Equation 4 of Liang et al. 2021, halved, with label smoothing."""
    logits = states.astype("float64") @ matrix.astype("float64").T
    log_p, log_q = np.split(logits - np.log(np.exp(logits).sum(-1, keepdims=True)), 2)
    rows = np.arange(len(labels))
    hard = -(log_p[rows, labels] + log_q[rows, labels]) / 2
    even = -(log_p.mean(-1) + log_q.mean(-1)) / 2
    both_ways = (np.exp(log_p) * (log_p - log_q) + np.exp(log_q) * (log_q - log_p)).sum(-1)
    loss = (1 - SMOOTHING) * hard + SMOOTHING * even + strength / 4 * both_ways
    hits = ((log_p.argmax(-1) == labels).astype(float) + (log_q.argmax(-1) == labels)) / 2
    return np.array([weights @ loss, weights @ hard, weights @ hits])


@settings(deadline=None, max_examples=12)
@given(
    tokens=st.integers(1, 19),
    vocabulary=st.integers(2, 12),
    strength=st.sampled_from([0.5, 5.0]),
    seed=st.integers(0, 10_000),
)
def test_the_sums_are_those_of_the_definition(
    tokens: int, vocabulary: int, strength: float, seed: int
) -> None:
    values = example(tokens, vocabulary, seed)
    sums = linear_r_drop(*map(tf.constant, values), SMOOTHING, strength)
    np.testing.assert_allclose(sums, reference(*values, strength), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("tokens", "jit_compile"),
    [(3, False), (21, False), pytest.param(21, True, marks=pytest.mark.exhaustive)],
)
def test_gradients_are_those_of_the_loss_on_logits(
    gradients_of: Callable[..., list[tf.Tensor]], tokens: int, jit_compile: bool
) -> None:
    states, matrix, labels, weights = map(tf.constant, example(tokens, 9))

    def on_logits() -> tf.Tensor:
        log_p, log_q = tf.split(tf.nn.log_softmax(tf.matmul(states, matrix, transpose_b=True)), 2)
        targets = (1 - SMOOTHING) * tf.one_hot(labels, 9) + SMOOTHING / 9
        loss = -tf.reduce_sum(targets * (log_p + log_q), -1) / 2
        both_ways = tf.reduce_sum((tf.exp(log_p) - tf.exp(log_q)) * (log_p - log_q), -1)
        return 3.0 * tf.reduce_sum(weights * (loss + 5.0 / 4 * both_ways))

    @tf.function(jit_compile=jit_compile)
    def fused() -> list[tf.Tensor]:
        return gradients_of(
            lambda: 3.0 * linear_r_drop(states, matrix, labels, weights, SMOOTHING, 5.0)[0],
            [states, matrix],
        )

    for ours, theirs in zip(fused(), gradients_of(on_logits, [states, matrix]), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)


def test_passes_that_agree_have_the_plain_loss() -> None:
    states, matrix, labels, weights = example(9, 7)
    once = states[:9]
    twice = np.concatenate([once, once])
    found = linear_r_drop(*map(tf.constant, (twice, matrix, labels, weights)), SMOOTHING, 5.0)
    plain = linear_cross_entropy(*map(tf.constant, (once, matrix, labels, weights)), SMOOTHING)
    np.testing.assert_allclose(found, plain, rtol=1e-5)


def test_large_logits_stay_finite() -> None:
    states, matrix, labels, weights = example(8, 5)
    values = map(tf.constant, (1e3 * states, 1e3 * matrix, labels, weights))
    assert np.isfinite(linear_r_drop(*values, SMOOTHING, 5.0)).all()
