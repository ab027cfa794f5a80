"""Contextual features: their equation, their file, their dtypes and their gradients."""

import keras
import numpy as np
import pytest

from keras_transformer.layers import ContextualFeatures

GENERATOR = np.random.default_rng(0)
EMBEDDINGS = GENERATOR.standard_normal((2, 4, 6)).astype("float32")
# Of a model with three layers and of one with one.
STATES = [
    GENERATOR.standard_normal(shape).astype("float32") for shape in ((2, 4, 3, 5), (2, 4, 1, 7))
]


def test_equals_its_equation_in_float64(paper, randomize) -> None:
    layer = ContextualFeatures(6)
    layer(EMBEDDINGS, STATES)
    randomize(layer)
    mixed = [
        np.einsum(
            "l,btld->btd",
            paper.softmax(np.asarray(mix.layer_weights, np.float64)) * float(mix.scale),
            states.astype(np.float64),
        )
        for mix, states in zip(layer.mixes, STATES, strict=True)
    ]
    kernel, bias = (np.asarray(weight, np.float64) for weight in layer.projection.weights)
    expected = EMBEDDINGS + np.concatenate(mixed, axis=-1) @ kernel + bias
    np.testing.assert_allclose(layer(EMBEDDINGS, STATES), expected, atol=1e-5)


def test_survives_its_file(randomize, tmp_path) -> None:
    inputs = [keras.Input(one.shape[1:]) for one in (EMBEDDINGS, *STATES)]
    model = keras.Model(inputs, ContextualFeatures(6, 0.3)(inputs[0], inputs[1:]))
    randomize(model)
    model.save(tmp_path / "model.keras")
    twin = keras.saving.load_model(tmp_path / "model.keras")
    given = [EMBEDDINGS, *STATES]
    np.testing.assert_array_equal(twin(given), model(given))
    assert twin.layers[-1].dropout == 0.3


@pytest.mark.parametrize("policy", ["mixed_bfloat16", "mixed_float16"])
def test_computes_in_its_policy(policy: str) -> None:
    found = ContextualFeatures(6, dtype=policy)(EMBEDDINGS, STATES)
    assert keras.backend.standardize_dtype(found.dtype) == policy.removeprefix("mixed_")


def test_drops_features_in_training_alone() -> None:
    layer = ContextualFeatures(6, dropout=0.5)
    inferred, trained = layer(EMBEDDINGS, STATES), layer(EMBEDDINGS, STATES, training=True)
    assert not np.allclose(inferred, trained, atol=1e-3)
    np.testing.assert_array_equal(layer(EMBEDDINGS, STATES), inferred)
