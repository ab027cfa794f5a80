"""`fit` traces a model's update once for a shape of batches, with any optimizer and strategy."""

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_transformer.config import TransformerConfig
from keras_transformer.models import build_transformer
from keras_transformer.training.loss import SmoothedCrossEntropy
from keras_transformer.training.training_model import TrainingModel

CONFIG = TransformerConfig(
    source_vocab_size=9,
    model_dim=4,
    feed_forward_dim=6,
    num_heads=2,
    num_encoder_layers=1,
    num_decoder_layers=1,
)
IDS = np.arange(4, 8, dtype=np.int32).reshape(2, 2)
BATCH = {"source_ids": IDS, "target_ids": IDS}, IDS, np.ones((2, 2), np.float32)


def plain() -> keras.Model:
    model = build_transformer(CONFIG)
    model.compile(keras.optimizers.Adam(0.1), loss=SmoothedCrossEntropy(0.1), jit_compile=False)
    return model


def with_its_loss() -> keras.Model:
    model = TrainingModel(build_transformer(CONFIG))
    model.compile(keras.optimizers.Adam(0.1), jit_compile=False)
    return model


def count_traces(model: keras.Model) -> list[int]:
    """Counts in a list of one what runs `train_step` in Python."""
    counted, step = [0], model.train_step

    def counting(data: Any) -> Any:
        counted[0] += 1
        return step(data)

    model.train_step = counting
    return counted


@pytest.mark.parametrize("make", [plain, with_its_loss])
def test_an_update_is_traced_once(make: Callable[[], keras.Model]) -> None:
    model = make()
    before = [weight.numpy() for weight in model.trainable_variables]
    counted = count_traces(model)
    model.fit(tf.data.Dataset.from_tensors(BATCH).repeat(3), shuffle=False, verbose=0)
    assert counted == [1]
    assert int(model.optimizer.iterations) == 3
    assert any(
        np.any(weight.numpy() != old)
        for weight, old in zip(model.trainable_variables, before, strict=True)
    )


def test_what_is_frozen_before_the_first_update_stays_as_it_is() -> None:
    model = plain()
    frozen = next(layer for layer in model.layers if layer.trainable_variables)
    frozen.trainable = False
    before = [weight.numpy() for weight in frozen.weights]
    model.train_on_batch(*BATCH)
    for weight, old in zip(frozen.weights, before, strict=True):
        np.testing.assert_array_equal(weight, old)


def test_the_optimizers_variables_are_the_strategys() -> None:
    with tf.distribute.MirroredStrategy(["/cpu:0"]).scope():
        model = with_its_loss()
    model.fit(tf.data.Dataset.from_tensors(BATCH), shuffle=False, verbose=0)
    moments = [each for each in model.optimizer.variables if each.path.endswith("velocity")]
    assert len(moments) == len(model.trainable_variables)
    assert all(isinstance(each.value, tf.distribute.DistributedValues) for each in moments)
