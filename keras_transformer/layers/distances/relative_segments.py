"""Relative segments as in XLNet (Yang et al. 2019, section 2.5): what it adds to the scores of
attention whether a key is of its query's segment.
"""

from typing import Any

import keras
from keras import ops

from keras_transformer.layers.initializers import normal_initializer
from keras_transformer.tensors import Tensor


@keras.saving.register_keras_serializable("keras_transformer")
class RelativeSegments(keras.layers.Layer):
    """The term (q_i + b)ᵀ s_ij of the score of query i and key j.

    s_ij is one of two trained vectors of each head: the first if both are of one segment, the
    second if not. Segments are told apart and have no number: there may be any number of them.

    Args:
        num_heads: Heads of queries.
        key_dim: Width of queries per head.

    Input:
        Queries `(batch, heads, queries, key_dim)`; whether a key is of another segment than the
        query, boolean `(batch, 1, queries, keys)`.

    Output:
        `(batch, heads, queries, keys)`, not scaled.
    """

    def __init__(self, num_heads: int, key_dim: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.num_heads = num_heads
        self.key_dim = key_dim

    def build(self, queries_shape: Any = None) -> None:
        """Creates the vectors `(2, heads, key_dim)` and the bias `(heads, key_dim)`."""
        initializer = normal_initializer(0.02)
        shape = self.num_heads, self.key_dim
        self.vectors = self.add_weight((2, *shape), initializer, name="vectors")
        self.segment_bias = self.add_weight(shape, initializer, name="segment_bias")

    def call(self, queries: Tensor, differs: Tensor) -> Tensor:
        """Returns the scores of segments."""
        queries = queries + ops.cast(self.segment_bias, queries.dtype)[:, None]
        vectors = ops.transpose(ops.cast(self.vectors, queries.dtype), (1, 2, 0))  # [H, K, 2]
        # A copy for each row, as in `RelativeSinusoids`.
        vectors = ops.broadcast_to(vectors, (ops.shape(queries)[0], *ops.shape(vectors)))
        scores = ops.matmul(queries, vectors)
        return ops.where(differs, scores[..., 1:], scores[..., :1])

    def get_config(self) -> dict[str, Any]:
        """Returns the constructor's arguments."""
        return {**super().get_config(), "num_heads": self.num_heads, "key_dim": self.key_dim}
