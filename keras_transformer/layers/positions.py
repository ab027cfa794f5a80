"""Position vectors, sinusoidal (paper, section 3.5) or learned: takes a padding mask and returns
vectors. Positions count real tokens, so padding on either side of a sequence does not shift them.
"""

from typing import Any

import keras
import numpy as np
from keras import ops

Tensor = Any


def token_positions(keep_mask: Tensor) -> Tensor:
    """Numbers the real tokens of each row from 0.

    Args:
        keep_mask: Boolean `(batch, length)`, True at real tokens.

    Returns:
        int32 `(batch, length)`; padding has the position of the token before it, or 0 at the start.
    """
    return ops.maximum(ops.cumsum(ops.cast(keep_mask, "int32"), axis=1) - 1, 0)


class Positions(keras.layers.Layer):
    """The base of both kinds: returns vectors `(batch, length, model_dim)` for a keep mask.

    Subclasses define `vectors(positions)` for int32 positions of any shape.
    """

    def __init__(self, model_dim: int, **kwargs: Any) -> None:
        if model_dim < 1:
            raise ValueError(f"model_dim must be at least 1, got {model_dim}.")
        super().__init__(**kwargs)
        self.model_dim = model_dim

    def vectors(self, positions: Tensor) -> Tensor:
        """Returns the vectors of the given positions: `(*positions.shape, model_dim)`."""
        raise NotImplementedError

    def call(self, keep_mask: Tensor) -> Tensor:
        """Returns a vector for each place of a batch: `(batch, length, model_dim)`."""
        vectors = self.vectors(ops.arange(ops.shape(keep_mask)[1]))
        return ops.take(vectors, token_positions(keep_mask), axis=0)

    def get_config(self) -> dict[str, Any]:
        """Returns the constructor's arguments."""
        return {**super().get_config(), "model_dim": self.model_dim}

    def compute_output_shape(self, keep_mask_shape: Any) -> tuple[Any, ...]:
        """Returns `(batch, length, model_dim)`."""
        return (*keep_mask_shape, self.model_dim)


@keras.saving.register_keras_serializable("keras_transformer")
class SinusoidalPositions(Positions):
    """PE(pos, 2i) = sin(pos / 10000^(2i/model_dim)), PE(pos, 2i+1) the cosine of the same angle.

    The first position is 0; there is no limit. Computed in float32, returned in the layer's
    compute dtype.

    Args:
        model_dim: Width of a vector, even or odd.
    """

    def rates(self) -> np.ndarray:
        """Returns the angle per position of each feature: float32 `(model_dim,)`, in radians."""
        pair = 2 * (np.arange(self.model_dim) // 2)
        return np.power(10000.0, -pair / self.model_dim).astype("float32")

    def vectors(self, positions: Tensor) -> Tensor:
        """Returns the vectors of the given positions: `(*positions.shape, model_dim)`."""
        angles = ops.expand_dims(ops.cast(positions, "float32"), -1) * self.rates()
        waves = ops.where(np.arange(self.model_dim) % 2 == 0, ops.sin(angles), ops.cos(angles))
        return ops.cast(waves, self.compute_dtype)


@keras.saving.register_keras_serializable("keras_transformer")
class LearnedPositions(Positions):
    """One trained vector for each position (Gehring et al. 2017; the paper's Table 3, row E).

    Args:
        model_dim: Width of a vector.
        max_positions: Number of positions; a longer sequence is an error.
    """

    def __init__(self, model_dim: int, max_positions: int, **kwargs: Any) -> None:
        if max_positions < 1:
            raise ValueError(f"max_positions must be at least 1, got {max_positions}.")
        super().__init__(model_dim, **kwargs)
        self.max_positions = max_positions

    def build(self, keep_mask_shape: Any = None) -> None:
        """Creates the matrix `(max_positions, model_dim)`."""
        self.matrix = self.add_weight(
            name="matrix",
            shape=(self.max_positions, self.model_dim),
            initializer=keras.initializers.RandomNormal(stddev=0.02),
        )

    def call(self, keep_mask: Tensor) -> Tensor:
        """Returns a vector for each place of a batch: `(batch, length, model_dim)`.

        Raises:
            ValueError: The sequence is longer than `max_positions`.
        """
        length = keep_mask.shape[1]
        if isinstance(length, int) and length > self.max_positions:
            raise ValueError(
                f"a sequence of {length} tokens is longer than max_positions "
                f"({self.max_positions}): shorten it, or train with more positions or with "
                "positions='sinusoidal'."
            )
        return super().call(keep_mask)

    def vectors(self, positions: Tensor) -> Tensor:
        """Returns the vectors of the given positions: `(*positions.shape, model_dim)`."""
        return ops.take(ops.cast(self.matrix, self.compute_dtype), positions, axis=0)

    def get_config(self) -> dict[str, Any]:
        """Returns the constructor's arguments."""
        return {**super().get_config(), "max_positions": self.max_positions}
