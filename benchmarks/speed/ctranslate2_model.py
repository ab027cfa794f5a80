"""Takes a Keras Transformer and its tokenizers and writes a CTranslate2 model with the same
weights, so that both can be compared.
"""

import shutil
from pathlib import Path
from typing import Any

import numpy as np
from ctranslate2.specs import common_spec, transformer_spec

from keras_transformer.config import TransformerConfig
from keras_transformer.config.single_stack import SingleStackConfig
from keras_transformer.config.special_ids import SpecialIds
from keras_transformer.models.transformer import Transformer
from keras_transformer.text.tokenizer import Tokenizer

BOS_ID, EOS_ID, UNK_ID = SpecialIds.bos, SpecialIds.eos, SpecialIds.unk

ACTIVATIONS = {
    "relu": common_spec.Activation.RELU,
    "gelu": common_spec.Activation.GELU,
    "gelu_tanh": common_spec.Activation.GELUTanh,
    "silu": common_spec.Activation.SWISH,
}

# Options of one stack that are not written: CTranslate2 lacks some of them.
_PLAIN = {
    "norm_kind": "layer_norm",
    "gated_feed_forward": False,
    "use_bias": True,
    "scale_attention": True,
    "num_key_value_heads": None,
    "rotary_base": None,
    "relative_buckets": None,
    "logit_bias": False,
}

# CTranslate2 looks positions up in a table: the longest text or translation it can take.
_MOST_POSITIONS = 1024


def write_ctranslate2(
    model: Transformer,
    source_tokenizer: Tokenizer,
    target_tokenizer: Tokenizer,
    directory: Path,
    quantization: str | None = None,
) -> None:
    """Writes the model for `ctranslate2.Translator`, and `source.model` and `target.model` beside
    it; CTranslate2 will add eos to sources by itself.

    Args:
        model: A float32 model.
        source_tokenizer: Its source vocabulary.
        target_tokenizer: Its target vocabulary.
        directory: Where to write; what is there is replaced.
        quantization: A type of CTranslate2's, such as "int8"; float32 if None.

    Raises:
        ValueError: CTranslate2 has no such model.
    """
    config = model.config
    _check(config)
    spec = transformer_spec.TransformerSpec.from_config(
        (config.num_encoder_layers, config.num_decoder_layers),
        config.num_heads,
        pre_norm=config.norm == "pre",
        activation=ACTIVATIONS[config.activation],
    )
    spec.config.layer_norm_epsilon = config.layer_norm_epsilon
    _fill_tokens(spec, source_tokenizer, target_tokenizer)
    _fill_embeddings(spec, model)
    _fill_encoder(spec.encoder, model.encoder_stack)
    _fill_decoder(spec.decoder, model.decoder_stack)
    spec.validate()
    spec.optimize(quantization=quantization)
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    spec.save(str(directory))
    source_tokenizer.save(directory / "source.model")
    target_tokenizer.save(directory / "target.model")


def _check(config: TransformerConfig) -> None:
    _check_activation(config)
    check_widths(config)


def _check_activation(config: Any) -> None:
    if config.activation not in ACTIVATIONS:
        raise ValueError(
            f"activation must be one of {', '.join(ACTIVATIONS)} for CTranslate2, "
            f"got {config.activation!r}."
        )


def check_widths(config: Any) -> None:
    """Raises `ValueError` if heads are not model_dim / num_heads wide, as CTranslate2's are."""
    if config.key_dim * config.num_heads != config.model_dim or config.value_dim != config.key_dim:
        raise ValueError(
            "key_dim and value_dim must be model_dim / num_heads for CTranslate2, got "
            f"{config.key_dim} and {config.value_dim} for {config.model_dim} / {config.num_heads}."
        )


def check_single_stack(config: SingleStackConfig) -> None:
    """Raises `ValueError` if CTranslate2 has no such encoder or decoder, or it is not written."""
    _check_activation(config)
    for name, value in _PLAIN.items():
        found = getattr(config, name, value)
        if found != value:
            raise ValueError(f"{name} must be {value!r} for CTranslate2, got {found!r}.")
    if config.positions == "none":
        raise ValueError("positions must be added to embeddings for CTranslate2, got 'none'.")
    check_widths(config)


def _fill_tokens(spec: Any, source: Tokenizer, target: Tokenizer) -> None:
    source_pieces, target_pieces = (t.pieces(range(t.vocab_size)) for t in (source, target))
    spec.register_source_vocabulary(source_pieces)
    spec.register_target_vocabulary(target_pieces)
    spec.config.unk_token = target_pieces[UNK_ID]
    spec.config.bos_token = target_pieces[BOS_ID]
    spec.config.eos_token = target_pieces[EOS_ID]
    spec.config.decoder_start_token = target_pieces[BOS_ID]
    spec.config.add_source_eos = True


def _fill_embeddings(spec: Any, model: Transformer) -> None:
    source, target = model.source_embeddings, model.target_embeddings
    spec.encoder.embeddings[0].weight = as_array(source.tokens.matrix)
    spec.decoder.embeddings.weight = as_array(target.tokens.matrix)
    matrix = as_array(model.head.matrix)
    spec.decoder.projection.weight = np.ascontiguousarray(matrix[:, : model.config.model_dim])
    if model.head.bias is not None:
        spec.decoder.projection.bias = as_array(model.head.bias)
    places = np.arange(model.config.max_positions or _MOST_POSITIONS, dtype=np.int32)
    for side, embeddings in ((spec.encoder, source), (spec.decoder, target)):
        side.position_encodings.encodings = as_array(embeddings.positions.vectors(places))


def _fill_encoder(spec: Any, encoder: Any) -> None:
    for layer, block in zip(spec.layer, encoder.blocks, strict=True):
        fill_self_attention(layer.self_attention, block.attention, block.attention_residual)
        fill_feed_forward(layer.ffn, block)
    if encoder.final_norm is not None:
        fill_norm(spec.layer_norm, encoder.final_norm)


def _fill_decoder(spec: Any, decoder: Any) -> None:
    for layer, block in zip(spec.layer, decoder.blocks, strict=True):
        fill_self_attention(
            layer.self_attention, block.self_attention, block.self_attention_residual
        )
        attention = block.cross_attention
        fill_linear(layer.attention.linear[0], attention.query_linear)
        fill_linear(layer.attention.linear[1], attention.key_linear, attention.value_linear)
        fill_linear(layer.attention.linear[2], attention.output_linear)
        fill_norm(layer.attention.layer_norm, block.cross_attention_residual.layer_norm)
        fill_feed_forward(layer.ffn, block)
    if decoder.final_norm is not None:
        fill_norm(spec.layer_norm, decoder.final_norm)


def fill_self_attention(spec: Any, attention: Any, residual: Any) -> None:
    """Fills a specification of self-attention and the norm of its residual connection."""
    linears = (attention.query_linear, attention.key_linear, attention.value_linear)
    fill_linear(spec.linear[0], *linears)
    fill_linear(spec.linear[1], attention.output_linear)
    fill_norm(spec.layer_norm, residual.layer_norm)


def fill_feed_forward(spec: Any, block: Any) -> None:
    """Fills a specification of a feed-forward layer and the norm of its residual connection."""
    fill_linear(spec.linear_0, block.feed_forward.hidden)
    fill_linear(spec.linear_1, block.feed_forward.output_linear)
    fill_norm(spec.layer_norm, block.feed_forward_residual.layer_norm)


def fill_linear(spec: Any, *linears: Any) -> None:
    """Fills a linear layer; several that read the same input become one, side by side."""
    spec.weight = np.concatenate([as_array(linear.kernel).T for linear in linears])
    spec.bias = np.concatenate([as_array(linear.bias) for linear in linears])


def fill_norm(spec: Any, norm: Any) -> None:
    """Fills a layer normalisation."""
    spec.gamma, spec.beta = as_array(norm.gamma), as_array(norm.beta)


def as_array(values: Any) -> np.ndarray:
    """Returns weights as CTranslate2 takes them: float32, contiguous."""
    return np.ascontiguousarray(values, np.float32)
