"""The final linear layer and the loss in one, against the definition in float64 and autodiff."""

from collections.abc import Callable

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from keras_transformer.layers.products.product import product
from keras_transformer.training.loss import linear_cross_entropy as linear_loss_module
from keras_transformer.training.loss.label_smoothing import smoothed_cross_entropy
from keras_transformer.training.loss.linear_cross_entropy import linear_cross_entropy


def reference(
    states: np.ndarray,
    matrix: np.ndarray,
    labels: np.ndarray,
    weights: np.ndarray,
    smoothing: float,
) -> np.ndarray:
    logits = states.astype("float64") @ matrix.astype("float64").T
    log_probabilities = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
    hard = -log_probabilities[np.arange(len(labels)), labels]
    loss = (1 - smoothing) * hard - smoothing * log_probabilities.mean(-1)
    hits = logits.argmax(-1) == labels
    return np.array([weights @ loss, weights @ hard, weights @ hits])


def example(tokens: int, vocabulary: int, seed: int = 0) -> tuple[np.ndarray, ...]:
    generator = np.random.default_rng(seed)
    return (
        generator.normal(size=(tokens, 6)).astype("float32"),
        generator.normal(size=(vocabulary, 6)).astype("float32"),
        generator.integers(0, vocabulary, tokens).astype("int32"),
        generator.choice([0.0, 1.0, 0.5], tokens).astype("float32"),
    )


@settings(deadline=None, max_examples=12)
@given(
    tokens=st.integers(1, 19),
    vocabulary=st.integers(2, 12),
    smoothing=st.sampled_from([0.0, 0.1, 0.7]),
    seed=st.integers(0, 10_000),
)
def test_the_sums_are_those_of_the_definition(
    tokens: int, vocabulary: int, smoothing: float, seed: int
) -> None:
    values = example(tokens, vocabulary, seed)
    sums = linear_cross_entropy(*map(tf.constant, values), smoothing)
    np.testing.assert_allclose(sums, reference(*values, smoothing), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("tokens", "smoothing", "jit_compile"),
    [(3, 0.1, False), (4, 0.0, False), (21, 0.0, False), (21, 0.1, False), (21, 0.1, True)],
)
def test_gradients_are_those_of_the_loss_on_logits(
    gradients_of: Callable[..., list[tf.Tensor]], tokens: int, smoothing: float, jit_compile: bool
) -> None:
    states, matrix, labels, weights = map(tf.constant, example(tokens, 9))

    def on_logits() -> tf.Tensor:
        logits = tf.matmul(states, matrix, transpose_b=True)
        losses = smoothed_cross_entropy(labels[None], logits[None], smoothing)[0]
        return 3.0 * tf.reduce_sum(weights * losses)

    @tf.function(jit_compile=jit_compile)
    def fused() -> list[tf.Tensor]:
        return gradients_of(
            lambda: 3.0 * linear_cross_entropy(states, matrix, labels, weights, smoothing)[0],
            [states, matrix],
        )

    for ours, theirs in zip(fused(), gradients_of(on_logits, [states, matrix]), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)


def test_large_logits_stay_finite() -> None:
    states, matrix, labels, weights = example(8, 5)
    sums = linear_cross_entropy(
        *map(tf.constant, (1e3 * states, 1e3 * matrix, labels, weights)), 0.1
    )
    assert np.isfinite(sums).all()


def test_padding_never_counts() -> None:
    states, matrix, labels, weights = example(9, 7)
    padded = [np.concatenate([part, part[:3]]) for part in (states, labels)]
    zeros = np.concatenate([weights, np.zeros(3, "float32")])
    alone = linear_cross_entropy(*map(tf.constant, (states, matrix, labels, weights)), 0.1)
    beside = linear_cross_entropy(*map(tf.constant, (padded[0], matrix, padded[1], zeros)), 0.1)
    np.testing.assert_allclose(alone, beside, rtol=1e-5)


@pytest.mark.parametrize("rounded", [False, True], ids=["of bfloat16", "of rounded factors"])
def test_a_label_that_is_highest_is_a_hit_where_products_are_rounded(
    rounded: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    matrix = np.random.default_rng(0).normal(size=(50, 6)).astype("float32") * 3
    labels = np.arange(50, dtype="int32")
    weights = np.ones(50, "float32")
    if rounded:
        exact = product

        def coarse(left: tf.Tensor, right: tf.Tensor, **transposed: bool) -> tf.Tensor:
            rough = (tf.cast(tf.cast(one, "bfloat16"), "float32") for one in (left, right))
            return exact(*rough, **transposed)

        monkeypatch.setattr(linear_loss_module, "product", coarse)
        states, rows = tf.constant(matrix), tf.constant(matrix)
    else:
        states, rows = (tf.cast(matrix, "bfloat16") for _ in range(2))
    hits = float(linear_cross_entropy(states, rows, labels, weights, 0.1)[2])
    # Of vectors of unequal lengths most, not all, have their largest product with themselves.
    logits = matrix @ matrix.T
    assert hits == pytest.approx((logits.argmax(-1) == labels).sum(), abs=1)
    assert 20 < hits < 50
