"""The final linear layer: takes states, returns logits over the vocabulary (paper, section 3.4)."""

from typing import Any

import keras
from keras import ops

from keras_transformer.layers.token_embedding import TokenEmbedding

Tensor = Any


@keras.saving.register_keras_serializable("keras_transformer")
class VocabularyHead(keras.layers.Layer):
    """Computes logits with its own matrix or, once tied, with that of a token embedding.

    Args:
        vocab_size: Number of logits.

    Input:
        `(batch, length, model_dim)`.

    Output:
        `(batch, length, vocab_size)`.
    """

    def __init__(self, vocab_size: int, **kwargs: Any) -> None:
        if vocab_size < 1:
            raise ValueError(f"vocab_size must be at least 1, got {vocab_size}.")
        super().__init__(**kwargs)
        self.vocab_size = vocab_size
        self.tokens: TokenEmbedding | None = None
        self.linear: Any = None

    def tie(self, tokens: TokenEmbedding) -> None:
        """Uses an embedding's matrix instead of its own; call this before `build`.

        The layer's config does not record this: the model ties its head again when it is loaded.
        """
        if tokens.vocab_size != self.vocab_size:
            raise ValueError(
                f"a head of {self.vocab_size} logits cannot use the matrix of "
                f"{tokens.vocab_size} tokens."
            )
        self.tokens = tokens

    def build(self, states_shape: Any) -> None:
        """Creates the matrix `(model_dim, vocab_size)`, unless the layer is tied."""
        if self.tokens is None:
            self.linear = keras.layers.Dense(
                self.vocab_size, use_bias=False, dtype=self.dtype_policy, name="linear"
            )
            self.linear.build(states_shape)

    @property
    def matrix(self) -> Tensor:
        """The layer as `(vocab_size, model_dim)`, in float32."""
        if self.tokens is not None:
            return self.tokens.matrix
        return ops.transpose(self.linear.kernel)

    def call(self, states: Tensor) -> Tensor:
        """Projects states onto the vocabulary."""
        if self.tokens is not None:
            return self.tokens(states, reverse=True)
        return self.linear(states)

    def get_config(self) -> dict[str, Any]:
        """Returns the constructor's arguments."""
        return {**super().get_config(), "vocab_size": self.vocab_size}

    def compute_output_shape(self, states_shape: Any) -> tuple[Any, ...]:
        """Returns `(batch, length, vocab_size)`."""
        return (*states_shape[:-1], self.vocab_size)
