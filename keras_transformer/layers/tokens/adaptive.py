"""Adaptive input: vectors that are the narrower the rarer their tokens are (Baevski and Auli 2018,
section 3).
"""

from collections.abc import Sequence
from typing import Any

import keras
from keras import ops

from keras_transformer.config.embedding import clusters_of
from keras_transformer.layers.initializers import normal_initializer
from keras_transformer.layers.products.product import product
from keras_transformer.layers.token_embedding import rows_of
from keras_transformer.tensors import Tensor


@keras.saving.register_keras_serializable("keras_transformer")
class AdaptiveEmbedding(keras.layers.Layer):
    """Looks ids up in the matrix of their cluster, and projects what it finds to `model_dim`.

    Args:
        vocab_size: Number of ids, the most frequent first.
        model_dim: Width of a projected vector.
        cutoffs: The first id of each cluster but the first.
        div_value: How many times narrower vectors are in each cluster than in the one before.
        scale: Whether projected vectors are multiplied by √model_dim.

    Attributes:
        clusters: Where each begins, its size, and the width of its vectors.
        matrices: `(size, width)`, of each cluster.
        projections: `(width, model_dim)`, of each cluster.

    Input:
        ids `(batch, length)`, integer.

    Output:
        `(batch, length, model_dim)`.
    """

    def __init__(
        self,
        vocab_size: int,
        model_dim: int,
        cutoffs: Sequence[int],
        div_value: int = 4,
        scale: bool = True,
        **kwargs: Any,
    ) -> None:
        clusters = clusters_of(vocab_size, model_dim, cutoffs, div_value)
        super().__init__(**kwargs)
        self.clusters = clusters
        self.vocab_size = vocab_size
        self.model_dim = model_dim
        self.cutoffs = tuple(cutoffs)
        self.div_value = div_value
        self.scale = scale

    def build(self, input_shape: Any = None) -> None:
        """Creates the matrices and the projections."""
        self.matrices = [
            self.add_weight(
                name=f"matrix_{number}",
                shape=(one.size, one.width),
                initializer=normal_initializer(one.width**-0.5),
                autocast=False,
            )
            for number, one in enumerate(self.clusters)
        ]
        self.projections = [
            self.add_weight(
                name=f"projection_{number}",
                shape=(one.width, self.model_dim),
                initializer=normal_initializer(self.model_dim**-0.5),
            )
            for number, one in enumerate(self.clusters)
        ]

    @property
    def matrix(self) -> Tensor:
        """The vectors of all ids, projected: float32 `(vocab_size, model_dim)`."""
        pairs = zip(self.matrices, self.projections, strict=True)
        return ops.concatenate([ops.matmul(ops.cast(m, "float32"), p) for m, p in pairs])

    def call(self, inputs: Tensor) -> Tensor:
        """Embeds ids."""
        found = []
        for cluster, matrix in zip(self.clusters, self.matrices, strict=True):
            places = inputs - cluster.begin
            is_inside = ops.logical_and(places >= 0, places < cluster.size)
            vectors = rows_of(matrix, ops.where(is_inside, places, 0), self.compute_dtype)
            found.append(vectors * ops.cast(is_inside, vectors.dtype)[..., None])
        # All but one cluster's vectors are zeros: one product projects all.
        projection = ops.concatenate([ops.cast(p, self.compute_dtype) for p in self.projections])
        vectors = product(ops.concatenate(found, axis=-1), projection)
        return vectors * float(self.model_dim) ** 0.5 if self.scale else vectors

    def get_config(self) -> dict[str, Any]:
        """Returns the constructor's arguments."""
        return {
            **super().get_config(),
            "vocab_size": self.vocab_size,
            "model_dim": self.model_dim,
            "cutoffs": list(self.cutoffs),
            "div_value": self.div_value,
            "scale": self.scale,
        }

    def compute_output_shape(self, input_shape: Any) -> tuple[Any, ...]:
        """Returns `(batch, length, model_dim)`."""
        return (*input_shape, self.model_dim)
