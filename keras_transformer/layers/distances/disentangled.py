"""What distances add to the scores of disentangled attention (He et al. 2021, DeBERTa)."""

from typing import Any

import keras
import numpy as np
import numpy.typing as npt
from keras import ops

from keras_transformer.layers.distances.relative_sinusoids import by_key
from keras_transformer.layers.initializers import normal_initializer
from keras_transformer.tensors import Tensor


def signed_buckets(buckets: int, max_distance: int) -> npt.NDArray[np.int32]:
    """Returns the rows of the vectors of all distances from -max_distance to max_distance.

    Distances below half of the buckets have one each; the others share them by their logarithm.

    Args:
        buckets: Those of either direction, an even number.
        max_distance: More than half of them and 1.
    """
    middle = buckets // 2
    distances = np.arange(-max_distance, max_distance + 1)
    # In float32, as the published models were trained: a rounding may decide on a bucket.
    sizes = np.maximum(np.abs(distances), middle).astype("float32") / np.float32(middle)
    whole = np.log(np.float32((max_distance - 1) / middle))
    grown = np.ceil(np.log(sizes) / whole * np.float32(middle - 1)).astype("int32") + middle
    found = np.where(np.abs(distances) <= middle, distances, np.sign(distances) * grown)
    rows: npt.NDArray[np.int32] = np.clip(found + buckets, 0, 2 * buckets - 1).astype("int32")
    return rows


@keras.saving.register_keras_serializable("keras_transformer")
class DisentangledDistances(keras.layers.Layer):
    """The terms q_iᵀ K_d + k_jᵀ Q_d of the score of query i and key j, with d the bucket of i - j.

    K and Q are the paper's projections of one table of distances (equation 4), which all layers
    share there; every layer here has the projected ones as weights of its own, as they do not
    depend on texts.

    Args:
        num_heads: Heads of queries and keys.
        key_dim: Width of both per head.
        buckets: Buckets of distances in either direction.
        max_distance: Distances from here on share a bucket.

    Input:
        Queries `(batch, heads, queries, key_dim)` and keys `(batch, heads, keys, key_dim)`, both
        from place 0 on.

    Output:
        `(batch, heads, queries, keys)`, not scaled.
    """

    def __init__(
        self, num_heads: int, key_dim: int, buckets: int, max_distance: int, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.num_heads = num_heads
        self.key_dim = key_dim
        self.buckets = buckets
        self.max_distance = max_distance
        self.rows = signed_buckets(buckets, max_distance)

    def build(self, queries_shape: Any = None) -> None:
        """Creates K and Q, `(2 * buckets, heads, key_dim)`."""
        shape = 2 * self.buckets, self.num_heads, self.key_dim
        self.distance_keys, self.distance_queries = (
            self.add_weight(shape, normal_initializer(0.02), name=name)
            for name in ("distance_keys", "distance_queries")
        )

    def call(self, queries: Tensor, keys: Tensor) -> Tensor:
        """Returns the scores of distances."""
        length, num_keys = ops.shape(queries)[2], ops.shape(keys)[2]
        # Every distance once, the largest first: [T + S - 1].
        distances = length - 1 - ops.arange(length + num_keys - 1, dtype="int32")
        of_keys = by_key(self._compared(queries, self.distance_keys, distances), num_keys)
        # Of key j and query i the distance of i from j is asked for, and the smallest comes first.
        distances = ops.arange(length + num_keys - 1, dtype="int32") - (num_keys - 1)
        of_queries = by_key(self._compared(keys, self.distance_queries, distances), length)
        return of_keys + ops.swapaxes(of_queries, -1, -2)

    def _compared(self, states: Tensor, vectors: Tensor, distances: Tensor) -> Tensor:
        """Returns products of states with the vectors of distances, `(batch, heads, states, D)`."""
        places = ops.clip(distances, -self.max_distance, self.max_distance) + self.max_distance
        rows = ops.take(self.rows, places, axis=0)
        found = ops.take(ops.cast(vectors, states.dtype), rows, axis=0)
        found = ops.transpose(found, (1, 2, 0))  # [H, K, D]
        # A copy for each row, as in `RelativeSinusoids`.
        found = ops.broadcast_to(found, (ops.shape(states)[0], *ops.shape(found)))
        return ops.matmul(states, found)

    def get_config(self) -> dict[str, Any]:
        """Returns the constructor's arguments."""
        sizes = {"num_heads": self.num_heads, "key_dim": self.key_dim}
        buckets = {"buckets": self.buckets, "max_distance": self.max_distance}
        return {**super().get_config(), **sizes, **buckets}
