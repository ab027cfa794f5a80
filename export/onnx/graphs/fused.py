"""The encoder and the decode step with onnxruntime's fused operators: a Keras Transformer comes in,
functions to be traced leave, whose numbers are the model's.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from keras_transformer.export.onnx.graphs.candidates import best_continuations, best_token
from keras_transformer.export.onnx.graphs.fused_layers import (
    MASKED,
    KeysValues,
    Linear,
    NewestTokens,
    Project,
    SubLayer,
    apply_linear,
    cached_self_attention,
    embed,
    multi_head_attention,
    product,
    query_projection,
    run_sub_layers,
    self_attention_projection,
    weight_array,
)
from keras_transformer.export.onnx.graphs.operators import MICROSOFT
from keras_transformer.export.onnx.graphs.screening import screened_best_token
from keras_transformer.models.transformer import Transformer

__all__ = [
    "DOMAINS",
    "align",
    "best_continuations",
    "best_token",
    "cross_projection",
    "decode_step",
    "encode",
    "feed_forward",
    "screened_best_token",
    "to_logits",
    "vocabulary_matrix",
    "why_not",
]

# Operator domains beside standard ONNX.
DOMAINS: tuple[str, ...] = (MICROSOFT,)


def why_not(config: Any) -> str | None:
    """Returns why a model cannot use the fused operators, or None where it can."""
    if config.key_dim != config.value_dim:
        return (
            f"key_dim ({config.key_dim}) is not value_dim ({config.value_dim}), as onnxruntime's "
            "attention operators need it"
        )
    return None


def encode(model: Transformer, source_ids: tf.Tensor) -> tuple[tf.Tensor, list[KeysValues]]:
    """Returns the encoder's states and every decoder block's cross-attention keys and values."""
    embeddings, stack = model.source_embeddings, model.encoder_stack
    keep = tf.not_equal(source_ids, model.config.special_ids.pad)
    embedded = embed(embeddings.tokens, source_ids) + embeddings.positions(keep)
    width = model.config.model_dim
    shape, mask = tf.shape(source_ids), tf.cast(keep, tf.int32)
    sub_layers = []
    for block in stack.blocks:
        sub_layers += [
            _self_attention(block.attention, block.attention_residual, shape, mask),
            feed_forward(block),
        ]
    states = run_sub_layers(tf.reshape(embedded, (-1, width)), sub_layers, stack.final_norm)
    cross = _project_for_decoder(states, shape, model.decoder_stack.blocks)
    return tf.reshape(states, (shape[0], shape[1], width)), cross


def _self_attention(
    attention: Any, residual: Any, shape: tf.Tensor, mask: tf.Tensor | None
) -> SubLayer:
    """Attends within whole sequences: to what the mask keeps, or causally where it is None."""
    packed = self_attention_projection(attention)

    def run(project: Project) -> tf.Tensor:
        states = tf.reshape(project(packed), (shape[0], shape[1], packed.bias.size))
        query, key, value = tf.split(states, 3, axis=2)
        return multi_head_attention(query, key, value, mask, attention.num_heads)

    return SubLayer(residual, run, Linear.of(attention.output_linear))


def feed_forward(block: Any) -> SubLayer:
    """Applies the position-wise feed-forward network of section 3.3."""
    layer = block.feed_forward
    hidden = Linear.of(layer.hidden)
    return SubLayer(
        block.feed_forward_residual,
        lambda project: layer.activation(project(hidden)),
        Linear.of(layer.output_linear),
    )


def _project_for_decoder(states: tf.Tensor, shape: tf.Tensor, blocks: Any) -> list[KeysValues]:
    """Projects encoder states for all blocks at once: `(batch, heads, source_length, width)`."""
    heads, width = blocks[0].cross_attention.num_heads, blocks[0].cross_attention.key_dim
    projected = apply_linear(states, cross_projection(blocks))
    projected = tf.reshape(projected, (shape[0], shape[1], 2 * len(blocks), heads, width))
    parts = tf.unstack(tf.transpose(projected, (2, 0, 3, 1, 4)))
    return list(zip(parts[::2], parts[1::2], strict=True))


def cross_projection(blocks: Any) -> Linear:
    """Returns one layer for all decoder blocks' keys and values of the source, block by block."""
    first, *others = (
        Linear.of(linear)
        for block in blocks
        for linear in (block.cross_attention.key_linear, block.cross_attention.value_linear)
    )
    return first.beside(*others)


def vocabulary_matrix(model: Transformer) -> np.ndarray:
    """Returns the matrix `(vocabulary, model_dim)` by whose rows states become logits."""
    tied = model.head.tokens
    if tied is not None:
        # The embedding's own, so that it is stored once.
        return weight_array(tied.matrix)
    return np.ascontiguousarray(weight_array(model.head.linear.kernel).T)


def to_logits(model: Transformer, states: tf.Tensor) -> tf.Tensor:
    """Returns the logits `(rows, vocabulary)` of states `(rows, model_dim)`."""
    return product(states, vocabulary_matrix(model), transposed=True)


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
    """Returns the logits of one decoder step and the caches; `specs.decoder_specs` has the shapes.

    With another `head` it returns what that makes of the model and the states `(rows, model_dim)`.

    Unlike `Transformer.decode_step` it writes the caches in place and reads each earlier token
    from the row that `beams`, the graph's beam_size and cache_beams, names, so that no cache is
    ever copied or reordered. With one row a sentence `beams` is None.
    """
    embeddings, stack = model.target_embeddings, model.decoder_stack
    embedded = embed(embeddings.tokens, target_ids) + embeddings.positions.encode(step)
    beam_size = tf.constant([1], tf.int64) if beams is None else tf.cast(beams[0], tf.int64)
    width = model.config.num_heads * model.config.key_dim
    queries_shape = tf.concat([[-1], beam_size, [width]], axis=0)
    sub_layers: list[SubLayer] = []
    new_caches: list[KeysValues] = []
    newest = NewestTokens.of(target_ids, step, beams)
    for block, keys_values, cache in zip(stack.blocks, cross, caches, strict=True):
        sub_layers += [
            _cached_attention(block, cache, newest, new_caches),
            _cross_attention(block, keys_values, source_mask, queries_shape),
            feed_forward(block),
        ]
    states = run_sub_layers(embedded, sub_layers, stack.final_norm)
    return head(model, states), new_caches


def align(
    model: Transformer,
    target_ids: tf.Tensor,
    labels: tf.Tensor,
    source_mask: tf.Tensor,
    cross: list[KeysValues],
) -> tuple[tf.Tensor, tf.Tensor]:
    """Scores given translations; see `Transformer.align`. Padding must stand on the right."""
    embeddings, stack, shape = model.target_embeddings, model.decoder_stack, tf.shape(target_ids)
    embedded = embed(embeddings.tokens, target_ids)
    embedded += embeddings.positions.encode(tf.range(shape[1]))
    sub_layers: list[SubLayer] = []
    weights: list[tf.Tensor] = []
    for block, keys_values in zip(stack.blocks, cross, strict=True):
        sub_layers += [
            # Padding comes after all real tokens, which look back only: it needs no mask.
            _self_attention(block.self_attention, block.self_attention_residual, shape, None),
            _visible_attention(block, keys_values, source_mask, shape, weights),
            feed_forward(block),
        ]
    states = tf.reshape(embedded, (-1, model.config.model_dim))
    states = run_sub_layers(states, sub_layers, stack.final_norm)
    logits = to_logits(model, states)
    largest = tf.reduce_max(logits, axis=1, keepdims=True)
    total = tf.math.log(tf.reduce_sum(tf.exp(logits - largest), axis=1, keepdims=True))
    chosen = tf.gather(logits, tf.reshape(labels, (-1, 1)), batch_dims=1)
    log_probabilities = tf.reshape(chosen - largest - total, shape)
    return log_probabilities, tf.add_n(weights) / len(weights)


def _visible_attention(
    block: Any,
    cross: KeysValues,
    source_mask: tf.Tensor,
    shape: tf.Tensor,
    weights: list[tf.Tensor],
) -> SubLayer:
    """Attends to the source and adds the mean of the heads' weights to `weights`."""
    attention = block.cross_attention
    projection = query_projection(attention)
    heads, width = attention.num_heads, attention.key_dim

    def run(project: Project) -> tf.Tensor:
        if heads == 1:  # tf2onnx would make a reshape of the transposition, and a wrong one.
            query = tf.reshape(project(projection), (shape[0], 1, shape[1], width))
        else:
            query = tf.reshape(project(projection), (shape[0], shape[1], heads, width))
            query = tf.transpose(query, (0, 2, 1, 3))
        hidden = tf.cast(1 - source_mask, tf.float32)[:, None, None, :] * MASKED
        found = tf.nn.softmax(tf.matmul(query, cross[0], transpose_b=True) + hidden)
        weights.append(tf.reduce_mean(found, axis=1))
        attended = tf.transpose(tf.matmul(found, cross[1]), (0, 2, 1, 3))
        return tf.reshape(attended, (-1, projection.bias.size))

    return SubLayer(block.cross_attention_residual, run, Linear.of(attention.output_linear))


def _cached_attention(
    block: Any, cache: KeysValues, newest: NewestTokens, new_caches: list[KeysValues]
) -> SubLayer:
    attention = block.self_attention
    packed = self_attention_projection(attention)

    def run(project: Project) -> tf.Tensor:
        heads, new_cache = cached_self_attention(
            project(packed), cache, newest, attention.num_heads
        )
        new_caches.append(new_cache)
        return heads

    return SubLayer(block.self_attention_residual, run, Linear.of(attention.output_linear))


def _cross_attention(
    block: Any, cross: KeysValues, source_mask: tf.Tensor, queries_shape: tf.Tensor
) -> SubLayer:
    attention = block.cross_attention
    projection = query_projection(attention)

    def run(project: Project) -> tf.Tensor:
        # The beams of a sentence are queries of one row, so that its keys are not copied.
        query = tf.reshape(project(projection), queries_shape)
        query.set_shape((None, None, projection.bias.size))
        return multi_head_attention(query, *cross, source_mask, attention.num_heads)

    return SubLayer(block.cross_attention_residual, run, Linear.of(attention.output_linear))
