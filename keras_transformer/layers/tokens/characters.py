"""Vectors of tokens built from their characters by convolutions (Kim et al. 2016; ELMo, Peters et
al. 2018).
"""

from collections.abc import Sequence
from typing import Any

import keras
import numpy as np
from keras import ops

from keras_transformer.layers.initializers import linear_initializer, normal_initializer
from keras_transformer.layers.products.dense import Dense
from keras_transformer.layers.token_embedding import rows_of
from keras_transformer.layers.variants.composite import Composite
from keras_transformer.tensors import Tensor

# Of a table of bytes: nothing, the marks of a token's begin and end, then the 256 bytes.
_NOTHING, _BEGIN, _END, _FIRST_BYTE = 0, 1, 2, 3
_ROWS_AT_ONCE = 4096


@keras.saving.register_keras_serializable("keras_transformer")
class CharacterEmbedding(Composite):
    """Looks up how a token is spelled, and makes a vector of its UTF-8 bytes.

    For each width w there are w · `filters` convolutions over w bytes, of which the largest value
    counts, after tanh; a highway layer and a linear layer follow. Since a vector depends on the id
    alone, `matrix` is a table of all, which exports hold in place of the layer.

    Args:
        vocab_size: Number of ids.
        model_dim: Width of a vector.
        character_dim: Width of a byte's embedding.
        filters: Convolutions of each width, by byte of the width.
        largest_width: Widths are 1 to this.
        max_bytes: Bytes of a token that are read, the marks of its begin and end among them.
        scale: Whether vectors are multiplied by √model_dim.

    Attributes:
        spelling: int32 `(vocab_size, max_bytes)`, not trained; `spell` sets it.

    Input:
        ids `(batch, length)`, integer.

    Output:
        `(batch, length, model_dim)`.
    """

    def __init__(
        self,
        vocab_size: int,
        model_dim: int,
        character_dim: int,
        filters: int = 25,
        largest_width: int = 6,
        max_bytes: int = 24,
        scale: bool = True,
        **kwargs: Any,
    ) -> None:
        if not 1 <= largest_width <= max_bytes:
            raise ValueError(
                f"largest_width must lie between 1 and max_bytes ({max_bytes}), got "
                f"{largest_width}."
            )
        super().__init__(**kwargs)
        self.vocab_size = vocab_size
        self.model_dim = model_dim
        self.character_dim = character_dim
        self.filters = filters
        self.largest_width = largest_width
        self.max_bytes = max_bytes
        self.scale = scale

    def build(self, input_shape: Any = None) -> None:
        """Creates the table of bytes, their embeddings, filters, highway and projection."""
        self.spelling = self.add_weight(
            name="spelling",
            shape=(self.vocab_size, self.max_bytes),
            dtype="int32",
            initializer="zeros",
            trainable=False,
        )
        self.bytes = self.add_weight(
            name="bytes",
            shape=(_FIRST_BYTE + 256, self.character_dim),
            initializer=normal_initializer(1.0),
            autocast=False,
        )
        features = self.filters * sum(range(self.largest_width + 1))
        self.convolutions = [
            self._dense(width * self.character_dim, width * self.filters, f"width_{width}")
            for width in range(1, self.largest_width + 1)
        ]
        # Most of a vector is carried on at first (Srivastava et al. 2015).
        carried = keras.initializers.Constant(-2.0)
        self.gate = self._dense(features, features, "gate", bias_initializer=carried)
        self.transform = self._dense(features, features, "transform")
        self.output_linear = self._dense(features, self.model_dim, "output")

    def _dense(self, inputs: int, units: int, name: str, **more: Any) -> Dense:
        named: dict[str, Any] = {"dtype": self.dtype_policy, "name": name, **more}
        layer = Dense(units, kernel_initializer=linear_initializer(), **named)
        layer.build((None, inputs))
        return layer

    def spell(self, pieces: Sequence[str]) -> None:
        """Sets how each id is spelled; further bytes than there is room for are left out."""
        table = np.full((self.vocab_size, self.max_bytes), _NOTHING, np.int32)
        for row, piece in zip(table, pieces, strict=False):
            spelled = [one + _FIRST_BYTE for one in piece.encode()][: self.max_bytes - 2]
            row[: len(spelled) + 2] = [_BEGIN, *spelled, _END]
        self.spelling.assign(table)

    @property
    def matrix(self) -> Tensor:
        """The vectors of all ids without the scale: float32 `(vocab_size, model_dim)`."""
        spelling = ops.convert_to_tensor(self.spelling)
        starts = range(0, self.vocab_size, _ROWS_AT_ONCE)
        found = [self._vectors(spelling[start : start + _ROWS_AT_ONCE]) for start in starts]
        return ops.cast(ops.concatenate(found), "float32")

    def call(self, inputs: Tensor) -> Tensor:
        """Embeds ids."""
        vectors = self._vectors(ops.take(ops.convert_to_tensor(self.spelling), inputs, axis=0))
        return vectors * float(self.model_dim) ** 0.5 if self.scale else vectors

    def _vectors(self, spelled: Tensor) -> Tensor:
        """Returns `(..., model_dim)` of bytes `(..., max_bytes)`."""
        bytes_ = rows_of(self.bytes, spelled, self.compute_dtype)
        bytes_ = bytes_ * ops.cast(spelled != _NOTHING, bytes_.dtype)[..., None]
        found = []
        for width, convolution in enumerate(self.convolutions, 1):
            places = self.max_bytes - width + 1
            windows = [bytes_[..., at : at + places, :] for at in range(width)]
            values = convolution(ops.concatenate(windows, axis=-1))  # [..., places, w · filters]
            found.append(ops.tanh(ops.max(values, axis=-2)))
        states = ops.concatenate(found, axis=-1)
        gate = ops.sigmoid(self.gate(states))
        states = gate * ops.relu(self.transform(states)) + (1 - gate) * states
        return self.output_linear(states)

    def get_config(self) -> dict[str, Any]:
        """Returns the constructor's arguments."""
        return {
            **super().get_config(),
            "vocab_size": self.vocab_size,
            "model_dim": self.model_dim,
            "character_dim": self.character_dim,
            "filters": self.filters,
            "largest_width": self.largest_width,
            "max_bytes": self.max_bytes,
            "scale": self.scale,
        }

    def compute_output_shape(self, input_shape: Any) -> tuple[Any, ...]:
        """Returns `(batch, length, model_dim)`."""
        return (*input_shape, self.model_dim)
