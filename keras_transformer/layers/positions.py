"""Position vectors, sinusoidal (paper, section 3.5) or learned. Positions count real tokens, so
padding on either side of a sequence does not shift them.
"""

from typing import Any

import keras
import numpy as np
from keras import ops

from keras_transformer.layers.initializers import normal_initializer
from keras_transformer.layers.token_embedding import rows_of
from keras_transformer.tensors import Tensor


def check_sinusoids(layout: str, model_dim: int) -> None:
    """Raises `ValueError` if a layout of sinusoids is unknown or does not fit the width."""
    least = {"interleaved": 1, "halves": 2, "tensor2tensor": 4}
    if layout not in least:
        raise ValueError(f"layout must be one of {', '.join(least)}, got {layout!r}.")
    if model_dim < least[layout] or (layout != "interleaved" and model_dim % 2):
        raise ValueError(
            f"layout={layout!r} needs an even model_dim of at least {least[layout]}, got "
            f"{model_dim}."
        )


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

    Args:
        model_dim: Width of a vector.
        offset: What the first token's position, 0, counts as.
    """

    def __init__(self, model_dim: int, offset: int = 0, **kwargs: Any) -> None:
        if model_dim < 1:
            raise ValueError(f"model_dim must be at least 1, got {model_dim}.")
        if offset < 0:
            raise ValueError(f"offset must be at least 0, got {offset}.")
        super().__init__(**kwargs)
        self.model_dim = model_dim
        self.offset = offset

    def vectors(self, positions: Tensor) -> Tensor:
        """Returns the vectors of the given positions: `(*positions.shape, model_dim)`."""
        raise NotImplementedError

    def call(self, keep_mask: Tensor) -> Tensor:
        """Returns a vector for each place of a batch: `(batch, length, model_dim)`."""
        vectors = self.vectors(ops.arange(ops.shape(keep_mask)[1]))
        return ops.take(vectors, token_positions(keep_mask), axis=0)

    def get_config(self) -> dict[str, Any]:
        """Returns the constructor's arguments."""
        return {**super().get_config(), "model_dim": self.model_dim, "offset": self.offset}

    def compute_output_shape(self, keep_mask_shape: Any) -> tuple[Any, ...]:
        """Returns `(batch, length, model_dim)`."""
        return (*keep_mask_shape, self.model_dim)


@keras.saving.register_keras_serializable("keras_transformer")
class SinusoidalPositions(Positions):
    """PE(pos, 2i) = sin(pos / 10000^(2i/model_dim)), PE(pos, 2i+1) the cosine of the same angle.

    The first position is 0 unless `offset` says otherwise; there is no longest one. Computed in
    float32, returned in the layer's compute dtype.

    Args:
        model_dim: Width of a vector, even or odd.
        offset: The first token's position.
        layout: "interleaved" as in the paper, or "halves", which has the same features in another
            order: all sines, then all cosines; `model_dim` must then be even. "tensor2tensor" has
            halves, too, whose rates are 10000^(-i/(model_dim/2 - 1)): the last is 1/10000, as in
            Tensor2Tensor, Marian and fairseq; `model_dim` must then be at least 4.
    """

    def __init__(
        self, model_dim: int, offset: int = 0, layout: str = "interleaved", **kwargs: Any
    ) -> None:
        check_sinusoids(layout, model_dim)
        super().__init__(model_dim, offset, **kwargs)
        self.layout = layout

    def rates(self) -> np.ndarray:
        """Returns each feature's angle of one position: float32 `(model_dim,)`, in radians."""
        pair = self._features()[0]
        pairs = self.model_dim / 2 - (self.layout == "tensor2tensor")
        return np.power(10000.0, -pair / pairs).astype("float32")

    def is_sine(self) -> np.ndarray:
        """Returns whether each feature is a sine, or else a cosine: boolean `(model_dim,)`."""
        sines: np.ndarray = self._features()[1] == 0
        return sines

    @property
    def is_of_the_paper(self) -> bool:
        """Whether position 0 comes first, and sines and cosines take turns."""
        return self.offset == 0 and self.layout == "interleaved"

    def _features(self) -> tuple[np.ndarray, np.ndarray]:
        """Returns each feature's pair, and 0 for a sine or 1 for a cosine."""
        features = np.arange(self.model_dim)
        if self.layout == "interleaved":
            return features // 2, features % 2
        return features % (self.model_dim // 2), features // (self.model_dim // 2)

    def vectors(self, positions: Tensor) -> Tensor:
        """Returns the vectors of the given positions: `(*positions.shape, model_dim)`."""
        # Without an offset nothing is added: graphs stay as they were.
        places = positions + self.offset if self.offset else positions
        angles = ops.expand_dims(ops.cast(places, "float32"), -1) * self.rates()
        waves = ops.where(self.is_sine(), ops.sin(angles), ops.cos(angles))
        return ops.cast(waves, self.compute_dtype)

    def get_config(self) -> dict[str, Any]:
        """Returns the constructor's arguments."""
        return {**super().get_config(), "layout": self.layout}


@keras.saving.register_keras_serializable("keras_transformer")
class LearnedPositions(Positions):
    """One trained vector for each position (Gehring et al. 2017; the paper's Table 3, row E).

    Args:
        model_dim: Width of a vector.
        max_positions: Number of positions; a longer sequence is an error.
        offset: The row of the first token's vector; the rows before it are not read.
    """

    def __init__(self, model_dim: int, max_positions: int, offset: int = 0, **kwargs: Any) -> None:
        if max_positions < 1:
            raise ValueError(f"max_positions must be at least 1, got {max_positions}.")
        super().__init__(model_dim, offset, **kwargs)
        self.max_positions = max_positions

    def build(self, keep_mask_shape: Any = None) -> None:
        """Creates the matrix `(offset + max_positions, model_dim)`."""
        self.matrix = self.add_weight(
            name="matrix",
            shape=(self.offset + self.max_positions, self.model_dim),
            initializer=normal_initializer(0.02),
            autocast=False,
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
        return self.vectors(token_positions(keep_mask))

    def vectors(self, positions: Tensor) -> Tensor:
        """Returns the vectors of the given positions: `(*positions.shape, model_dim)`."""
        rows = positions + self.offset if self.offset else positions
        return rows_of(self.matrix, rows, self.compute_dtype)

    def get_config(self) -> dict[str, Any]:
        """Returns the constructor's arguments."""
        return {**super().get_config(), "max_positions": self.max_positions}
