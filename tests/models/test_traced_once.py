"""An update is traced once, and the optimizer's variables are those that Keras would have made."""

from collections.abc import Callable
from typing import Any
from unittest.mock import Mock

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_transformer.models import Transformer, build_transformer
from keras_transformer.training.loop.training_model import TrainingModel
from keras_transformer.training.loss.label_smoothing import SmoothedCrossEntropy
from tools.covering import some

IDS = np.arange(4, 8, dtype=np.int32).reshape(2, 2)
BATCH = {"source_ids": IDS, "target_ids": IDS}, IDS, np.ones((2, 2), np.float32)


def plain(transformer: Transformer) -> keras.Model:
    optimizer = keras.optimizers.Adam(0.1)
    transformer.compile(optimizer, loss=SmoothedCrossEntropy(0.1), jit_compile=False)
    return transformer


def with_its_loss(transformer: Transformer) -> keras.Model:
    model = TrainingModel(transformer)
    model.compile(keras.optimizers.Adam(0.1), jit_compile=False)
    return model


@pytest.fixture
def transformer(tiny_config: Callable[..., Any]) -> Transformer:
    return build_transformer(tiny_config(num_encoder_layers=1, num_decoder_layers=1))


@pytest.mark.parametrize("make", some([plain, with_its_loss], with_its_loss))
def test_an_update_is_traced_once(
    make: Callable[[Transformer], keras.Model], transformer: Transformer
) -> None:
    model = make(transformer)
    before = [weight.numpy() for weight in model.trainable_variables]
    # What runs in Python is a trace.
    model.train_step = Mock(side_effect=model.train_step)
    model.fit(tf.data.Dataset.from_tensors(BATCH).repeat(3), shuffle=False, verbose=0)
    assert model.train_step.call_count == 1
    assert int(model.optimizer.iterations) == 3
    assert any(
        np.any(weight.numpy() != old)
        for weight, old in zip(model.trainable_variables, before, strict=True)
    )


def test_what_is_frozen_before_the_first_update_stays_as_it_is(
    transformer: Transformer,
) -> None:
    model = plain(transformer)
    frozen = next(layer for layer in model.layers if layer.trainable_variables)
    frozen.trainable = False
    before = [weight.numpy() for weight in frozen.weights]
    model.train_on_batch(*BATCH)
    for weight, old in zip(frozen.weights, before, strict=True):
        np.testing.assert_array_equal(weight, old)


@pytest.mark.exhaustive
def test_the_optimizers_variables_are_the_strategys(tiny_config: Callable[..., Any]) -> None:
    with tf.distribute.MirroredStrategy(["/cpu:0"]).scope():
        model = with_its_loss(build_transformer(tiny_config()))
    model.fit(tf.data.Dataset.from_tensors(BATCH), shuffle=False, verbose=0)
    moments = [each for each in model.optimizer.variables if each.path.endswith("velocity")]
    assert len(moments) == len(model.trainable_variables)
    assert all(isinstance(each.value, tf.distribute.DistributedValues) for each in moments)
