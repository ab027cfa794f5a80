"""The final linear layer, from states to logits over the vocabulary (paper, section 3.4)."""

from typing import Any

import keras
from keras import ops

from keras_transformer.config.checks import check_soft_cap
from keras_transformer.layers.initializers import head_initializer
from keras_transformer.layers.products.dense import Dense
from keras_transformer.layers.token_embedding import TokenEmbedding
from keras_transformer.layers.variants.composite import Composite
from keras_transformer.layers.variants.quantization import float_kernel
from keras_transformer.layers.variants.scores import soft_capped
from keras_transformer.tensors import Tensor


@keras.saving.register_keras_serializable("keras_transformer")
class VocabularyHead(Composite):
    """Computes logits with its own matrix or, once tied, with that of a token embedding.

    Args:
        vocab_size: Number of logits.
        use_bias: Whether each logit has a bias.
        tied: Whether the matrix is an embedding's, which `tie` must name before `build`.
        soft_cap: What bounds logits, biases included, as `soft_capped` does; None for no bound.

    Attributes:
        tokens: The embedding that the layer is tied to, or None.
        linear: The layer's own matrix, or None once tied.
        bias: `(vocab_size,)`, or None.

    Input:
        `(batch, length, model_dim)`.

    Output:
        `(batch, length, vocab_size)`.
    """

    def __init__(
        self,
        vocab_size: int,
        use_bias: bool = False,
        tied: bool = False,
        soft_cap: float | None = None,
        **kwargs: Any,
    ) -> None:
        if vocab_size < 1:
            raise ValueError(f"vocab_size must be at least 1, got {vocab_size}.")
        check_soft_cap("soft_cap", soft_cap)
        super().__init__(**kwargs)
        self.vocab_size = vocab_size
        self.use_bias = use_bias
        self.tied = tied
        self.soft_cap = soft_cap
        self.tokens: TokenEmbedding | None = None
        self.linear: Any = None
        self.bias: Any = None

    def tie(self, tokens: TokenEmbedding) -> None:
        """Uses an embedding's matrix instead of its own; call this before `build`.

        The layer's config does not record which: the model ties its head again when it is loaded.
        """
        if tokens.vocab_size != self.vocab_size:
            raise ValueError(
                f"a head of {self.vocab_size} logits cannot use the matrix of "
                f"{tokens.vocab_size} tokens."
            )
        self.tied = True
        self.tokens = tokens

    def build(self, states_shape: Any) -> None:
        """Creates the matrix `(model_dim, vocab_size)`, unless the layer is tied, and the bias.

        Raises:
            ValueError: The layer is tied, but not to any embedding.
        """
        if self.tied and self.tokens is None:
            raise ValueError(
                f"the layer {self.name!r} is tied to an embedding's matrix, and its config does "
                "not say to which: call `tie` first. Copy a model with "
                "type(model).from_config(model.get_config()) instead of clone_model, and save one "
                "that contains it with the whole of it, not with its `decoder` alone."
            )
        if self.tokens is None:
            self.linear = Dense(
                self.vocab_size,
                use_bias=False,
                kernel_initializer=head_initializer(),
                dtype=self.dtype_policy,
                name="linear",
            )
            self.linear.build(states_shape)
        if self.use_bias:
            self.bias = self.add_weight(name="bias", shape=(self.vocab_size,), initializer="zeros")

    @property
    def matrix(self) -> Tensor:
        """The layer as `(vocab_size, model_dim)`, in float32; a bias is a further column."""
        if self.tokens is None:
            matrix = ops.transpose(float_kernel(self.linear))
        else:
            matrix = self.tokens.matrix
        if self.bias is None:
            return matrix
        return ops.concatenate([ops.convert_to_tensor(matrix), self.bias[:, None]], axis=1)

    def call(self, states: Tensor) -> Tensor:
        """Projects states onto the vocabulary."""
        logits = self.linear(states) if self.tokens is None else self.tokens(states, reverse=True)
        if self.bias is not None:
            logits = logits + ops.cast(self.bias, logits.dtype)
        return soft_capped(logits, self.soft_cap)

    def get_config(self) -> dict[str, Any]:
        """Returns the constructor's arguments."""
        return {
            **super().get_config(),
            "vocab_size": self.vocab_size,
            "use_bias": self.use_bias,
            "tied": self.tied,
            "soft_cap": self.soft_cap,
        }

    def compute_output_shape(self, states_shape: Any) -> tuple[Any, ...]:
        """Returns `(batch, length, vocab_size)`."""
        return (*states_shape[:-1], self.vocab_size)
