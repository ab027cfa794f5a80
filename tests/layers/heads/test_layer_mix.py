"""The learned mix of layers: its equation, and its use on an encoder."""

import keras
import numpy as np
import pytest

from keras_transformer.config.encoder_only import EncoderConfig
from keras_transformer.layers import LayerMix
from keras_transformer.models.encoder_only import build_encoder

LAYERS = np.random.default_rng(0).standard_normal((3, 2, 4, 6)).astype("float32")


def test_begins_as_the_mean_of_all_layers() -> None:
    np.testing.assert_allclose(LayerMix()(list(LAYERS)), LAYERS.mean(0), atol=1e-6)


def test_equals_its_equation_in_float64(paper, randomize) -> None:
    mix = LayerMix()
    mix(list(LAYERS))
    randomize(mix)
    shares = paper.softmax(np.asarray(mix.layer_weights, np.float64)) * float(mix.scale)
    expected = np.einsum("l,lbtd->btd", shares, LAYERS.astype(np.float64))
    np.testing.assert_allclose(mix(list(LAYERS)), expected, atol=1e-5)


@pytest.mark.parametrize("policy", ["mixed_bfloat16", "mixed_float16"])
def test_computes_in_its_policy(policy: str) -> None:
    mixed = LayerMix(dtype=policy)(list(LAYERS))
    assert keras.backend.standardize_dtype(mixed.dtype) == policy.removeprefix("mixed_")


def test_learns_on_top_of_a_frozen_encoder_and_survives_its_file(tmp_path) -> None:
    sizes = {"model_dim": 12, "feed_forward_dim": 20, "num_heads": 3, "num_layers": 1}
    encoder = build_encoder(EncoderConfig(vocab_size=24, num_token_types=0, **sizes))
    states = encoder.hidden_states
    states.trainable = False
    ids = keras.Input((None,), dtype="int32", name="token_ids")
    outputs = keras.layers.Dense(1)(LayerMix(name="mix")(states({"token_ids": ids})))
    model = keras.Model({"token_ids": ids}, outputs)
    model.compile(keras.optimizers.Adam(0.05), "mse", jit_compile=False)
    batch = {"token_ids": np.array([[2, 7, 9, 3], [2, 5, 3, 0]], np.int32)}
    before = [np.array(weight) for weight in encoder.weights]
    history = model.fit(batch, np.ones((2, 4, 1)), epochs=5, verbose=0).history["loss"]
    assert history[-1] < history[0]
    assert np.asarray(model.get_layer("mix").layer_weights).any()
    for old, new in zip(before, encoder.weights, strict=True):
        np.testing.assert_array_equal(old, new)
    model.save(tmp_path / "model.keras")
    twin = keras.saving.load_model(tmp_path / "model.keras", compile=False)
    np.testing.assert_array_equal(twin(batch), model(batch))


def test_states_that_are_no_list_are_refused() -> None:
    with pytest.raises(ValueError, match="takes a list .* got one tensor of the shape"):
        LayerMix()(LAYERS[0])
    mix = LayerMix()
    mix(list(LAYERS[:2]))
    with pytest.raises(ValueError, match="takes a list .* got one tensor of the shape"):
        mix(LAYERS[0])


def test_states_of_another_number_of_layers_are_refused() -> None:
    mix = LayerMix()
    mix(list(LAYERS))
    with pytest.raises(ValueError, match="built for the states of 3 layers, got those of 1"):
        mix([LAYERS[0]])
