"""The encoder and the decode step with onnxruntime's fused operators: a Keras Transformer comes in,
functions to be traced leave, whose numbers are the model's.
"""

from typing import Any

import tensorflow as tf

from keras_transformer.models.transformer import Transformer
from keras_transformer.special_ids import PAD_ID

from .fused_layers import (
    KeysValues,
    Linear,
    Project,
    SubLayer,
    apply_linear,
    cached_self_attention,
    multi_head_attention,
    query_projection,
    run_sub_layers,
    self_attention_projection,
    weight_array,
)
from .operators import MICROSOFT

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


def encode(model: Transformer, source_ids: tf.Tensor) -> list[KeysValues]:
    """Returns every decoder block's cross-attention keys and values; see `Transformer.encode`."""
    parts, blocks = model._parts, model._parts["encoder"].blocks
    keep = tf.not_equal(source_ids, PAD_ID)
    embedded = parts["source_tokens"](source_ids) + parts["source_positions"](keep)
    width = model.config.model_dim
    shape, mask = tf.shape(source_ids), tf.cast(keep, tf.int32)
    sub_layers = []
    for block in blocks:
        sub_layers += [_encoder_attention(block, shape, mask), _feed_forward(block)]
    states = run_sub_layers(
        tf.reshape(embedded, (-1, width)), sub_layers, parts["encoder"].final_norm
    )
    return _project_for_decoder(states, shape, parts["decoder"].blocks)


def _encoder_attention(block: Any, shape: tf.Tensor, mask: tf.Tensor) -> SubLayer:
    attention = block.attention
    packed = self_attention_projection(attention)

    def run(project: Project) -> tf.Tensor:
        states = tf.reshape(project(packed), (shape[0], shape[1], packed.bias.size))
        query, key, value = tf.split(states, 3, axis=2)
        return multi_head_attention(query, key, value, mask, attention.num_heads)

    return SubLayer(block.attention_residual, run, Linear.of(attention.output_linear))


def _feed_forward(block: Any) -> SubLayer:
    layer = block.feed_forward
    hidden = Linear.of(layer.hidden)
    return SubLayer(
        block.feed_forward_residual,
        lambda project: layer.activation(project(hidden)),
        Linear.of(layer.output_linear),
    )


def _project_for_decoder(states: tf.Tensor, shape: tf.Tensor, blocks: Any) -> list[KeysValues]:
    """Projects encoder states for all blocks at once: `(batch, heads, source_length, width)`."""
    attentions = [block.cross_attention for block in blocks]
    first, *others = (
        Linear.of(linear)
        for attention in attentions
        for linear in (attention.key_linear, attention.value_linear)
    )
    heads, width = attentions[0].num_heads, attentions[0].key_dim
    projected = apply_linear(states, first.beside(*others))
    projected = tf.reshape(projected, (shape[0], shape[1], 2 * len(attentions), heads, width))
    parts = tf.unstack(tf.transpose(projected, (2, 0, 3, 1, 4)))
    return list(zip(parts[::2], parts[1::2], strict=True))


def decode_step(
    model: Transformer,
    target_ids: tf.Tensor,
    step: tf.Tensor,
    beam_size: tf.Tensor,
    source_mask: tf.Tensor,
    cache_beams: tf.Tensor,
    cross: list[KeysValues],
    caches: list[KeysValues],
) -> tuple[tf.Tensor, list[KeysValues]]:
    """Returns the logits of one decoder step and the caches; `graphs.decoder_specs` has the shapes.

    Unlike `Transformer.decode_step` it writes the caches in place and reads each earlier token
    from the row that `cache_beams` names, so that no cache is ever copied or reordered.
    """
    parts, blocks = model._parts, model._parts["decoder"].blocks
    embedded = parts["target_tokens"](target_ids) + parts["target_positions"].encode(step)
    queries_shape = tf.stack(
        [tf.shape(source_mask)[0], -1, model.config.num_heads * model.config.key_dim]
    )
    sub_layers, new_caches = [], []
    for block, keys_values, cache in zip(blocks, cross, caches, strict=True):
        sub_layers += [
            _cached_attention(block, cache, step, beam_size, cache_beams, new_caches),
            _cross_attention(block, keys_values, source_mask, queries_shape),
            _feed_forward(block),
        ]
    states = run_sub_layers(embedded, sub_layers, parts["decoder"].final_norm)
    return _to_logits(parts, states), new_caches


def _cached_attention(
    block: Any,
    cache: KeysValues,
    step: tf.Tensor,
    beam_size: tf.Tensor,
    cache_beams: tf.Tensor,
    new_caches: list[KeysValues],
) -> SubLayer:
    attention = block.self_attention
    packed = self_attention_projection(attention)

    def run(project: Project) -> tf.Tensor:
        heads, new_cache = cached_self_attention(
            project(packed), cache, step, beam_size, cache_beams, attention.num_heads
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


def _to_logits(parts: dict[str, Any], states: tf.Tensor) -> tf.Tensor:
    if parts["output_linear"] is not None:
        return tf.matmul(states, tf.constant(weight_array(parts["output_linear"].kernel)))
    matrix = tf.constant(weight_array(parts["target_tokens"].matrix))
    return tf.matmul(states, matrix, transpose_b=True)
