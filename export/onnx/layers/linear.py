"""Kernels and biases of linear layers; those of several layers can be joined into one product."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from keras_transformer.layers.attention import MultiHeadAttention


class Source(NamedTuple):
    """A layer of the model that outputs come from.

    Attributes:
        path: The layer's path.
        scale: How many times as large as the layer's they are.
    """

    path: str
    scale: np.ndarray | np.float32


@dataclass(frozen=True)
class Linear:
    """inputs · kernel + bias, with properties that an emitter may use.

    Attributes:
        kernel: float32 `(inputs, outputs)`, or with `transposed` `(outputs, inputs)`.
        bias: float32 `(outputs,)`, or None.
        transposed: Whether inputs are multiplied by the kernel's transpose, as for a tied
            embedding.
        relu: Whether ReLU follows.
        nonnegative: Whether the inputs come from ReLU.
        ranked: Whether each row of the outputs may be multiplied by a positive factor of its own.
        sources: The layers that the outputs come from, one after the other; empty if not known.
    """

    kernel: np.ndarray
    bias: np.ndarray | None = None
    transposed: bool = False
    relu: bool = False
    nonnegative: bool = False
    ranked: bool = False
    sources: tuple[Source, ...] = ()

    @classmethod
    def of(cls, dense: Any, scale: float | np.ndarray = 1.0, **flags: bool) -> "Linear":
        """Reads a Keras Dense layer; its outputs, or each, become `scale` times as large."""
        factor = np.float32(scale)
        bias = None if dense.bias is None else weight_array(dense.bias) * factor
        kernel, sources = weight_array(dense.kernel) * factor, (Source(dense.path, factor),)
        return cls(kernel, bias, sources=sources, **flags)

    @property
    def units(self) -> int:
        """The number of outputs."""
        return self.kernel.shape[0 if self.transposed else 1]

    def of_units(self, units: np.ndarray) -> "Linear":
        """Returns a layer with these outputs, some perhaps several times."""
        bias = None if self.bias is None else self.bias[units]
        return replace(self, kernel=self.kernel[:, units], bias=bias, sources=())


def side_by_side(layers: Iterable[Linear]) -> Linear:
    """Returns one layer that computes the outputs of all layers, one after the other."""
    layers = list(layers)
    biases = [layer.bias for layer in layers if layer.bias is not None]
    kernel = np.concatenate([layer.kernel for layer in layers], axis=1)
    sources = tuple(source for layer in layers for source in layer.sources)
    return Linear(kernel, np.concatenate(biases) if biases else None, sources=sources)


def score_scale(attention: MultiHeadAttention) -> float:
    """Returns what scores are multiplied by."""
    return float(attention.config.key_dim**-0.5 if attention.config.scale else 1.0)


def magnitudes(attention: MultiHeadAttention) -> np.ndarray:
    """Returns what rotary positions multiply a head's features by: float32 `(key_dim,)`."""
    rotary, width = attention.config.rotary, attention.config.key_dim
    of_pairs = [1.0] * (width // 2) if rotary is None else rotary.magnitudes(width)
    return (
        np.tile(np.array(of_pairs, np.float32), 2) if width % 2 == 0 else np.ones(width, np.float32)
    )


def query_projection(attention: MultiHeadAttention) -> Linear:
    """Returns the layer of queries with the scale of scores and what rotary positions multiply by
    folded in, which saves products.

    If queries are normalised, their norm includes both instead.
    """
    scale = magnitudes(attention) * np.float32(score_scale(attention))
    return _of_heads(attention, attention.query_linear, scale)


def own_projection(attention: MultiHeadAttention) -> Linear:
    """Returns one layer for queries, keys and values; see `query_projection`."""
    keys = _of_heads(attention, attention.key_linear, magnitudes(attention))
    values = Linear.of(attention.value_linear)
    return side_by_side((query_projection(attention), keys, values))


def _of_heads(attention: MultiHeadAttention, dense: Any, scale: np.ndarray) -> Linear:
    """Returns a layer of heads without norms whose features become `scale` times as large."""
    if attention.query_norm is not None:
        return Linear.of(dense)
    return Linear.of(dense, np.tile(scale, dense.kernel.shape[1] // len(scale)))


def source_projection(attentions: Iterable[MultiHeadAttention]) -> Linear:
    """Returns one layer for all keys and values of the source, block by block."""
    return side_by_side(
        Linear.of(linear)
        for attention in attentions
        for linear in (attention.key_linear, attention.value_linear)
    )


def weight_array(weight: Any) -> np.ndarray:
    """Returns a Keras variable's value as float32, to read only.

    TensorFlow lends its memory: a large vocabulary's matrix is not copied for every graph.
    """
    return np.asarray(tf.convert_to_tensor(getattr(weight, "value", weight)), np.float32)
