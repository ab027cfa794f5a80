"""The attention weights of all heads of a model, for a batch of ids."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from keras_transformer.config.stack import AttentionConfig
from keras_transformer.layers.masks import attention_mask, padding_mask, target_padding_mask
from keras_transformer.models.decoder_only import DecoderOnly
from keras_transformer.models.encoder_only import EncoderOnly
from keras_transformer.models.transformer import Transformer
from keras_transformer.tensors import Tensor

Weights = npt.NDArray[np.float32]


@dataclass(frozen=True)
class AttentionMaps:
    """Attention weights: rows sum to 1, and are 0 on padding and on the decoder's future tokens.

    Attributes:
        encoder: float32 `(layers, batch, heads, source_length, source_length)`.
        decoder: float32 `(layers, batch, heads, target_length, target_length)`; None if the decoder
            has a recurrence in place of self-attention.
        cross: float32 `(layers, batch, heads, target_length, source_length)`.
    """

    encoder: Weights
    decoder: Weights | None
    cross: Weights


def attention_maps(model: Transformer, source_ids: Tensor, target_ids: Tensor) -> AttentionMaps:
    """Runs a model, without dropout, and returns the attention of its heads.

    Args:
        model: Any Transformer.
        source_ids: int32 `(batch, source_length)`, each row ending with eos, then padding.
        target_ids: int32 `(batch, target_length)`, each row beginning with the start token, padded
            at the end.
    """
    special_ids = model.config.special_ids
    source_keep = padding_mask(source_ids, special_ids.pad)
    keep = target_padding_mask(target_ids, special_ids)
    source_mask, mask = attention_mask(source_keep), model.decoder_stack.own_mask(keep)
    states = model.source_embeddings(source_ids, source_keep)
    biases = model.encoder_stack.attention_biases(states)
    encoder, decoder, cross = [], [], []
    for block, bias in zip(model.encoder_stack.blocks, biases, strict=True):
        inputs = block.attention_residual.enter(states)
        encoder.append(
            block.attention(inputs, keep_mask=source_mask, return_weights=True, bias=bias)[1]
        )
        states = block(states, source_mask, bias=bias)
    states = model.target_embeddings(target_ids, keep)
    biases = model.decoder_stack.attention_biases(states)
    cross_keys_values = model.source_keys_values(source_ids)
    for block, keys_values, bias in zip(
        model.decoder_stack.blocks, cross_keys_values, biases, strict=True
    ):
        if not block.recurs:
            inputs = block.self_attention_residual.enter(states)
            decoder.append(
                block.self_attention(inputs, keep_mask=mask, return_weights=True, bias=bias)[1]
            )
        states, weights = block.align(states, mask, source_mask, keys_values, bias)
        cross.append(weights)
    return AttentionMaps(_stack(encoder), _stack(decoder) if decoder else None, _stack(cross))


@dataclass(frozen=True)
class SelfAttention:
    """What the heads of a model with one stack compare, and how they attend.

    Attributes:
        weights: float32 `(layers, batch, heads, length, length)`; rows sum to 1.
        queries: float32 `(layers, batch, heads, length, key_dim)`, not yet divided by √key_dim.
        keys: float32, of the same shape: a head that shares its keys has those of its group.
    """

    weights: Weights
    queries: Weights
    keys: Weights


def self_attention(model: EncoderOnly | DecoderOnly, token_ids: Tensor) -> SelfAttention:
    """Runs an encoder or a decoder alone, without dropout, on rows without padding.

    Args:
        model: The model.
        token_ids: int32 `(batch, length)`.

    Raises:
        ValueError: The model has a recurrence in place of self-attention.
    """
    keep_mask = np.ones(token_ids.shape, bool)
    if isinstance(model, EncoderOnly):
        stack: Any = model.encoder_stack
        masks = stack.masks(keep_mask, model.types_of_texts(token_ids))
    else:
        stack = model.decoder_stack
        masks = stack.masks(keep_mask)
    if not isinstance(stack.config.blocks[0].own, AttentionConfig):
        raise ValueError("the model has a recurrence in place of attention: there is none to draw.")
    states = model.states_of_layers(token_ids)
    found = []
    for block, entering, bias in zip(
        stack.blocks, states[:-1], stack.attention_biases(states[0]), strict=True
    ):
        attention = block.sub_layers[0].layer
        inputs = block.sub_layers[0].residual.enter(entering)
        weights = attention(inputs, **masks, return_weights=True, bias=bias)[1]
        keys = np.asarray(attention.project(inputs)[0])
        shared = attention.config.num_heads // attention.config.num_key_value_heads
        found.append((weights, attention.project_queries(inputs), np.repeat(keys, shared, axis=1)))
    return SelfAttention(*map(_stack, map(list, zip(*found, strict=True))))


def _stack(maps: list[Tensor]) -> Weights:
    # NumPy itself has no bfloat16.
    return np.stack([np.asarray(weights).astype(np.float32) for weights in maps])
