"""Contextual word features: the states of other models as input (Peters et al. 2018, ELMo; Akbik et
al. 2018, Flair; McCann et al. 2017, CoVe).
"""

from typing import Any

import keras
from keras import ops

from keras_transformer.layers.heads.layer_mix import LayerMix
from keras_transformer.layers.initializers import linear_initializer
from keras_transformer.layers.products.dense import Dense
from keras_transformer.layers.variants.composite import Composite
from keras_transformer.tensors import Tensor


@keras.saving.register_keras_serializable("keras_transformer")
class ContextualFeatures(Composite):
    """Adds W [m_1; ...; m_n] + b to embeddings, m_i the learned mix of a model's layers.

    That is the linear layer over embeddings and features side by side whose part for the embeddings
    is the identity.

    Args:
        model_dim: Width of the embeddings.
        dropout: Probability of dropping a feature of the mixes in training.

    Attributes:
        mixes: The `LayerMix` of each model, once built.
        projection: The linear layer.

    Input:
        embeddings `(batch, length, model_dim)`; a list with the states of each model,
        `(batch, length, layers, width)`, zeros where a token has none.

    Output:
        `(batch, length, model_dim)`.
    """

    def __init__(self, model_dim: int, dropout: float = 0.1, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.model_dim = model_dim
        self.dropout = dropout

    def build(self, embeddings_shape: Any, states_shape: Any) -> None:
        """Creates the mixes and the linear layer for the models' layers and widths."""
        policy = self.dtype_policy
        self.mixes = [LayerMix(dtype=policy, name=f"mix_{n}") for n in range(len(states_shape))]
        for mix, shape in zip(self.mixes, states_shape, strict=True):
            mix.build([(*shape[:2], shape[3])] * shape[2])
        self.drop = keras.layers.Dropout(self.dropout, dtype=policy, name="drop")
        self.projection = Dense(
            self.model_dim,
            kernel_initializer=linear_initializer(),
            dtype=policy,
            name="projection",
        )
        self.projection.build((*embeddings_shape[:2], sum(shape[3] for shape in states_shape)))

    def call(
        self, embeddings: Tensor, states: list[Tensor], training: bool | None = None
    ) -> Tensor:
        """Mixes the states of each model and adds them to the embeddings."""
        mixed = [mix(ops.unstack(one, axis=2)) for mix, one in zip(self.mixes, states, strict=True)]
        features = self.drop(ops.concatenate(mixed, axis=-1), training=training)
        return embeddings + self.projection(features)

    def get_config(self) -> dict[str, Any]:
        """Returns the constructor's arguments."""
        return {**super().get_config(), "model_dim": self.model_dim, "dropout": self.dropout}

    def compute_output_shape(self, embeddings_shape: Any, states_shape: Any) -> Any:
        """Returns the embeddings' shape."""
        return embeddings_shape
