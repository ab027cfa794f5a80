"""Long short-term memory (Hochreiter and Schmidhuber 1997), as ELMo and Flair read texts."""

from typing import Any

import keras
from keras import ops

from keras_transformer.config.stack import RecurrenceConfig
from keras_transformer.layers.variants.configured import Configured
from keras_transformer.tensors import Tensor


@keras.saving.register_keras_serializable("keras_transformer")
class LSTM(Configured):
    """Keras's LSTM of the input's width, over whole sequences or some tokens at a time.

    Args:
        config: Whether the gates have biases.

    Attributes:
        cells: The `keras.layers.LSTM`, once built.

    Input and output:
        `(batch, length, model_dim)`.

    Example:
        >>> layer = LSTM(RecurrenceConfig(kind="lstm"))
        >>> layer(keras.ops.ones((1, 3, 8))).shape
        TensorShape([1, 3, 8])
    """

    config: RecurrenceConfig
    config_class = RecurrenceConfig

    def build(self, input_shape: Any) -> None:
        """Creates the gates for the input's width."""
        self.cells = keras.layers.LSTM(
            input_shape[-1],
            use_bias=self.config.use_bias,
            return_sequences=True,
            return_state=True,
            dtype=self.dtype_policy,
            name="cells",
        )
        self.cells.build(input_shape)

    @property
    def linear_layers(self) -> tuple[()]:
        """None: the gates are in Keras's layer, which LoRA does not adapt."""
        return ()

    def empty_state(self, rows: Tensor | int) -> Tensor:
        """Returns the state before the first token: zeros `(rows, 2 * model_dim)`."""
        return ops.zeros((rows, 2 * self.cells.units), self.compute_dtype)

    def call(self, inputs: Tensor, keep_mask: Tensor | None = None) -> Tensor:
        """Reads whole sequences.

        Args:
            inputs: `(batch, length, model_dim)`.
            keep_mask: Boolean `(batch, length)`, True at real tokens, the others leave the state as
                it is; all if None.
        """
        return self.cells(inputs, mask=keep_mask)[0]

    def step(self, inputs: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        """Reads the next tokens: one, or several at once.

        Args:
            inputs: `(rows, tokens, model_dim)`.
            state: `(rows, 2 * model_dim)`, hidden state and cell side by side.

        Returns:
            Outputs `(rows, tokens, model_dim)` and the state after the last token.
        """
        outputs, *last = self.cells(inputs, initial_state=ops.split(state, 2, axis=-1))
        return outputs, ops.concatenate(last, axis=-1)

    def compute_output_shape(self, input_shape: Any) -> Any:
        """Returns the input's shape."""
        return input_shape
