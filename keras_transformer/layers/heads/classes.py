"""The head of classification, tagging, regression and spans."""

from collections.abc import Iterable
from typing import Any

import keras
from keras import ops

from keras_transformer.config.stack import NormConfig, NormKind
from keras_transformer.layers.heads.linear_chain_crf import LinearChainCRF
from keras_transformer.layers.heads.transform import build_transform
from keras_transformer.layers.initializers import linear_initializer
from keras_transformer.layers.products.dense import Dense
from keras_transformer.layers.variants.activations import activation_named
from keras_transformer.layers.variants.composite import Composite
from keras_transformer.layers.variants.quantization import float_kernel
from keras_transformer.tensors import Tensor


@keras.saving.register_keras_serializable("keras_transformer")
class ClassHead(Composite):
    """Dropout and a linear layer with a bias, and what gives its outputs their range.

    Args:
        num_classes: Number of logits.
        dropout: Probability of dropping a feature of a state in training.
        activation: The name of a Keras activation, applied to the logits.
        transform: The activation of a linear layer before the dropout, and a norm after it, as in
            `MaskedTokenHead`; None for neither.
        norm_kind: That of the model's blocks.
        epsilon: Added to the variance in the norm.

    Input:
        `(..., model_dim)`.

    Output:
        `(..., num_classes)`.
    """

    def __init__(
        self,
        num_classes: int,
        dropout: float = 0.1,
        activation: str = "linear",
        transform: str | None = None,
        norm_kind: NormKind = "layer_norm",
        epsilon: float = 1e-12,
        **kwargs: Any,
    ) -> None:
        if num_classes < 1:
            raise ValueError(f"num_classes must be at least 1, got {num_classes}.")
        super().__init__(**kwargs)
        self.num_classes = num_classes
        self.dropout = dropout
        self.activation = activation
        self.transform_activation = transform
        self.norm_kind = norm_kind
        self.epsilon = epsilon

    def build(self, states_shape: Any) -> None:
        """Creates the linear layers for the states' width, and the norm between them."""
        self.transform: Any = None
        self.layer_norm: Any = None
        if self.transform_activation is not None:
            activation = activation_named(self.transform_activation)
            norm = NormConfig(kind=self.norm_kind, epsilon=self.epsilon)
            self.transform, self.layer_norm = build_transform(
                states_shape, states_shape[-1], activation, norm, self.dtype_policy
            )
        self.drop = keras.layers.Dropout(self.dropout, dtype=self.dtype_policy, name="drop")
        self.linear = Dense(
            self.num_classes,
            kernel_initializer=linear_initializer(),
            dtype=self.dtype_policy,
            name="linear",
        )
        self.linear.build(states_shape)

    def features(self, states: Tensor, training: bool | None = None) -> Tensor:
        """Returns what the linear layer reads: `(..., model_dim)`."""
        if self.transform is not None:
            states = self.layer_norm(self.transform(states))
        return self.drop(states, training=training)

    @property
    def matrix(self) -> Tensor:
        """The linear layer, its bias as the last column: float32 `(num_classes, model_dim + 1)`."""
        kernel = float_kernel(self.linear)
        return ops.concatenate([ops.transpose(kernel), self.linear.bias[:, None]], axis=1)

    def call(self, states: Tensor, training: bool | None = None) -> Tensor:
        """Returns logits, or what the activation makes of them."""
        logits = self.linear(self.features(states, training=training))
        return activation_named(self.activation)(logits)

    def get_config(self) -> dict[str, Any]:
        """Returns the constructor's arguments."""
        return {
            **super().get_config(),
            "num_classes": self.num_classes,
            "dropout": self.dropout,
            "activation": self.activation,
            "transform": self.transform_activation,
            "norm_kind": self.norm_kind,
            "epsilon": self.epsilon,
        }

    def compute_output_shape(self, states_shape: Any) -> Any:
        """Returns `(..., num_classes)`."""
        return (*states_shape[:-1], self.num_classes)


@keras.saving.register_keras_serializable("keras_transformer")
class ChainHead(ClassHead):
    """A `ClassHead` whose logits are the emissions of a chain of tags.

    Args:
        num_classes: Number of tags.
        dropout: As for `ClassHead`.
        forbidden: As for `LinearChainCRF`.

    Attributes:
        chain: The `LinearChainCRF`, once built: what finds tags by the logits.
    """

    def __init__(
        self,
        num_classes: int,
        dropout: float = 0.1,
        forbidden: Iterable[Iterable[int]] = (),
        **kwargs: Any,
    ) -> None:
        super().__init__(num_classes, dropout, **kwargs)
        self.forbidden = [list(pair) for pair in forbidden]

    def build(self, states_shape: Any) -> None:
        """Creates the linear layer and the chain."""
        super().build(states_shape)
        self.chain = LinearChainCRF(
            self.num_classes, self.forbidden, dtype=self.dtype_policy, name="chain"
        )
        self.chain.build(self.compute_output_shape(states_shape))

    def get_config(self) -> dict[str, Any]:
        """Returns the constructor's arguments."""
        return {**super().get_config(), "forbidden": self.forbidden}
