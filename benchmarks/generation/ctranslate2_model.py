"""Takes a Keras decoder and its tokenizer and writes a CTranslate2 generator with the same weights,
so that both can be compared.
"""

import shutil
from pathlib import Path
from typing import Any

import numpy as np
from ctranslate2.specs import transformer_spec
from speed.ctranslate2_model import (
    ACTIVATIONS,
    as_array,
    check_single_stack,
    fill_feed_forward,
    fill_norm,
    fill_self_attention,
)

from keras_transformer.models.decoder_only import DecoderOnly
from keras_transformer.text.tokenizer import Tokenizer

VOCABULARY = "tokenizer.model"


def write_ctranslate2_generator(
    model: DecoderOnly, tokenizer: Tokenizer, directory: Path, quantization: str | None = None
) -> None:
    """Writes the model for `ctranslate2.Generator`, and `tokenizer.model` beside it.

    Args:
        model: A float32 model.
        tokenizer: Its vocabulary.
        directory: Where to write; what is there is replaced.
        quantization: A type of CTranslate2's, such as "int8"; float32 if None.

    Raises:
        ValueError: CTranslate2 has no such model, or it is not written here.
    """
    config = model.config
    check_single_stack(config)
    if config.embedding_norm:
        raise ValueError("embedding_norm must be False for CTranslate2's decoders, got True.")
    spec = transformer_spec.TransformerDecoderModelSpec.from_config(
        config.num_layers,
        config.num_heads,
        pre_norm=config.norm == "pre",
        activation=ACTIVATIONS[config.activation],
    )
    pieces = tokenizer.pieces(range(tokenizer.vocab_size))
    special = config.special_ids
    spec.register_vocabulary(pieces)
    spec.config.unk_token = pieces[special.unk]
    spec.config.bos_token = pieces[special.decoder_start]
    spec.config.eos_token = pieces[special.eos]
    spec.config.layer_norm_epsilon = config.layer_norm_epsilon
    _fill(spec.decoder, model)
    spec.validate()
    spec.optimize(quantization=quantization)
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    spec.save(str(directory))
    tokenizer.save(directory / VOCABULARY)


def _fill(spec: Any, model: DecoderOnly) -> None:
    embeddings, stack = model.embeddings, model.decoder_stack
    spec.scale_embeddings = model.config.scale_embeddings
    spec.embeddings.weight = as_array(embeddings.tokens.matrix)
    places = np.arange(model.config.max_positions or 1024, dtype=np.int32)
    positions: Any = embeddings.positions
    spec.position_encodings.encodings = as_array(positions.vectors(places))
    spec.projection.weight = as_array(model.head.matrix)
    for layer, block in zip(spec.layer, stack.blocks, strict=True):
        fill_self_attention(
            layer.self_attention, block.self_attention, block.self_attention_residual
        )
        fill_feed_forward(layer.ffn, block)
    if stack.final_norm is not None:
        fill_norm(spec.layer_norm, stack.final_norm)
