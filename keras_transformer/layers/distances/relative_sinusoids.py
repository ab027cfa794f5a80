"""Relative positions as in Transformer-XL (Dai et al. 2019, section 3.3 and appendix B): what
distances add to the scores of attention.
"""

from typing import Any

import keras
from keras import ops

from keras_transformer.layers.initializers import linear_initializer, normal_initializer
from keras_transformer.layers.positions import SinusoidalPositions
from keras_transformer.layers.products.dense import Dense
from keras_transformer.layers.variants.composite import Composite
from keras_transformer.tensors import Tensor


@keras.saving.register_keras_serializable("keras_transformer")
class RelativeSinusoids(Composite):
    """The term that the distance between a query and a key adds to their score.

    The score of query i and key j is (q_i + u)ᵀ k_j + (q_i + v)ᵀ W_kR R_{i-j}: R holds sinusoids
    (Vaswani et al. 2017, section 3.5) of the distance, which is negative for a key after its query,
    and u and v are a trained vector for each head. Every layer has its own u and v, as the
    published models do (`untie_r`); in the paper's equations all layers share them.

    Args:
        num_heads: Heads of queries.
        key_dim: Width of queries per head.
        farthest: What larger distances count as, and more negative ones as its negative; None for
            themselves.

    Input:
        Queries `(batch, heads, queries, key_dim)`, the number of keys, and the place of the first
        query; the first key has place 0. Queries that do not follow each other have places of their
        own, int32 `(batch, queries)`, each that of a key.

    Output:
        Queries plus u, to be multiplied by keys, and the scores of distances `(batch, heads,
        queries, keys)`; neither is scaled.
    """

    def __init__(
        self, num_heads: int, key_dim: int, farthest: int | None = None, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.farthest = farthest
        self.num_heads = num_heads
        self.key_dim = key_dim

    def build(self, states_shape: Any) -> None:
        """Creates W_kR for sinusoids as wide as the states, u and v."""
        width = states_shape[-1]
        self.sinusoids = SinusoidalPositions(width, dtype=self.dtype_policy, name="sinusoids")
        self.linear = Dense(
            self.num_heads * self.key_dim,
            use_bias=False,
            kernel_initializer=linear_initializer(),
            dtype=self.dtype_policy,
            name="linear",
        )
        self.linear.build((None, None, width))
        self.content_bias, self.position_bias = (
            self.add_weight(
                name=name,
                shape=(self.num_heads, self.key_dim),
                initializer=normal_initializer(0.02),
            )
            for name in ("content_bias", "position_bias")
        )

    def call(
        self,
        queries: Tensor,
        num_keys: Tensor | int,
        first_place: Tensor | int = 0,
        places: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:
        """Returns queries for the keys, and the scores of distances."""
        content, position = (
            queries + ops.cast(bias, queries.dtype)[:, None]
            for bias in (self.content_bias, self.position_bias)
        )
        # Every distance once, the largest first: [T + S - 1].
        rows = ops.shape(queries)[2] if places is None else num_keys
        largest, count = first_place + rows - 1, rows + num_keys - 1
        distances = largest - ops.arange(count, dtype="int32")
        if self.farthest is not None:
            distances = ops.clip(distances, -self.farthest, self.farthest)
        vectors = self.sinusoids.vectors(distances)
        keys = ops.reshape(self.linear(vectors[None])[0], (-1, self.num_heads, self.key_dim))
        keys = ops.transpose(keys, (1, 2, 0))  # [H, K, T + S - 1]
        # A copy for each row: TensorFlow on a processor gives wrong products, or writes beyond its
        # memory, where a batch of one head is multiplied by a matrix for all rows.
        keys = ops.broadcast_to(keys, (ops.shape(queries)[0], *ops.shape(keys)))
        scores = ops.matmul(position, keys)  # [B, H, T, T + S - 1]
        if places is None:
            return content, by_key(scores, num_keys)
        # Of the query at place p the distances begin num_keys - 1 - p columns behind the largest.
        columns = num_keys - 1 - places[:, :, None] + ops.arange(num_keys, dtype="int32")
        heads = ops.broadcast_to(columns[:, None], (*ops.shape(scores)[:3], num_keys))
        return content, ops.take_along_axis(scores, heads, axis=3)

    def get_config(self) -> dict[str, Any]:
        """Returns the constructor's arguments."""
        sizes = {"num_heads": self.num_heads, "key_dim": self.key_dim}
        return {**super().get_config(), **sizes, "farthest": self.farthest}


def by_key(scores: Tensor, num_keys: Tensor | int) -> Tensor:
    """Moves row i of T rows to the left by T - 1 - i, to where its own distances begin.

    With a column more before them, rows that are read as if they had a column less than that are
    each moved by one against the row before (appendix B).

    Args:
        scores: `(batch, heads, queries, queries + keys - 1)`.
        num_keys: How many columns to keep.
    """
    heads, queries, width = scores.shape[1], ops.shape(scores)[2], ops.shape(scores)[3]
    padded = ops.pad(scores, [[0, 0], [0, 0], [0, 0], [1, 0]])
    moved = ops.reshape(padded, (-1, heads, width + 1, queries))[:, :, 1:]
    return ops.reshape(moved, (-1, heads, queries, width))[..., :num_keys]
