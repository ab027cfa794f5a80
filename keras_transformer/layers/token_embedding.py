"""Token embedding and, with the same matrix, the final linear layer (paper, section 3.4)."""

from typing import Any

import keras
from keras import ops

from keras_transformer.layers.initializers import normal_initializer
from keras_transformer.layers.products.product import product
from keras_transformer.tensors import Tensor


def rows_of(matrix: Any, numbers: Tensor, dtype: str) -> Tensor:
    """Looks up rows of a weight made with `autocast=False`.

    They are cast afterwards, because backends sum up the gradients of a row in the dtype that it
    was looked up in: in bfloat16 on JAX those of a row of a thousand tokens were wrong by a
    quarter.

    Args:
        matrix: The weight `(rows, width)`.
        numbers: Integers of any shape.
        dtype: Of the result.

    Returns:
        `(*numbers.shape, width)`.
    """
    return ops.cast(ops.take(matrix, numbers, axis=0), dtype)


@keras.saving.register_keras_serializable("keras_transformer")
class TokenEmbedding(keras.layers.Layer):
    """Looks ids up in a matrix and scales them by √model_dim; in reverse, returns logits.

    The matrix starts as N(0, 1/model_dim): scaled tokens have unit variance, as the sinusoids
    nearly do, and the logits of a normalized state have unit variance too.

    Args:
        vocab_size: Rows of the matrix.
        model_dim: Width of a vector.
        scale: Whether vectors are multiplied by √model_dim; logits never are.

    Input:
        ids `(batch, length)`, integer; in reverse, states `(..., model_dim)`.

    Output:
        `(batch, length, model_dim)`; in reverse, logits `(..., vocab_size)`.
    """

    def __init__(self, vocab_size: int, model_dim: int, scale: bool = True, **kwargs: Any) -> None:
        for name, value in (("vocab_size", vocab_size), ("model_dim", model_dim)):
            if value < 1:
                raise ValueError(f"{name} must be at least 1, got {value}.")
        super().__init__(**kwargs)
        self.vocab_size = vocab_size
        self.model_dim = model_dim
        self.scale = scale

    def build(self, input_shape: Any = None) -> None:
        """Creates the matrix `(vocab_size, model_dim)`."""
        self.matrix = self.add_weight(
            name="matrix",
            shape=(self.vocab_size, self.model_dim),
            initializer=normal_initializer(self.model_dim**-0.5),
            autocast=False,
        )

    def call(self, inputs: Tensor, reverse: bool = False) -> Tensor:
        """Embeds ids, or projects states onto the vocabulary if `reverse`."""
        if reverse:
            matrix = ops.cast(self.matrix, self.compute_dtype)
            inputs = ops.cast(inputs, self.compute_dtype)
            return product(inputs, matrix, transpose_right=True)
        vectors = rows_of(self.matrix, inputs, self.compute_dtype)
        return vectors * float(self.model_dim) ** 0.5 if self.scale else vectors

    def get_config(self) -> dict[str, Any]:
        """Returns the constructor's arguments."""
        return {
            **super().get_config(),
            "vocab_size": self.vocab_size,
            "model_dim": self.model_dim,
            "scale": self.scale,
        }

    def compute_output_shape(self, input_shape: Any) -> tuple[Any, ...]:
        """Returns the shape of embedded ids."""
        return (*input_shape, self.model_dim)

    def compute_output_spec(self, inputs: Tensor, reverse: bool = False) -> keras.KerasTensor:
        """Returns the symbolic output in either direction."""
        shape = self.compute_output_shape(inputs.shape)
        if reverse:
            shape = (*inputs.shape[:-1], self.vocab_size)
        return keras.KerasTensor(shape, dtype=self.compute_dtype)
