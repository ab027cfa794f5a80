"""The model that `fit` trains on a stream of texts: it remembers what came before, in training and
in validation each (Dai et al. 2019, section 3.2).
"""

from typing import Any

import keras

from keras_transformer.layers.decoder.memory import Memory
from keras_transformer.models.decoder_only import DecoderOnly
from keras_transformer.tensors import Tensor
from keras_transformer.training.loop.training_model import TrainingModel


class MemoryTrainingModel(TrainingModel):
    """A decoder with `memory_length`, for batches of which each goes on where the last one ended.

    What is remembered are variables, so that checkpoints hold it and a resumed run goes on as if it
    had not been interrupted.

    Args:
        transformer: The decoder whose weights are trained.
        label_smoothing: As for `TrainingModel`.
        rows: Rows of the batches to train on.
        valid_rows: Rows of those to validate on; 0 for none.
    """

    def __init__(
        self, transformer: DecoderOnly, label_smoothing: float, rows: int, valid_rows: int
    ) -> None:
        super().__init__(transformer, label_smoothing)
        self.memory = self._remembering("memory", rows)
        self.valid_memory = self._remembering("valid_memory", valid_rows)

    def call(self, inputs: dict[str, Tensor], training: bool | None = None) -> Tensor:
        """Returns the states of the next segment of each row, and remembers it."""
        variables = self.memory if training else self.valid_memory
        before = _memory_of(variables).going_on(inputs["goes_on"])
        states, after = self.transformer.read_on(inputs["token_ids"], before, training)
        for variable, value in zip(variables, (after.keep_mask, *after.states), strict=True):
            variable.assign(value)
        return states

    def _remembering(self, name: str, rows: int) -> list[keras.Variable]:
        config, dtype = self.transformer.config, self.transformer.compute_dtype
        shape = (rows, config.memory_length)
        arguments: dict[str, Any] = {"initializer": "zeros", "trainable": False}
        keep = self.add_weight(shape, dtype="bool", name=f"{name}_keep_mask", **arguments)
        return [
            keep,
            *(
                self.add_weight(
                    (*shape, config.model_dim), dtype=dtype, name=f"{name}_{block}", **arguments
                )
                for block in range(config.num_layers)
            ),
        ]


def _memory_of(variables: list[keras.Variable]) -> Memory:
    keep_mask, *states = (variable.value for variable in variables)
    return Memory(keep_mask, states)
