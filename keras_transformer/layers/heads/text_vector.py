"""One vector for each text, as Sentence Transformers makes it (Reimers and Gurevych 2019): pools
the states of its tokens and puts the result through linear layers.
"""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import keras
from keras import ops

from keras_transformer.config.checks import read_sequence
from keras_transformer.config.text_vectors import SHORTEST, DenseConfig, Pooling, poolings_of
from keras_transformer.layers.heads.pooler import first_state, last_state, mean_state
from keras_transformer.layers.products.dense import Dense
from keras_transformer.layers.variants.composite import Composite
from keras_transformer.tensors import Tensor


def pooled_states(states: Tensor, keep_mask: Tensor, pooling: str = "mean") -> Tensor:
    """Returns one vector for each row, made of its states at real tokens.

    Args:
        states: `(batch, length, model_dim)`.
        keep_mask: Boolean `(batch, length)`, True at real tokens.
        pooling: As for `EncoderConfig`.

    Returns:
        `(batch, model_dim)` for each of the poolings that are joined, one behind the other; the
        mean, the sum and the maximum of a row without any token are 0.

    Raises:
        ValueError: A pooling is unknown, or named twice.

    Example:
        >>> states, keep = ops.array([[[1.0], [3.0], [9.0]]]), ops.array([[True, True, False]])
        >>> ops.convert_to_numpy(pooled_states(states, keep, "first+mean+max")).tolist()
        [[1.0, 2.0, 3.0]]
    """
    found = [_POOLERS[name](states, keep_mask) for name in poolings_of(pooling)]
    return found[0] if len(found) == 1 else ops.concatenate(found, axis=-1)


def _largest(states: Tensor, keep_mask: Tensor) -> Tensor:
    real = ops.where(keep_mask[:, :, None], states, -float("inf"))
    return ops.where(ops.any(keep_mask, axis=1)[:, None], ops.max(real, axis=1), 0)


def _sum_by_root(states: Tensor, keep_mask: Tensor) -> Tensor:
    tokens = ops.sum(ops.cast(keep_mask, "float32"), axis=1)[:, None]
    exact = ops.cast(mean_state(states, keep_mask), "float32")
    return ops.cast(exact * ops.sqrt(tokens), states.dtype)


def _weighted_mean(states: Tensor, keep_mask: Tensor) -> Tensor:
    kept = ops.cast(keep_mask, "float32")
    weights = kept * ops.cumsum(kept, axis=1)
    total = ops.sum(ops.cast(states, "float32") * weights[:, :, None], axis=1)
    whole = ops.maximum(ops.sum(weights, axis=1), 1)[:, None]
    return ops.cast(total / whole, states.dtype)


_POOLERS: dict[Pooling, Callable[[Tensor, Tensor], Tensor]] = {
    "first": first_state,
    "max": _largest,
    "mean": mean_state,
    "mean_sqrt_length": _sum_by_root,
    "weighted_mean": _weighted_mean,
    "last": last_state,
}


def unit_vectors(vectors: Tensor) -> Tensor:
    """Returns vectors `(batch, width)` divided by their lengths; 0 stays 0."""
    # In float32: squares are more than half precision can hold.
    exact = ops.cast(vectors, "float32")
    lengths = ops.sqrt(ops.sum(ops.square(exact), axis=-1, keepdims=True))
    return ops.cast(exact / ops.maximum(lengths, SHORTEST), vectors.dtype)


@keras.saving.register_keras_serializable("keras_transformer")
class VectorHead(Composite):
    """The linear layers that a text's vector goes through, one after the other.

    Args:
        dense: What each of them is, as `DenseConfig` or as its fields.

    Input:
        `(batch, width)`.

    Output:
        `(batch, out_dim)` of the last layer.
    """

    def __init__(self, dense: Sequence[DenseConfig | dict[str, Any]], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.dense = read_sequence("dense", dense, DenseConfig)
        if not self.dense:
            raise ValueError("dense must name at least one layer, got none.")

    def build(self, vectors_shape: Any) -> None:
        """Creates the layers for the vectors' width."""
        self.layers = []
        for number, layer in enumerate(self.dense):
            made = Dense(
                layer.out_dim,
                activation=layer.activation,
                use_bias=layer.use_bias,
                dtype=self.dtype_policy,
                name=f"dense_{number}",
            )
            made.build(vectors_shape)
            vectors_shape = made.compute_output_shape(vectors_shape)
            self.layers.append(made)

    def call(self, vectors: Tensor) -> Tensor:
        """Returns the vectors that the last layer makes."""
        for layer in self.layers:
            vectors = layer(vectors)
        return vectors

    def get_config(self) -> dict[str, Any]:
        """Returns the constructor's arguments."""
        return {**super().get_config(), "dense": [dataclasses.asdict(one) for one in self.dense]}

    def compute_output_shape(self, vectors_shape: Any) -> Any:
        """Returns `(batch, out_dim)` of the last layer."""
        return (*vectors_shape[:-1], self.dense[-1].out_dim)
