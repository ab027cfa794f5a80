"""The loss against float64 NumPy, and what `fit` and `evaluate` make of it."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given
from hypothesis import strategies as st

from keras_transformer.training.loss.label_smoothing import (
    SmoothedCrossEntropy,
    smoothed_cross_entropy,
)

LABELS = np.array([[4, 8, 3, 0], [5, 3, 0, 0]])
WEIGHTS = (LABELS != 0).astype("float32")
IDS = np.array([[2, 4, 8, 0], [2, 5, 0, 0]])


def test_worked_example() -> None:
    # Logits 0, 0, ln 2: probabilities 1/4, 1/4, 1/2.
    logits = np.log([[[1.0, 1, 2]]])
    plain = smoothed_cross_entropy([[2]], logits, 0.0)
    assert float(plain[0, 0]) == pytest.approx(np.log(2))
    smoothed = smoothed_cross_entropy([[2]], logits, 0.3)
    # Targets 0.1, 0.1, 0.8.
    assert float(smoothed[0, 0]) == pytest.approx(0.2 * np.log(4) + 0.8 * np.log(2))


@given(seed=st.integers(0, 1000), smoothing=st.floats(0, 0.99), scale=st.floats(0.1, 50))
def test_each_token_equals_float64(token_losses, seed, smoothing, scale) -> None:
    generator = np.random.default_rng(seed)
    logits = scale * generator.standard_normal((2, 3, 7)).astype("float32")
    labels = generator.integers(0, 7, (2, 3))
    found = smoothed_cross_entropy(labels, logits, smoothing)
    assert found.dtype == tf.float32
    expected = token_losses(labels, logits, smoothing)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-4 * scale)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
def test_the_mean_is_taken_over_real_tokens(token_losses, dtype: str) -> None:
    logits = tf.cast(np.random.default_rng(0).standard_normal((2, 4, 9)) * 3, dtype)
    found = SmoothedCrossEntropy(0.1)(LABELS, logits, sample_weight=WEIGHTS)
    # From the rounded logits on, nothing more is lost.
    losses = token_losses(LABELS, tf.cast(logits, "float64"), 0.1)
    assert float(found) == pytest.approx(losses[LABELS != 0].mean(), rel=1e-6)
    assert keras.backend.standardize_dtype(found.dtype) == "float32"


def test_evaluate_and_fit_divide_by_real_tokens(logit_table, token_losses) -> None:
    logit_table.compile(optimizer=keras.optimizers.SGD(0.0), loss=SmoothedCrossEntropy(0.1))
    losses = token_losses(LABELS, logit_table(IDS), 0.1)
    expected = losses[LABELS != 0].mean()
    assert expected != pytest.approx(losses.mean(), rel=0.01)
    batch = tf.data.Dataset.from_tensors((IDS, LABELS, WEIGHTS))
    assert logit_table.evaluate(batch, verbose=0) == pytest.approx(expected, rel=1e-5)
    history = logit_table.fit(batch, shuffle=False, verbose=0).history
    assert history["loss"] == [pytest.approx(expected, rel=1e-5)]


def test_padded_places_get_no_gradient() -> None:
    logits = tf.Variable(np.random.default_rng(0).standard_normal((2, 4, 9)))
    with tf.GradientTape() as tape:
        loss = SmoothedCrossEntropy(0.1)(LABELS, logits, sample_weight=WEIGHTS)
    gradient = np.abs(tape.gradient(loss, logits)).sum(axis=-1)
    np.testing.assert_array_equal(gradient > 0, LABELS != 0)


def test_config_round_trip() -> None:
    loss = SmoothedCrossEntropy(0.25, name="mine")
    twin = keras.losses.deserialize(keras.losses.serialize(loss))
    assert isinstance(twin, SmoothedCrossEntropy)
    assert twin.get_config() == loss.get_config()
    assert (twin.label_smoothing, twin.name) == (0.25, "mine")
    assert twin.reduction == "mean_with_sample_weight"


@pytest.mark.parametrize("smoothing", [-0.1, 1.0, float("nan")])
def test_smoothing_is_a_share_below_one(smoothing: float) -> None:
    with pytest.raises(ValueError, match=rf"label_smoothing must lie in \[0, 1\), got {smoothing}"):
        SmoothedCrossEntropy(smoothing)
