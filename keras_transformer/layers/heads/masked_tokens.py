"""The head of masked language models (Devlin et al. 2018): takes states and returns logits over the
vocabulary.
"""

from typing import Any

import keras
from keras import ops

from keras_transformer.layers.initializers import linear_initializer
from keras_transformer.layers.token_embedding import TokenEmbedding
from keras_transformer.layers.variants.activations import activation_named, serialized_activation
from keras_transformer.layers.variants.rms_norm import make_norm

Tensor = Any


@keras.saving.register_keras_serializable("keras_transformer")
class MaskedTokenHead(keras.layers.Layer):
    """A linear layer with activation and norm, then the embeddings' matrix and a bias.

    Args:
        vocab_size: Number of logits.
        activation: That of the model's blocks.
        norm_kind: That of the model's blocks.
        epsilon: Added to the variance in the norm.

    Input:
        `(..., model_dim)`.

    Output:
        `(..., vocab_size)`.
    """

    def __init__(
        self,
        vocab_size: int,
        activation: Any = "gelu",
        norm_kind: str = "layer_norm",
        epsilon: float = 1e-12,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.vocab_size = vocab_size
        self.activation = activation_named(activation)
        self.norm_kind = norm_kind
        self.epsilon = epsilon
        self.tokens: Any = None  # a `TokenEmbedding`, once tied

    def tie(self, tokens: TokenEmbedding) -> None:
        """Uses an embedding's matrix; call this before `build`.

        The layer's config does not record this: the model ties its head again when it is loaded.
        """
        if tokens.vocab_size != self.vocab_size:
            raise ValueError(
                f"a head of {self.vocab_size} logits cannot use the matrix of "
                f"{tokens.vocab_size} tokens."
            )
        self.tokens = tokens

    def build(self, states_shape: Any) -> None:
        """Creates the linear layer, the norm and the bias."""
        if self.tokens is None:
            raise ValueError("the head has no matrix of its own: tie it to embeddings first.")
        self.transform = keras.layers.Dense(
            states_shape[-1],
            activation=self.activation,
            kernel_initializer=linear_initializer(),
            dtype=self.dtype_policy,
            name="transform",
        )
        self.transform.build(states_shape)
        self.layer_norm = make_norm(self.norm_kind, self.epsilon, self.dtype_policy, "layer_norm")
        self.layer_norm.build(states_shape)
        self.bias = self.add_weight(name="bias", shape=(self.vocab_size,), initializer="zeros")

    def features(self, states: Tensor, training: bool | None = None) -> Tensor:
        """Returns what the matrix multiplies: `(..., model_dim)`."""
        return self.layer_norm(self.transform(states))

    @property
    def matrix(self) -> Tensor:
        """Matrix and, as the last column, bias: float32 `(vocab_size, model_dim + 1)`."""
        return ops.concatenate(
            [ops.convert_to_tensor(self.tokens.matrix), self.bias[:, None]], axis=1
        )

    def call(self, states: Tensor) -> Tensor:
        """Returns logits."""
        logits = self.tokens(self.features(states), reverse=True)
        return logits + ops.cast(self.bias, logits.dtype)

    def get_config(self) -> dict[str, Any]:
        """Returns the constructor's arguments."""
        return {
            **super().get_config(),
            "vocab_size": self.vocab_size,
            "activation": serialized_activation(self.activation),
            "norm_kind": self.norm_kind,
            "epsilon": self.epsilon,
        }

    def compute_output_shape(self, states_shape: Any) -> Any:
        """Returns `(..., vocab_size)`."""
        return (*states_shape[:-1], self.vocab_size)
