"""The linear layer is Keras's `Dense` in all that its weights do."""

import keras
import numpy as np
import pytest

from keras_transformer.layers.products.dense import Dense


def pair(**arguments: object) -> tuple[Dense, keras.layers.Dense]:
    """The layer and Keras's, with the same weights."""
    ours, theirs = Dense(5, **arguments), keras.layers.Dense(5, **arguments)
    for layer in (ours, theirs):
        layer.build((None, None, 4))
    ours.set_weights(theirs.get_weights())
    return ours, theirs


def states() -> np.ndarray:
    return np.random.default_rng(0).standard_normal((2, 3, 4)).astype("float32")


@pytest.mark.parametrize("arguments", [{}, {"use_bias": False}, {"activation": "gelu"}])
@pytest.mark.parametrize("dtype", ["float32", "mixed_bfloat16"])
def test_equals_dense(arguments: dict[str, object], dtype: str) -> None:
    ours, theirs = pair(bias_initializer="ones", dtype=dtype, **arguments)
    assert ours(states()).dtype == theirs(states()).dtype
    np.testing.assert_array_equal(
        keras.ops.cast(ours(states()), "float32"), keras.ops.cast(theirs(states()), "float32")
    )


@pytest.mark.parametrize("mode", ["int8", "int4"])
def test_is_quantized_as_dense_is(mode: str) -> None:
    ours, theirs = pair()
    ours.quantize(mode)
    theirs.quantize(mode)
    np.testing.assert_allclose(ours(states()), theirs(states()), atol=1e-6)


def test_adapts_as_dense_does() -> None:
    ours, theirs = pair()
    for layer in (ours, theirs):
        layer.enable_lora(2)
        layer.lora_kernel_b.assign(np.ones((2, 5)))
    theirs.lora_kernel_a.assign(ours.lora_kernel_a)
    np.testing.assert_allclose(ours(states()), theirs(states()), atol=1e-6)


def test_a_saved_layer_comes_back(tmp_path) -> None:
    model = keras.Sequential([keras.Input((3, 4)), Dense(5)])
    model.save(tmp_path / "model.keras")
    back = keras.models.load_model(tmp_path / "model.keras")
    assert isinstance(back.layers[0], Dense)
    np.testing.assert_array_equal(model(states()), back(states()))
