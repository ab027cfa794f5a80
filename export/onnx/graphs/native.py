"""Encoder and decode step with this package's own onnxruntime operators (`runtime/native`): fewer
and larger ones than onnxruntime has. The scorer is that with its fused operators.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import tensorflow as tf

from keras_transformer.export.onnx.graphs.fused import (
    align,
    cross_projection,
    feed_forward,
    to_logits,
)
from keras_transformer.export.onnx.graphs.fused_layers import (
    KeysValues,
    Linear,
    Project,
    SubLayer,
    apply_linear,
    embed,
    layer_norm,
    query_projection,
    self_attention_projection,
    weight_array,
)
from keras_transformer.export.onnx.graphs.native_heads import (
    best_continuations,
    best_token,
    screened_best_token,
)
from keras_transformer.export.onnx.graphs.operators import MICROSOFT, NATIVE, onnx_operator, weight
from keras_transformer.layers.positions import SinusoidalPositions
from keras_transformer.models.transformer import Transformer

__all__ = [
    "DOMAINS",
    "align",
    "best_continuations",
    "best_token",
    "decode_step",
    "encode",
    "screened_best_token",
]

# Operator domains beside standard ONNX.
DOMAINS: tuple[str, ...] = (MICROSOFT, NATIVE)


def encode(model: Transformer, source_ids: tf.Tensor) -> tuple[tf.Tensor, list[KeysValues]]:
    """Returns the encoder's states and every decoder block's cross-attention keys and values."""
    stack, blocks = model.encoder_stack, model.decoder_stack.blocks
    places = [(tf.int32, (None, None)), (tf.int32, (None,))]
    mask, positions = onnx_operator(
        "TokenPositions", [source_ids], places, domain=NATIVE, pad=model.config.special_ids.pad
    )
    ids = tf.reshape(source_ids, (-1,))
    states = _embed(model.source_embeddings, ids, positions)
    sub_layers: list[SubLayer] = []
    for block in stack.blocks:
        sub_layers += [_sequence_attention(block, mask), feed_forward(block)]
    states = _run_sub_layers(states, sub_layers, stack.final_norm)
    keys_values = _split_heads(apply_linear(states, cross_projection(blocks)), mask, blocks)
    [shape] = onnx_operator("Shape", [source_ids], [(tf.int64, (2,))])
    width = tf.constant([model.config.model_dim], tf.int64)
    return tf.reshape(states, tf.concat([shape, width], axis=0)), keys_values


def _sequence_attention(block: Any, mask: tf.Tensor) -> SubLayer:
    attention = block.attention
    packed = self_attention_projection(attention)

    def run(project: Project) -> tf.Tensor:
        outputs = [(tf.float32, (None, packed.bias.size // 3))]
        [attended] = onnx_operator(
            "SequenceAttention",
            [project(packed), mask],
            outputs,
            domain=NATIVE,
            heads=attention.num_heads,
        )
        return attended

    return SubLayer(block.attention_residual, run, Linear.of(attention.output_linear))


def _split_heads(projected: tf.Tensor, mask: tf.Tensor, blocks: Any) -> list[KeysValues]:
    heads, parts = blocks[0].cross_attention.num_heads, 2 * len(blocks)
    shape = (None, heads, None, blocks[0].cross_attention.key_dim)
    found = onnx_operator(
        "SplitHeads",
        [projected, mask],
        [(tf.float32, shape)] * parts,
        domain=NATIVE,
        parts=parts,
        heads=heads,
    )
    return list(zip(found[::2], found[1::2], strict=True))


def decode_step(
    model: Transformer,
    target_ids: tf.Tensor,
    step: tf.Tensor,
    source_mask: tf.Tensor,
    cross: list[KeysValues],
    caches: list[KeysValues],
    beams: tuple[tf.Tensor, tf.Tensor] | None,
    head: Callable[[Transformer, tf.Tensor], tf.Tensor] = to_logits,
) -> tuple[tf.Tensor, list[KeysValues]]:
    """Returns the logits of one decoder step and the caches; see `fused.decode_step`."""
    stack = model.decoder_stack
    states = _embed(model.target_embeddings, target_ids, step)
    newest = [step] if beams is None else [step, beams[1]]
    sub_layers: list[SubLayer] = []
    new_caches: list[KeysValues] = []
    for block, keys_values, cache in zip(stack.blocks, cross, caches, strict=True):
        sub_layers += [
            _cached_attention(block, cache, newest, new_caches),
            _cross_attention(block, keys_values, source_mask),
            feed_forward(block),
        ]
    states = _run_sub_layers(states, sub_layers, stack.final_norm)
    return head(model, states), new_caches


def _embed(embeddings: Any, ids: tf.Tensor, places: tf.Tensor) -> tf.Tensor:
    """Embeds tokens `(rows,)`, at one position `(1,)` or at one for each `(rows,)`."""
    tokens, positions = embeddings.tokens, embeddings.positions
    if not isinstance(positions, SinusoidalPositions):
        return embed(tokens, ids) + positions.encode(places)
    found = tf.gather(weight(weight_array(tokens.matrix)), ids)
    [states] = onnx_operator(
        "AddSinusoid",
        [found, places, tf.constant(positions.rates())],
        [(tf.float32, found.shape)],
        domain=NATIVE,
        scale=float(tokens.model_dim) ** 0.5,
    )
    return states


def _run_sub_layers(
    states: tf.Tensor, sub_layers: list[SubLayer], final_norm: Any | None
) -> tf.Tensor:
    """Runs residual sub-layers, post-norm or, where there is a final norm, pre-norm.

    Pre-norm's sums meet the norm of the sub-layer that follows, post-norm's their own.
    """
    inputs, norms = states, [layer.residual.layer_norm for layer in sub_layers]
    if final_norm is not None:
        inputs, norms = layer_norm(states, norms[0]), [*norms[1:], final_norm]
    for layer, norm in zip(sub_layers, norms, strict=True):
        hidden = layer.run(partial(apply_linear, inputs))
        sums, inputs = _add_norm(states, apply_linear(hidden, layer.output), norm)
        states = inputs if final_norm is None else sums
    return inputs


def _add_norm(states: tf.Tensor, change: tf.Tensor, norm: Any) -> list[tf.Tensor]:
    inputs = [states, change, *map(tf.constant, map(weight_array, (norm.gamma, norm.beta)))]
    outputs = [(tf.float32, (None, change.shape[-1]))] * 2
    return onnx_operator("AddNorm", inputs, outputs, domain=NATIVE, epsilon=norm.epsilon)


def _cached_attention(
    block: Any, cache: KeysValues, newest: list[tf.Tensor], new_caches: list[KeysValues]
) -> SubLayer:
    attention = block.self_attention
    packed = self_attention_projection(attention)

    def run(project: Project) -> tf.Tensor:
        outputs = [(tf.float32, (None, packed.bias.size // 3))]
        outputs += [(tf.float32, buffer.shape) for buffer in cache]
        inputs = [project(packed), *cache, *newest]
        attended, *new_cache = onnx_operator("SelfAttention", inputs, outputs, domain=NATIVE)
        new_caches.append((new_cache[0], new_cache[1]))
        return attended

    return SubLayer(block.self_attention_residual, run, Linear.of(attention.output_linear))


def _cross_attention(block: Any, cross: KeysValues, source_mask: tf.Tensor) -> SubLayer:
    attention = block.cross_attention
    projection = query_projection(attention)

    def run(project: Project) -> tf.Tensor:
        inputs = [project(projection), *cross, source_mask]
        outputs = [(tf.float32, (None, projection.bias.size))]
        [attended] = onnx_operator("CrossAttention", inputs, outputs, domain=NATIVE)
        return attended

    return SubLayer(block.cross_attention_residual, run, Linear.of(attention.output_linear))
