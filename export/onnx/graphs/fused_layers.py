"""Layers for onnxruntime's fused operators: the weights of Keras layers come in, two-dimensional
states `(rows, model_dim)` go from sub-layer to sub-layer with few, large operators.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from keras_transformer.export.onnx.graphs.operators import MICROSOFT, onnx_operator, weight

# What a masked score is set to: far below any score, far above float32's limit.
MASKED = -1e9
# What GroupQueryAttention asks of a head's width.
_GROUPED_WIDTH = 8

KeysValues = tuple[tf.Tensor, tf.Tensor]


class Linear(NamedTuple):
    """kernel `(inputs, outputs)` and bias `(outputs,)`, float32."""

    kernel: np.ndarray
    bias: np.ndarray

    @classmethod
    def of(cls, dense: Any) -> "Linear":
        """Reads a Keras Dense layer with a bias."""
        return cls(weight_array(dense.kernel), weight_array(dense.bias))

    def scaled(self, factor: float) -> "Linear":
        """Returns the layer whose outputs are `factor` times as large."""
        return Linear(self.kernel * np.float32(factor), self.bias * np.float32(factor))

    def beside(self, *others: "Linear") -> "Linear":
        """Returns one layer that computes this one's outputs and then the others'."""
        parts = (self, *others)
        return Linear(
            np.concatenate([part.kernel for part in parts], axis=1),
            np.concatenate([part.bias for part in parts]),
        )


# Applies a linear layer to the sub-layer's input.
Project = Callable[[Linear], tf.Tensor]


class SubLayer(NamedTuple):
    """One residual sub-layer.

    Attributes:
        residual: Its Keras `Residual` layer.
        run: Computes, from its input's projections, what `output` is applied to.
        output: Its last linear layer.
    """

    residual: Any
    run: Callable[[Project], tf.Tensor]
    output: Linear


def run_sub_layers(
    states: tf.Tensor, sub_layers: Sequence[SubLayer], final_norm: Any | None
) -> tf.Tensor:
    """Runs a stack of residual sub-layers, post-norm or, where there is a final norm, pre-norm.

    Args:
        states: `(rows, model_dim)`, embedded tokens with their positions.
        sub_layers: The sub-layers in order.
        final_norm: Keras layer normalisation after the last one (pre-norm only).

    Returns:
        `(rows, model_dim)`.
    """
    if final_norm is not None:
        for layer in sub_layers:
            inputs = layer_norm(states, layer.residual.layer_norm)
            hidden = layer.run(partial(apply_linear, inputs))
            # The bias with the product: int8 kernels take one, but no residual.
            states = states + apply_linear(hidden, layer.output)
        return layer_norm(states, final_norm)
    return _run_post_norm(states, sub_layers)


def _run_post_norm(states: tf.Tensor, sub_layers: Sequence[SubLayer]) -> tf.Tensor:
    """Runs LayerNorm(x + Sublayer(x)) with every output bias folded away.

    The states carry the bias that the next sub-layer's output would add to them: the norm before
    adds it to its beta, and the sub-layer's own projections take it out of their bias.
    """
    carried = sub_layers[0].output.bias
    states = states + carried
    none = np.zeros_like(carried)
    for layer, following in zip(sub_layers, [*sub_layers[1:], None], strict=True):

        def project(
            linear: Linear, states: tf.Tensor = states, carried: np.ndarray = carried
        ) -> tf.Tensor:
            bias = linear.bias - carried @ linear.kernel
            return apply_linear(states, Linear(linear.kernel, bias))

        hidden = layer.run(project)
        carried = none if following is None else following.output.bias
        joined = gemm(hidden, layer.output.kernel, states)
        states = layer_norm(joined, layer.residual.layer_norm, carried)
    return states


def embed(tokens: Any, ids: tf.Tensor) -> tf.Tensor:
    """Looks ids up in a `TokenEmbedding`, which checks them for negative ones besides."""
    scale = float(tokens.model_dim) ** 0.5
    return tf.gather(weight(weight_array(tokens.matrix)), ids) * scale


def gemm(states: tf.Tensor, kernel: np.ndarray, added: tf.Tensor) -> tf.Tensor:
    """Returns states · kernel + added: one operator for a product and a bias or a residual."""
    outputs = [(tf.float32, (None, kernel.shape[1]))]
    [result] = onnx_operator("Gemm", [states, weight(kernel), added], outputs, alpha=1.0, beta=1.0)
    return result


def product(states: tf.Tensor, matrix: np.ndarray, *, transposed: bool = False) -> tf.Tensor:
    """Returns states · matrix, or states · matrixᵀ."""
    outputs = [(tf.float32, (None, matrix.shape[0 if transposed else 1]))]
    [result] = onnx_operator("Gemm", [states, weight(matrix)], outputs, transB=int(transposed))
    return result


def apply_linear(states: tf.Tensor, linear: Linear) -> tf.Tensor:
    """Returns states · kernel + bias."""
    return gemm(states, linear.kernel, tf.constant(linear.bias))


def layer_norm(states: tf.Tensor, norm: Any, more: np.ndarray | float = 0.0) -> tf.Tensor:
    """Applies a Keras layer normalisation over the last axis and adds `more` to its beta."""
    gamma, beta = tf.constant(weight_array(norm.gamma)), tf.constant(weight_array(norm.beta) + more)
    [result] = onnx_operator(
        "LayerNormalization",
        [states, gamma, tf.cast(beta, tf.float32)],
        [(tf.float32, states.shape)],
        axis=-1,
        epsilon=float(norm.epsilon),
    )
    return result


def self_attention_projection(attention: Any) -> Linear:
    """Returns one layer for queries, keys and values, the queries divided by √key_dim already."""
    return query_projection(attention).beside(
        Linear.of(attention.key_linear), Linear.of(attention.value_linear)
    )


def query_projection(attention: Any) -> Linear:
    """Returns the queries' layer with 1/√key_dim folded in: scaling scores would cost time."""
    return Linear.of(attention.query_linear).scaled(attention.key_dim**-0.5)


def multi_head_attention(
    query: tf.Tensor,
    key: tf.Tensor,
    value: tf.Tensor,
    keep_mask: tf.Tensor | None,
    num_heads: int,
) -> tf.Tensor:
    """Attends from queries `(batch, queries, heads * width)`, already scaled.

    Args:
        query: Projected queries.
        key: `(batch, keys, heads * width)` or `(batch, heads, keys, width)`.
        value: As `key`.
        keep_mask: int32 `(batch, keys)`, 1 where a key may be attended to; None for causal
            attention: each query to the keys up to its own place.
        num_heads: Heads.

    Returns:
        `(batch * queries, heads * width)`.
    """
    [heads] = onnx_operator(
        "MultiHeadAttention",
        [query, key, value, None, keep_mask],
        [(tf.float32, (None, None, query.shape[-1]))],
        domain=MICROSOFT,
        num_heads=num_heads,
        scale=1.0,
        mask_filter_value=MASKED,
        unidirectional=int(keep_mask is None),
    )
    return tf.reshape(heads, (-1, query.shape[-1]))


class NewestTokens(NamedTuple):
    """Where the one new token of each row stands.

    Attributes:
        step: int32 `(1,)`, tokens already in the cache.
        steps: int32 `(rows,)`, the same for each row.
        beams: int32 `(1,)`, rows of a sentence, and int32 `(batch, beams, cache_length)`, whose row
            holds each earlier token; None where a sentence has one row, which is faster.
    """

    step: tf.Tensor
    steps: tf.Tensor
    beams: tuple[tf.Tensor, tf.Tensor] | None

    @classmethod
    def of(
        cls, ids: tf.Tensor, step: tf.Tensor, beams: tuple[tf.Tensor, tf.Tensor] | None
    ) -> "NewestTokens":
        """Takes the number of rows from the tokens' ids, `(rows,)`."""
        [rows] = onnx_operator("Shape", [ids], [(tf.int64, (1,))])
        [steps] = onnx_operator("Expand", [step, rows], [(tf.int32, (None,))])
        return cls(step, steps, beams)


def cached_self_attention(
    packed: tf.Tensor, cache: KeysValues, newest: NewestTokens, num_heads: int
) -> tuple[tf.Tensor, KeysValues]:
    """Attends from one new token of each row to those before it and to itself.

    Args:
        packed: Queries, keys and values `(rows, 3 * heads * width)`, queries already scaled.
        cache: Keys and values `(rows, heads, cache_length, width)`, written in place.
        newest: Where the new tokens stand.
        num_heads: Heads.

    Returns:
        `(rows, heads * width)` and the caches.
    """
    width = packed.shape[-1] // 3
    packed = tf.reshape(packed, (-1, 1, 3 * width))
    if newest.beams is None and width // num_heads % _GROUPED_WIDTH == 0:
        # A third faster over few rows, and it takes all three in one.
        name, kind = "GroupQueryAttention", {"kv_num_heads": num_heads}
        inputs = [packed, None, None, *cache, newest.steps, newest.step + 1]
    else:
        name, kind = "DecoderMaskedMultiHeadAttention", {"past_present_share_buffer": 1}
        inputs = [*tf.split(packed, 3, axis=2), None, None, *cache, newest.step]
        inputs += newest.beams or ()
    stored = (tf.float32, (None, num_heads, None, width // num_heads))
    heads, keys, values = onnx_operator(
        name,
        inputs,
        [(tf.float32, (None, 1, width)), stored, stored],
        domain=MICROSOFT,
        num_heads=num_heads,
        scale=1.0,
        **kind,
    )
    return tf.reshape(heads, (-1, width)), (keys, values)


def weight_array(weight: Any) -> np.ndarray:
    """Returns a Keras variable's value as float32, inside a trace too."""
    with tf.init_scope():
        return np.asarray(weight, np.float32)
