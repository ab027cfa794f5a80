"""The two streams of XLNet (Yang et al. 2019, section 2.3): which tokens each may read in an order
of factorization, and what the query stream begins as.

The content stream is the encoder itself: a token reads itself and those before it in the order. The
query stream knows its place and reads, in the content stream, those before it alone.
"""

from typing import Any

import keras
from keras import ops

from keras_transformer.layers.initializers import normal_initializer
from keras_transformer.tensors import Tensor


def content_mask(order: Tensor, keep_mask: Tensor) -> Tensor:
    """Returns which keys the content stream reads: boolean `(batch, 1, length, length)`.

    Args:
        order: int32 `(batch, length)`: 0 for what all may read, then the rank of each token that is
            predicted; equal ranks do not read each other.
        keep_mask: Boolean `(batch, length)`, True at real tokens.
    """
    places = ops.cumsum(ops.ones_like(order), axis=1)
    itself = places[:, :, None] == places[:, None, :]
    seen = (order[:, None, :] < order[:, :, None]) | (order[:, None, :] == 0) | itself
    return (seen & keep_mask[:, None, :])[:, None]


def query_mask(order: Tensor, keep_mask: Tensor, places: Tensor) -> Tensor:
    """Returns which keys the query stream reads: none for what is not predicted.

    Args:
        order: As for `content_mask`, as is `keep_mask`.
        keep_mask: See there.
        places: int32 `(batch, predictions)`, where the queries stand.

    Returns:
        Boolean `(batch, 1, predictions, length)`.
    """
    own = ops.take_along_axis(order, places, axis=1)
    seen = order[:, None, :] < own[:, :, None]
    return (seen & keep_mask[:, None, :])[:, None]


@keras.saving.register_keras_serializable("keras_transformer")
class QueryStart(keras.layers.Layer):
    """The trained vector w that the query stream is at every place, before the first block.

    Args:
        dropout: Probability of dropping a feature.

    Input:
        states `(batch, length, model_dim)` and places `(batch, predictions)`, whose values are not
        read.

    Output:
        `(batch, predictions, model_dim)`.
    """

    def __init__(self, dropout: float = 0.1, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.dropout = dropout

    def build(self, states_shape: Any, places_shape: Any = None) -> None:
        """Creates w as wide as the states."""
        self.vector = self.add_weight((states_shape[-1],), normal_initializer(0.02), name="vector")
        self.drop = keras.layers.Dropout(self.dropout, dtype=self.dtype_policy, name="drop")

    def call(self, states: Tensor, places: Tensor, training: bool | None = None) -> Tensor:
        """Returns w for each place."""
        vector = ops.cast(self.vector, states.dtype)
        queries = ops.broadcast_to(vector, (*ops.shape(places), states.shape[-1]))
        return self.drop(queries, training=training)

    def get_config(self) -> dict[str, Any]:
        """Returns the constructor's arguments."""
        return {**super().get_config(), "dropout": self.dropout}

    def compute_output_shape(self, states_shape: Any, places_shape: Any) -> Any:
        """Returns `(batch, predictions, model_dim)`."""
        return (*places_shape, states_shape[-1])
