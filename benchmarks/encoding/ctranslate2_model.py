"""Takes a Keras encoder and its tokenizer and writes a CTranslate2 encoder with the same weights,
so that both can be compared.
"""

import shutil
from pathlib import Path
from typing import Any

import numpy as np
from ctranslate2.specs import common_spec, transformer_spec
from speed.ctranslate2_model import (
    ACTIVATIONS,
    as_array,
    check_single_stack,
    fill_feed_forward,
    fill_norm,
    fill_self_attention,
)

from keras_transformer.config.encoder_only import EncoderConfig
from keras_transformer.models.encoder_only import EncoderOnly
from keras_transformer.text.tokenizer import Tokenizer


def write_ctranslate2_encoder(
    model: EncoderOnly, tokenizer: Tokenizer, directory: Path, quantization: str | None = None
) -> None:
    """Writes the model without its head for `ctranslate2.Encoder`.

    Args:
        model: A float32 model.
        tokenizer: Its vocabulary.
        directory: Where to write; what is there is replaced.
        quantization: A type of CTranslate2's, such as "int8"; float32 if None.

    Raises:
        ValueError: CTranslate2 has no such model.
    """
    config = model.config
    _check(config)
    encoder = transformer_spec.TransformerEncoderSpec(
        config.num_layers,
        config.num_heads,
        pre_norm=config.norm == "pre",
        activation=ACTIVATIONS[config.activation],
        num_source_embeddings=2 if config.num_token_types else 1,
        embeddings_merge=common_spec.EmbeddingsMerge.ADD,
        layernorm_embedding=config.embedding_norm,
    )
    spec = transformer_spec.TransformerEncoderModelSpec(encoder)
    pieces = tokenizer.pieces(range(tokenizer.vocab_size))
    spec.register_vocabulary(pieces)
    spec.config.unk_token = pieces[config.special_ids.unk]
    spec.config.layer_norm_epsilon = config.layer_norm_epsilon
    _fill(spec.encoder, model)
    spec.validate()
    spec.optimize(quantization=quantization)
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    spec.save(str(directory))


def _check(config: EncoderConfig) -> None:
    check_single_stack(config)
    if config.scale_embeddings and config.num_token_types:
        raise ValueError("CTranslate2 would scale token types: scale_embeddings must be False.")


def _fill(spec: Any, model: EncoderOnly) -> None:
    embeddings, stack = model.embeddings, model.encoder_stack
    spec.scale_embeddings = model.config.scale_embeddings
    spec.embeddings[0].weight = as_array(embeddings.tokens.matrix)
    if embeddings.token_types is not None:
        spec.embeddings[1].weight = as_array(embeddings.token_types.matrix)
    places = np.arange(model.config.max_positions or 1024, dtype=np.int32)
    positions: Any = embeddings.positions
    spec.position_encodings.encodings = as_array(positions.vectors(places))
    if embeddings.layer_norm is not None:
        fill_norm(spec.layernorm_embedding, embeddings.layer_norm)
    for layer, block in zip(spec.layer, stack.blocks, strict=True):
        fill_self_attention(layer.self_attention, block.attention, block.attention_residual)
        fill_feed_forward(layer.ffn, block)
    if stack.final_norm is not None:
        fill_norm(spec.layer_norm, stack.final_norm)
