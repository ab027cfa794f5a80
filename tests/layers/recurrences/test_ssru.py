"""The simpler simple recurrent unit: its equations in float64, padding, and one token at a time."""

from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given
from hypothesis import strategies as st
from keras import ops

from keras_transformer.config import RecurrenceConfig
from keras_transformer.layers import SSRU
from keras_transformer.layers.recurrences.ssru import since_the_first

WIDTH = 6


def normal(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype("float32")


@pytest.fixture(
    params=[
        pytest.param(True, id="bias"),
        pytest.param(False, marks=pytest.mark.exhaustive, id="no bias"),
    ]
)
def layer(request: pytest.FixtureRequest, randomize: Any) -> SSRU:
    made = SSRU(RecurrenceConfig(use_bias=request.param))
    made.build((None, None, WIDTH))
    return randomize(made, scale=1.0)


@pytest.mark.parametrize("length", [1, 2, 3, 8, 13])
def test_equals_the_paper_in_float64(layer: SSRU, paper: Any, length: int) -> None:
    inputs = normal(2, length, WIDTH)
    keep = np.random.default_rng(length).random((2, length)) < 0.7
    for mask, rows in ((None, (None, None)), (keep, keep)):
        found = layer(inputs, mask)
        for row, kept in enumerate(rows):
            expected = paper.ssru(layer, inputs[row].astype(float), kept)
            np.testing.assert_allclose(found[row], expected, atol=1e-5)


def test_padding_changes_nothing_wherever_it_stands(layer: SSRU) -> None:
    inputs, places = normal(1, 9, WIDTH), [2, 3, 6]
    keep = np.isin(np.arange(9), places)[None]
    found = np.asarray(layer(inputs, keep))[:, places]
    np.testing.assert_allclose(found, layer(inputs[:, places]), atol=1e-6)
    inputs[~keep] = np.nan
    np.testing.assert_array_equal(np.asarray(layer(inputs, keep))[:, places], found)


@given(cuts=st.lists(st.integers(1, 12), max_size=4))
def test_reading_in_parts_equals_reading_at_once(cuts: list[int]) -> None:
    layer = SSRU(RecurrenceConfig())
    inputs = normal(2, 13, WIDTH)
    expected = layer(inputs)
    state, found = ops.zeros((2, WIDTH)), []
    for part in np.split(inputs, sorted(set(cuts)), axis=1):
        outputs, state = layer.step(part, state)
        found.append(np.asarray(outputs))
    np.testing.assert_allclose(np.concatenate(found, axis=1), expected, atol=1e-6)


@given(seed=st.integers(0, 2**32 - 1), length=st.integers(1, 40))
def test_a_scan_solves_the_recurrence(seed: int, length: int) -> None:
    random = np.random.default_rng(seed)
    kept, added = random.random((2, 1, length, 3))
    first = random.random((1, 3))
    factor, summand = map(np.asarray, since_the_first(kept, added))
    state = first
    for place in range(length):
        state = kept[:, place] * state + added[:, place]
        found = factor[:, place] * first + summand[:, place]
        np.testing.assert_allclose(found, state, rtol=1e-5)


def test_small_changes_add_up_in_half_precision() -> None:
    layer = SSRU(RecurrenceConfig(), dtype="mixed_bfloat16")
    layer.build((None, None, WIDTH))
    layer.candidate.kernel.assign(np.eye(WIDTH))
    layer.forget.kernel.assign(np.zeros((WIDTH, WIDTH)))
    layer.forget.bias.assign(np.full(WIDTH, 7.0))
    found = layer(np.ones((1, 2000, WIDTH), "float32"))
    assert keras.backend.standardize_dtype(found.dtype) == "bfloat16"
    assert float(found[0, -1, 0]) == pytest.approx(1 - (1 / (1 + np.exp(-7))) ** 2000, abs=0.02)


def test_another_recurrence_is_refused() -> None:
    with pytest.raises(ValueError, match="recurrence must be one of ssru, lstm, got 'gru'"):
        RecurrenceConfig(kind="gru")  # type: ignore[arg-type]


@pytest.mark.parametrize("jit_compile", [False, True])
def test_gradients_of_any_length_are_those_of_a_known_one(layer: SSRU, jit_compile: bool) -> None:
    def gradients(inputs: tf.Tensor) -> list[tf.Tensor]:
        weights = [weight.value for weight in layer.weights]
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(layer(inputs) ** 2)
        return tape.gradient(loss, weights)

    signature = [tf.TensorSpec((None, None, WIDTH), tf.float32)]
    compiled = tf.function(gradients, input_signature=signature, jit_compile=jit_compile)
    for length in (1, 8, 9):
        inputs = tf.constant(normal(2, length, WIDTH))
        for found, expected in zip(compiled(inputs), gradients(inputs), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
