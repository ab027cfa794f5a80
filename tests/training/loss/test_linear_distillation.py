"""The final linear layer and word-level distillation in one, against the definition in float64."""

from collections.abc import Callable

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from keras_transformer.training.loss.linear_distillation import linear_distillation

SMOOTHING = 0.1


def example(tokens: int, vocabulary: int, seed: int = 0) -> tuple[np.ndarray, ...]:
    """States, matrix, labels and weights, and a wider teacher's states and matrix."""
    generator = np.random.default_rng(seed)
    return (
        generator.normal(size=(tokens, 6)).astype("float32"),
        generator.normal(size=(vocabulary, 6)).astype("float32"),
        generator.integers(0, vocabulary, tokens).astype("int32"),
        generator.choice([0.0, 1.0, 0.5], tokens).astype("float32"),
        generator.normal(size=(tokens, 8)).astype("float32"),
        generator.normal(size=(vocabulary, 8)).astype("float32"),
    )


def log_softmax(states: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    logits = states.astype("float64") @ matrix.astype("float64").T
    return logits - np.log(np.exp(logits).sum(-1, keepdims=True))


def reference(values: tuple[np.ndarray, ...], share: float) -> np.ndarray:
    states, matrix, labels, weights, teacher_states, teacher_matrix = values
    log_q, log_p = log_softmax(states, matrix), log_softmax(teacher_states, teacher_matrix)
    hard = -log_q[np.arange(len(labels)), labels]
    smoothed = (1 - SMOOTHING) * hard - SMOOTHING * log_q.mean(-1)
    divergence = (np.exp(log_p) * (log_p - log_q)).sum(-1)
    loss = (1 - share) * smoothed + share * divergence
    return np.array([weights @ loss, weights @ hard, weights @ (log_q.argmax(-1) == labels)])


def fused(values: list[tf.Tensor], share: float) -> tf.Tensor:
    return linear_distillation(*values[:4], SMOOTHING, *values[4:], share)


@settings(deadline=None, max_examples=12)
@given(
    tokens=st.integers(1, 19),
    vocabulary=st.integers(2, 12),
    share=st.sampled_from([0.3, 1.0]),
    seed=st.integers(0, 10_000),
)
def test_the_sums_are_those_of_the_definition(
    tokens: int, vocabulary: int, share: float, seed: int
) -> None:
    values = example(tokens, vocabulary, seed)
    sums = fused([tf.constant(value) for value in values], share)
    np.testing.assert_allclose(sums, reference(values, share), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("tokens", "share", "jit"), [(3, 0.5, False), (21, 1.0, False), (21, 0.3, True)]
)
def test_gradients_are_those_of_the_loss_on_logits(
    gradients_of: Callable[..., list[tf.Tensor]], tokens: int, share: float, jit: bool
) -> None:
    values = [tf.constant(value) for value in example(tokens, 9)]
    states, matrix, labels, weights, *teacher = values

    def on_logits() -> tf.Tensor:
        log_q = tf.nn.log_softmax(tf.matmul(states, matrix, transpose_b=True))
        p = tf.nn.softmax(tf.matmul(*teacher, transpose_b=True))
        labelled = (1 - SMOOTHING) * tf.one_hot(labels, 9) + SMOOTHING / 9
        targets = (1 - share) * labelled + share * p
        return 3.0 * tf.reduce_sum(weights * -tf.reduce_sum(targets * log_q, -1))

    @tf.function(jit_compile=jit)
    def of_fused() -> list[tf.Tensor]:
        return gradients_of(lambda: 3.0 * fused(values, share)[0], values)

    found = of_fused()
    expected = gradients_of(on_logits, [states, matrix])
    for ours, theirs in zip(found[:2], expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)
    assert found[4:] == [None, None]
