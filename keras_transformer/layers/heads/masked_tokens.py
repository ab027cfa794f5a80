"""The head of masked language models (Devlin et al. 2018): logits over the vocabulary."""

from typing import Any

import keras

from keras_transformer.config.stack import NormConfig, NormKind
from keras_transformer.layers.head import VocabularyHead
from keras_transformer.layers.heads.transform import build_transform
from keras_transformer.layers.variants.activations import activation_named, serialized_activation
from keras_transformer.tensors import Tensor


@keras.saving.register_keras_serializable("keras_transformer")
class MaskedTokenHead(VocabularyHead):
    """A linear layer with activation and norm, then a `VocabularyHead` with a bias.

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
        norm_kind: NormKind = "layer_norm",
        epsilon: float = 1e-12,
        **kwargs: Any,
    ) -> None:
        super().__init__(vocab_size, use_bias=True, **kwargs)
        self.activation = activation_named(activation)
        self.norm_kind = norm_kind
        self.epsilon = epsilon

    def build(self, states_shape: Any) -> None:
        """Creates the linear layer, the norm, the bias and, unless tied, the matrix.

        The linear layer's outputs have the width of the embedding that the head is tied to.
        """
        width = states_shape[-1] if self.tokens is None else self.tokens.model_dim
        norm = NormConfig(kind=self.norm_kind, epsilon=self.epsilon)
        self.transform, self.layer_norm = build_transform(
            states_shape, width, self.activation, norm, self.dtype_policy
        )
        super().build((*states_shape[:-1], width))

    def features(self, states: Tensor, training: bool | None = None) -> Tensor:
        """Returns what the matrix multiplies: `(..., model_dim)`, or as wide as its rows."""
        return self.layer_norm(self.transform(states))

    def call(self, states: Tensor) -> Tensor:
        """Returns logits."""
        return super().call(self.features(states))

    def get_config(self) -> dict[str, Any]:
        """Returns the constructor's arguments."""
        config = super().get_config()
        del config["use_bias"]
        return {
            **config,
            "activation": serialized_activation(self.activation),
            "norm_kind": self.norm_kind,
            "epsilon": self.epsilon,
        }
