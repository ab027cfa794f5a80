"""The engines' common part in Keras: batches go through `fit`, as users train."""

import abc
import math
from typing import Any

import keras
import tensorflow as tf

from keras_transformer.config.families import ModelConfig

from .batches import Batch
from .trainer import Trainer


class KerasTrainer(Trainer):
    """Trains a Keras model; subclasses make it."""

    @abc.abstractmethod
    def make(self, config: ModelConfig, precision: str, jit_compile: bool) -> keras.Model:
        """Returns a compiled model."""

    def element(self, batch: Batch) -> Any:
        """Returns a batch as the model takes it: inputs and labels, or weights too."""
        return batch.inputs, batch.labels

    def build(
        self, config: ModelConfig, precision: str, compiled: bool, batches: list[Batch]
    ) -> int:
        """Makes the model and the data set."""
        keras.utils.set_random_seed(0)
        self._model = self.make(config, precision, compiled)
        elements = [self.element(batch) for batch in batches]
        # The graph does not know the lengths, as it does not know those of a corpus.
        spec = tf.nest.map_structure(lambda a: tf.TensorSpec((None, None), a.dtype), elements[0])
        data = tf.data.Dataset.from_generator(lambda: iter(elements), output_signature=spec)
        options = tf.data.Options()
        # Its thread sleeps for ever longer; the end of `fit` waits for it and would be measured.
        options.autotune.enabled = False
        cardinality = tf.data.experimental.assert_cardinality(len(elements))
        self._data = data.apply(cardinality).with_options(options)
        return sum(math.prod(weight.shape) for weight in self._model.trainable_weights)

    def train(self) -> None:
        """Runs an epoch of `fit`."""
        self._model.fit(self._data, verbose=0, shuffle=False)

    def train_on_first(self) -> float:
        """Runs `fit` on the first batch."""
        return self._model.fit(self._data.take(1), verbose=0, shuffle=False).history["loss"][0]
