"""Layers made of layers: they are frozen as a whole, and saved with the parts that are frozen."""

import json
from pathlib import Path
from typing import Any

import keras
import pytest

from keras_transformer.config import (
    AttentionConfig,
    BlockOptions,
    FeedForwardConfig,
    RecurrenceConfig,
)
from keras_transformer.layers import (
    SSRU,
    ClassHead,
    Decoder,
    Encoder,
    FeedForward,
    MaskedTokenHead,
    MultiHeadAttention,
    VocabularyHead,
)

BLOCK = {"num_heads": 2, "key_dim": 3, "value_dim": 3, "feed_forward_dim": 5, "model_dim": 6}
WIDTH = 6
LAYERS: dict[str, Any] = {
    "attention": lambda **more: MultiHeadAttention(
        AttentionConfig(num_heads=2, key_dim=3, relative_sinusoids=True), **more
    ),
    "feed-forward": lambda **more: FeedForward(FeedForwardConfig(hidden_dim=5, gated=True), **more),
    "encoder": lambda **more: Encoder(BlockOptions(**BLOCK).stack_of(2), **more),
    "decoder": lambda **more: Decoder(BlockOptions(**BLOCK).stack_of(2), **more),
    "vocabulary": lambda **more: VocabularyHead(9, **more),
    "masked tokens": lambda **more: MaskedTokenHead(9, **more),
    "classes": lambda **more: ClassHead(4, **more),
    "recurrence": lambda **more: SSRU(RecurrenceConfig(), **more),
}


def model_of(layer: keras.layers.Layer) -> keras.Model:
    inputs = keras.Input((None, WIDTH))
    return keras.Model(inputs, keras.layers.Dense(2, name="mine")(layer(inputs)))


def reloaded(model: keras.Model, directory: Path) -> keras.Model:
    model.save(directory / "model.keras")
    return keras.saving.load_model(directory / "model.keras")


def trained(model: keras.Model) -> list[str]:
    return [weight.path for weight in model.trainable_weights]


@pytest.mark.parametrize("name", LAYERS)
def test_a_layer_that_is_made_frozen_has_nothing_to_train(name: str, tmp_path: Path) -> None:
    model = model_of(LAYERS[name](trainable=False))
    assert trained(model) == ["mine/kernel", "mine/bias"]
    assert trained(reloaded(model, tmp_path)) == ["mine/kernel", "mine/bias"]


@pytest.mark.parametrize("name", ["encoder", "decoder"])
def test_frozen_blocks_are_saved_with_their_stack(name: str, tmp_path: Path) -> None:
    stack = LAYERS[name]()
    model = model_of(stack)
    stack.blocks[0].trainable = False
    expected = trained(model)
    assert 2 < len(expected) < len(model.weights)
    assert trained(reloaded(model, tmp_path)) == expected


def test_nothing_is_saved_of_parts_that_are_trained() -> None:
    layer = LAYERS["feed-forward"]()
    layer.build((None, None, WIDTH))
    assert "frozen" not in json.dumps(keras.saving.serialize_keras_object(layer)["build_config"])
