"""Embeddings: takes ids and returns the input of a stack of blocks, scaled tokens plus positions
with dropout (paper, sections 3.4, 3.5 and 5.4). Only this layer adds a token to a position.
"""

from typing import Any

import keras

from keras_transformer.layers.positions import LearnedPositions, Positions, SinusoidalPositions
from keras_transformer.layers.token_embedding import TokenEmbedding

Tensor = Any


@keras.saving.register_keras_serializable("keras_transformer")
class Embeddings(keras.layers.Layer):
    """Embeds ids: tokens + positions, with dropout on the sum.

    Args:
        vocab_size: Number of token ids.
        model_dim: Width of a vector.
        max_positions: Number of learned positions; sinusoidal positions if None.
        dropout: Probability of dropping a feature of the sum in training.

    Attributes:
        tokens: The `TokenEmbedding`; another layer may share it.
        positions: `SinusoidalPositions` or `LearnedPositions`.

    Input:
        ids `(batch, length)`, integer; keep_mask boolean `(batch, length)`, True at real tokens.

    Output:
        `(batch, length, model_dim)`.
    """

    def __init__(
        self,
        vocab_size: int,
        model_dim: int,
        max_positions: int | None = None,
        dropout: float = 0.1,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.vocab_size = vocab_size
        self.model_dim = model_dim
        self.max_positions = max_positions
        self.dropout = dropout
        policy = self.dtype_policy
        self.tokens = TokenEmbedding(vocab_size, model_dim, dtype=policy, name="tokens")
        self.positions = self._make_positions()
        self.drop = keras.layers.Dropout(dropout, dtype=policy, name="drop")

    def _make_positions(self) -> Positions:
        arguments = {"dtype": self.dtype_policy, "name": "positions"}
        if self.max_positions is None:
            return SinusoidalPositions(self.model_dim, **arguments)
        return LearnedPositions(self.model_dim, self.max_positions, **arguments)

    def share_tokens(self, other: "Embeddings") -> None:
        """Uses the token matrix of another layer instead of its own; call this before `build`.

        The layer's config does not record this: the model shares the matrix again when it is
        loaded.
        """
        if (self.vocab_size, self.model_dim) != (other.vocab_size, other.model_dim):
            raise ValueError(
                f"embeddings of {self.vocab_size} ids x {self.model_dim} and of "
                f"{other.vocab_size} x {other.model_dim} cannot share a matrix."
            )
        del self.tokens
        self.tokens = other.tokens

    def build(self, ids_shape: Any, keep_mask_shape: Any = None) -> None:
        """Creates the matrices, unless the layer that shares them already has."""
        for layer in (self.tokens, self.positions):
            if not layer.built:
                layer.build(ids_shape)

    def call(self, ids: Tensor, keep_mask: Tensor, training: bool | None = None) -> Tensor:
        """Embeds whole sequences; positions count real tokens."""
        return self.drop(self.tokens(ids) + self.positions(keep_mask), training=training)

    def step(self, ids: Tensor, position: Tensor) -> Tensor:
        """Embeds one token of each row, all at the same position, without dropout.

        Args:
            ids: Integer `(rows,)`.
            position: int32 scalar.

        Returns:
            `(rows, 1, model_dim)`.
        """
        return self.tokens(ids[:, None]) + self.positions.vectors(position)

    def get_config(self) -> dict[str, Any]:
        """Returns the constructor's arguments."""
        return {
            **super().get_config(),
            "vocab_size": self.vocab_size,
            "model_dim": self.model_dim,
            "max_positions": self.max_positions,
            "dropout": self.dropout,
        }

    def compute_output_shape(self, ids_shape: Any, keep_mask_shape: Any = None) -> tuple[Any, ...]:
        """Returns `(batch, length, model_dim)`."""
        return (*ids_shape, self.model_dim)
