"""Keeps the vector that translations begin with at zero, as Marian has it and does not train it:
so a model that was imported from there can leave for there after fine-tuning.
"""

from typing import Any

import keras
import numpy as np
from keras import ops

from keras_transformer.models.transformer import Transformer


class ZeroRow(keras.constraints.Constraint):
    """Sets a row of a matrix to zeros after each update.

    Args:
        row: Its number.

    Example:
        >>> np.asarray(ZeroRow(1)(np.ones((3, 2), np.float32))).tolist()
        [[1.0, 1.0], [0.0, 0.0], [1.0, 1.0]]
    """

    def __init__(self, row: int) -> None:
        self.row = row

    def __call__(self, matrix: Any) -> Any:
        """Returns the matrix with zeros in the row."""
        others = ops.not_equal(ops.arange(matrix.shape[0]), self.row)
        return ops.where(others[:, None], matrix, 0.0)


def keep_zero_start(model: Transformer) -> None:
    """Lets a first decoder input that is a vector of zeros remain one in training.

    Label smoothing and the model's own gradients would move it otherwise. Marian's is no weight,
    and Hugging Face's Marian does not train it, either.
    """
    matrix = model.target_embeddings.tokens.matrix
    start = model.config.special_ids.decoder_start
    if not np.any(matrix[start]):
        matrix.constraint = ZeroRow(start)
