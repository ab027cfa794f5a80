"""Quantized layers: what is saved of them, and their matrices in floats."""

import json
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest

from keras_transformer.config import AttentionConfig, BlockOptions, FeedForwardConfig
from keras_transformer.layers import Decoder, Encoder, FeedForward, MultiHeadAttention
from keras_transformer.layers.head import VocabularyHead
from keras_transformer.layers.heads.classes import ClassHead
from keras_transformer.layers.heads.masked_tokens import MaskedTokenHead
from keras_transformer.layers.variants.quantization import float_kernel, quantized_parts

BLOCK = {"num_heads": 2, "key_dim": 3, "value_dim": 3, "feed_forward_dim": 5, "model_dim": 6}
WIDTH = 6
LAYERS: dict[str, Any] = {
    "attention": lambda: MultiHeadAttention(AttentionConfig(num_heads=2, key_dim=3), name="part"),
    "relative attention": lambda: MultiHeadAttention(
        AttentionConfig(num_heads=2, key_dim=3, relative_sinusoids=True), name="part"
    ),
    "feed-forward": lambda: FeedForward(FeedForwardConfig(hidden_dim=5, gated=True), name="part"),
    "encoder": lambda: Encoder(BlockOptions(**BLOCK).stack_of(1), name="part"),
    "decoder": lambda: Decoder(BlockOptions(**BLOCK).stack_of(1), name="part"),
    "vocabulary": lambda: VocabularyHead(9, name="part"),
    "masked tokens": lambda: MaskedTokenHead(9, name="part"),
    "classes": lambda: ClassHead(4, name="part"),
}


def states() -> np.ndarray:
    return np.random.default_rng(0).normal(size=(2, 3, WIDTH)).astype("float32")


@pytest.mark.parametrize("name", LAYERS)
def test_a_quantized_part_of_a_larger_model_is_saved(name: str, tmp_path: Path) -> None:
    inputs = keras.Input((None, WIDTH))
    model = keras.Model(inputs, keras.layers.Dense(2, name="mine")(LAYERS[name]()(inputs)))
    model.quantize("int8", filters=lambda layer: isinstance(layer, keras.layers.Dense))
    model.save(tmp_path / "model.keras")
    same = keras.saving.load_model(tmp_path / "model.keras")
    found, expected = (quantized_parts(one.get_layer("part")) for one in (same, model))
    assert found.keys() == expected.keys() and found
    np.testing.assert_array_equal(same(states()), model(states()))


@pytest.mark.parametrize("name", ["vocabulary", "masked tokens", "classes"])
def test_the_matrix_of_a_quantized_head_is_what_it_multiplies_by(name: str) -> None:
    head = LAYERS[name]()
    head.build((None, None, WIDTH))
    before = np.array(head.matrix)
    head.linear.quantize("int8")
    [integers] = [weight for weight in head.linear.weights if weight.name == "kernel"]
    scale = np.asarray(head.linear.kernel_scale, np.float64)
    expected = (np.asarray(integers, np.float64) / scale).T
    assert integers.dtype == "int8"
    matrix = np.asarray(head.matrix)
    np.testing.assert_allclose(matrix[:, :WIDTH], expected, rtol=1e-6)
    np.testing.assert_allclose(matrix, before, atol=float(0.51 / scale.min()))


def test_weights_of_8_bits_alone_can_be_read_as_floats() -> None:
    linear = keras.layers.Dense(4, name="narrow")
    linear.build((None, WIDTH))
    kernel = np.array(linear.kernel)
    np.testing.assert_array_equal(float_kernel(linear), kernel)
    linear.quantize("int4")
    with pytest.raises(ValueError, match="narrow is quantized to int4, of which only int8"):
        float_kernel(linear)


def test_what_is_saved_of_a_plain_layer_says_nothing_of_it() -> None:
    layer = LAYERS["feed-forward"]()
    layer(states())
    assert "quantized" not in json.dumps(keras.saving.serialize_keras_object(layer)["build_config"])
