"""Layer normalisation: in training it gives what Keras's gives, and so does its gradient."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_transformer.layers.variants.layer_norm import LayerNorm

SHAPES = [(7, 6), (2, 3, 6), (2, 0, 6), (2, 3, 4, 6)]


def results(layer: keras.layers.Layer, states: np.ndarray, upstream: np.ndarray) -> list:
    """Outputs, and the gradients by states, gamma and beta."""
    given = tf.cast(states, layer.compute_dtype)
    with tf.GradientTape() as tape:
        tape.watch(given)
        outputs = layer(given, **({"training": True} if isinstance(layer, LayerNorm) else {}))
        total = tf.reduce_sum(tf.cast(outputs, "float32") * upstream)
    weights = [layer.gamma.value, layer.beta.value]
    return [tf.cast(one, "float32") for one in (outputs, *tape.gradient(total, [given, *weights]))]


def pair(dtype: str, randomize) -> tuple[LayerNorm, keras.layers.LayerNormalization]:
    """The layer and Keras's, with the same weights."""
    ours, theirs = (
        kind(epsilon=0.01, dtype=dtype) for kind in (LayerNorm, keras.layers.LayerNormalization)
    )
    for layer in (ours, theirs):
        layer.build((None, None, 6))
    randomize(ours)
    theirs.set_weights(ours.get_weights())
    return ours, theirs


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(
    "dtype, tolerance", [("float32", 1e-5), ("mixed_bfloat16", 0.1)], ids=["float32", "bfloat16"]
)
def test_in_training_it_gives_what_keras_gives(shape, dtype: str, tolerance, randomize) -> None:
    states = np.random.default_rng(0).standard_normal(shape) * 3 + 1
    upstream = np.random.default_rng(1).standard_normal(shape).astype("float32")
    ours, theirs = pair(dtype, randomize)
    assert ours(states, training=True).dtype == theirs(states).dtype
    for found, expected in zip(
        results(ours, states, upstream), results(theirs, states, upstream), strict=True
    ):
        np.testing.assert_allclose(found, expected, atol=tolerance, rtol=tolerance)


def test_its_gradient_is_its_slope_in_float64(randomize) -> None:
    ours, _ = pair("float32", randomize)
    states, upstream = np.random.default_rng(0).standard_normal((2, 5, 6))
    gamma, beta = (np.array(weight, "float64") for weight in (ours.gamma, ours.beta))

    def total(states: np.ndarray) -> float:
        centred = states - states.mean(-1, keepdims=True)
        unit = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 0.01)
        return float(((unit * gamma + beta) * upstream).sum())

    steps = 1e-5 * np.eye(states.size).reshape(-1, *states.shape)
    slopes = [(total(states + step) - total(states - step)) / 2e-5 for step in steps]
    found = results(ours, states.astype("float32"), upstream.astype("float32"))[1]
    np.testing.assert_allclose(found, np.reshape(slopes, states.shape), atol=1e-4)


def test_large_float16_states_do_not_overflow() -> None:
    layer = LayerNorm(dtype="mixed_float16")
    states = tf.constant([[60_000, -60_000, 0, 0]], tf.float16)
    expected = keras.layers.LayerNormalization(dtype="mixed_float16")(states)
    np.testing.assert_allclose(layer(states, training=True), expected, rtol=1e-3)


def test_a_model_trains_as_with_keras_own(randomize) -> None:
    models = []
    for norm in pair("float32", randomize):
        keras.utils.set_random_seed(0)
        model = keras.Sequential([keras.Input((3, 6)), keras.layers.Dense(6), norm])
        model.compile(optimizer="sgd", loss="mse")
        inputs = np.random.default_rng(0).standard_normal((8, 3, 6))
        models.append(model.fit(inputs, -inputs, epochs=3, verbose=0).history["loss"])
    np.testing.assert_allclose(*models, rtol=1e-5)


@pytest.mark.parametrize(
    "arguments", [{"axis": 1}, {"axis": [1, 2]}, {"center": False}, {"scale": False}], ids=str
)
def test_in_training_keras_arguments_hold_as_in_inference(arguments, randomize) -> None:
    layer = LayerNorm(**arguments)
    states = np.random.default_rng(0).standard_normal((2, 3, 6)).astype("float32")
    layer.build(states.shape)
    randomize(layer)
    np.testing.assert_allclose(layer(states, training=True), layer(states), atol=1e-5)


@pytest.mark.parametrize("epsilon", [0.0, -1.0, float("nan")])
def test_an_epsilon_that_is_not_above_0_is_refused(epsilon: float) -> None:
    with pytest.raises(ValueError, match=f"epsilon must be above 0 and finite, got {epsilon}"):
        LayerNorm(epsilon=epsilon)
