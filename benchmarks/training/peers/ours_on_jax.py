"""Our model on JAX, trained with `fit` as one does there without TensorFlow."""

import math
import sys

import jax
import keras
import numpy as np
from speed.serving import serve

from keras_transformer.config.families import ModelConfig
from keras_transformer.models.families import build_model
from keras_transformer.training.loop.training_model import TrainingModel

from ..batches import Batch
from ..optimizer import optimizer
from ..trainer import OPTIONS, Trainer, product_error

Element = tuple[dict[str, np.ndarray], np.ndarray, np.ndarray]


class JaxTrainer(Trainer):
    """`fit` on JAX's default device; XLA compiles always.

    Args:
        attention: "unfused" to keep layers from using fused kernels where there are some.
    """

    def __init__(self, attention: str = "fused") -> None:
        if attention == "unfused":
            keras.config.disable_flash_attention()

    def build(
        self, config: ModelConfig, precision: str, compiled: bool, batches: list[Batch]
    ) -> int:
        """Makes the model and the data set."""
        keras.utils.set_random_seed(0)
        self._data = [(batch.inputs, batch.labels, batch.sample_weight) for batch in batches]
        self._model = TrainingModel(build_model(config, precision), OPTIONS.label_smoothing)
        self._model.compile(optimizer(), jit_compile=compiled)
        return sum(math.prod(weight.shape) for weight in self._model.trainable_weights)

    def train(self) -> None:
        """Runs an epoch of `fit`."""
        self._fit(self._data)
        jax.block_until_ready([weight.value for weight in self._model.trainable_weights])

    def train_on_first(self) -> float:
        """Runs `fit` on the first batch."""
        return self._fit(self._data[:1])

    def peak_memory(self) -> int:
        """Returns the most bytes that this process has held, on a GPU those there."""
        found = jax.devices()[0].memory_stats()
        return found["peak_bytes_in_use"] if found else super().peak_memory()

    def describe(self) -> dict[str, object]:
        """Returns the "device" and the error of its float32 products."""
        return {
            "device": jax.devices()[0].device_kind,
            "product_error": product_error(
                lambda left, right: np.asarray(jax.numpy.matmul(left, right))
            ),
        }

    def _fit(self, elements: list[Element]) -> float:
        return self._model.fit(Elements(elements), verbose=0, shuffle=False).history["loss"][0]


class Elements(keras.utils.PyDataset):
    """Batches in order."""

    def __init__(self, elements: list[Element]) -> None:
        super().__init__()
        self._elements = elements

    def __len__(self) -> int:
        """Returns the number of batches."""
        return len(self._elements)

    def __getitem__(self, index: int) -> Element:
        """Returns a batch."""
        return self._elements[index]


if __name__ == "__main__":
    serve(JaxTrainer(*sys.argv[1:]))
