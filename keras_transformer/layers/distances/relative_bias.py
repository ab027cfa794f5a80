"""Relative positions as biases of attention scores, one number a head for each bucket of distances
(Raffel et al. 2020, T5).
"""

from typing import Any

import keras
import numpy as np
import numpy.typing as npt
from keras import ops

from keras_transformer.layers.initializers import normal_initializer
from keras_transformer.layers.token_embedding import rows_of
from keras_transformer.tensors import Tensor


def distance_buckets(num_buckets: int, max_distance: int) -> npt.NDArray[np.int32]:
    """Returns the bucket of every distance from 0 to `max_distance`, where the last one begins.

    Half of the buckets hold one distance each; the others grow with the logarithm of the distance.

    Args:
        num_buckets: Buckets for one direction, at least 2.
        max_distance: More than half of them.
    """
    exact = num_buckets // 2
    distances = np.arange(max_distance + 1)
    # In float32, as the published models were trained: a rounding may decide on a bucket.
    ratio = np.log(np.maximum(distances, 1).astype("float32") / np.float32(exact))
    ratio /= np.float32(np.log(max_distance / exact))
    grown = exact + (ratio * np.float32(num_buckets - exact)).astype("int32")
    buckets = np.where(distances < exact, distances, np.minimum(grown, num_buckets - 1))
    return buckets.astype("int32")


@keras.saving.register_keras_serializable("keras_transformer")
class RelativeBias(keras.layers.Layer):
    """A trained bias for each head and each bucket of distances between query and key.

    Args:
        num_heads: Attention heads.
        num_buckets: Rows of the matrix; an even number, of which a half is for keys after the
            query if `attends_ahead`.
        max_distance: Distances from here on share a bucket.
        attends_ahead: Whether queries attend to keys after them, as an encoder's do.

    Input:
        States `(batch, length, model_dim)`, of which only the length counts.

    Output:
        `(1, heads, length, length)`.
    """

    def __init__(
        self,
        num_heads: int,
        num_buckets: int = 32,
        max_distance: int = 128,
        attends_ahead: bool = True,
        **kwargs: Any,
    ) -> None:
        if num_buckets < 4 or num_buckets % 2:
            raise ValueError(f"num_buckets must be even and at least 4, got {num_buckets}.")
        if max_distance <= num_buckets // 2:
            raise ValueError(
                f"max_distance must be more than half of num_buckets ({num_buckets}), got "
                f"{max_distance}."
            )
        super().__init__(**kwargs)
        self.num_heads = num_heads
        self.num_buckets = num_buckets
        self.max_distance = max_distance
        self.attends_ahead = attends_ahead
        self._buckets = distance_buckets(num_buckets // (1 + attends_ahead), max_distance)

    def build(self, states_shape: Any = None) -> None:
        """Creates the matrix `(num_buckets, num_heads)`."""
        self.matrix = self.add_weight(
            name="matrix",
            shape=(self.num_buckets, self.num_heads),
            initializer=normal_initializer(0.02),
            autocast=False,
        )

    def buckets(self, queries: Tensor, keys: Tensor) -> Tensor:
        """Returns the row of the matrix for each query and key: int32 `(queries, keys)`."""
        ahead = keys[None, :] - queries[:, None]
        distance = ops.abs(ahead) if self.attends_ahead else ops.maximum(-ahead, 0)
        rows = ops.take(self._buckets, ops.minimum(distance, self.max_distance), axis=0)
        if self.attends_ahead:
            rows = rows + ops.where(ahead > 0, self.num_buckets // 2, 0)
        return rows

    def call(self, states: Tensor) -> Tensor:
        """Returns the biases of a whole sequence."""
        places = ops.arange(ops.shape(states)[1], dtype="int32")
        return self.between(places, places)

    def between(self, queries: Tensor, keys: Tensor) -> Tensor:
        """Returns the biases of any places.

        Args:
            queries: int32 `(queries,)`.
            keys: int32 `(keys,)`.

        Returns:
            `(1, heads, queries, keys)`.
        """
        buckets = self.buckets(queries, keys)
        biases = rows_of(self.matrix, buckets, self.compute_dtype)  # [T, S, H]
        return ops.transpose(biases, (2, 0, 1))[None]

    def get_config(self) -> dict[str, Any]:
        """Returns the constructor's arguments."""
        return {
            **super().get_config(),
            "num_heads": self.num_heads,
            "num_buckets": self.num_buckets,
            "max_distance": self.max_distance,
            "attends_ahead": self.attends_ahead,
        }

    def compute_output_shape(self, states_shape: Any) -> tuple[Any, ...]:
        """Returns `(1, heads, length, length)`."""
        return (1, self.num_heads, states_shape[1], states_shape[1])
