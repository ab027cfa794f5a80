"""Our model as `keras_transformer.train` trains it."""

import dataclasses
import json
import sys
from typing import Any

import keras
from speed.serving import serve

from keras_transformer.config.families import ModelConfig
from keras_transformer.models.families import build_model
from keras_transformer.training.loop.compiling import compile_transformer

from ..batches import Batch
from ..keras_trainer import KerasTrainer
from ..trainer import OPTIONS


class OurTrainer(KerasTrainer):
    """The functions that `train` calls.

    Args:
        changes: Fields of `TrainPlan` that are other than for the peers.
    """

    def __init__(self, **changes: Any) -> None:
        self._changes = changes

    def make(self, config: ModelConfig, precision: str, jit_compile: bool) -> keras.Model:
        """Builds and compiles the model as for a run."""
        options = dataclasses.replace(
            OPTIONS, dtype_policy=precision, jit_compile=jit_compile, **self._changes
        )
        # Without a cooldown the number of updates does not matter.
        return compile_transformer(build_model(config, precision), options, updates=1)

    def element(self, batch: Batch) -> Any:
        """Adds the weights."""
        return (*super().element(batch), batch.sample_weight)


if __name__ == "__main__":
    serve(OurTrainer(**json.loads(sys.argv[1]) if sys.argv[1:] else {}))
