"""Writes a model of any family as a directory that CTranslate2 opens: as a `Translator`, as an
`Encoder`, which returns states, or as a `Generator`.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from keras_transformer.config import TransformerConfig
from keras_transformer.config.decoder_only import DecoderConfig
from keras_transformer.config.encoder_only import EncoderConfig
from keras_transformer.export.pretrained.ctranslate2.parts import (
    fill_embeddings,
    fill_head,
    fill_linear,
    fill_stack,
)
from keras_transformer.export.pretrained.forms import ModelForm, form_of
from keras_transformer.export.pretrained.outgoing import Outgoing
from keras_transformer.pretrained.formats.ctranslate2_marks import MARKS
from keras_transformer.text.tokenizer import Tokenizer

# Our names of activations → CTranslate2's.
_ACTIVATIONS = {
    "relu": "RELU",
    "gelu": "GELU",
    "gelu_tanh": "GELUTanh",
    "silu": "SWISH",
    "tanh": "Tanh",
    "sigmoid": "Sigmoid",
}
_BLOCKS: dict[str, Any] = {
    "activation": tuple(_ACTIVATIONS),
    "norm": ("post", "pre"),
    "norm_kind": None,
    "layer_norm_epsilon": None,
    "gated_feed_forward": None,
    "use_bias": None,
}
_POSITIONS: dict[str, Any] = {
    "positions": ("sinusoidal", "learned"),
    "max_positions": None,
    "position_offset": None,
    "sinusoid_layout": None,
    "scale_embeddings": None,
}
_TRANSLATOR = {
    **_BLOCKS,
    "scale_attention": None,
    "share_embeddings": None,
    "logit_bias": None,
    # Those who call CTranslate2 put them before the tokens.
    "marks": None,
}
_GENERATOR = {**_BLOCKS, "tied_head": None, "logit_bias": None}
FORMS: dict[type, tuple[ModelForm, ...]] = {
    TransformerConfig: (
        ModelForm("Translator", {**_TRANSLATOR, **_POSITIONS, "embedding_norm": None}),
        ModelForm(
            "Translator with relative biases",
            {
                **_TRANSLATOR,
                "positions": ("none",),
                "scale_embeddings": None,
                "relative_buckets": None,
                "relative_max_distance": None,
            },
        ),
    ),
    EncoderConfig: (
        ModelForm(
            "Encoder",
            {
                **_BLOCKS,
                **_POSITIONS,
                "embedding_norm": None,
                "num_token_types": None,
                "pooler": None,
                "pooler_activation": None,
                # What reads the states is left out.
                "head": None,
                "labels": None,
                "pooling": None,
                "dense": None,
                "unit_vectors": None,
                "prompts": None,
                "default_prompt": None,
                "keep_pooler": None,
                "max_row_length": None,
                "multi_label": None,
                "pair_separators": None,
            },
        ),
    ),
    DecoderConfig: (
        ModelForm("Generator", {**_GENERATOR, **_POSITIONS}),
        ModelForm(
            "Generator with rotary positions",
            {
                **_GENERATOR,
                "positions": ("none",),
                "max_positions": None,
                "scale_embeddings": None,
                "rotary_base": None,
                "num_key_value_heads": None,
            },
        ),
    ),
}


def check(outgoing: Outgoing) -> None:
    """Raises an error that names options that CTranslate2 lacks.

    Raises:
        ImportError: Its package is not installed.
        ValueError: It has no such model.
    """
    config = outgoing.config
    form_of(config, FORMS[type(config)])
    if isinstance(config, TransformerConfig) and config.marks.languages_in == "ends":
        raise ValueError(
            "CTranslate2 adds nothing behind the end of a source: marks.languages_in must be "
            f"'both' or 'source', got {config.marks.languages_in!r}."
        )
    if config.positions == "none":
        own = "relative_buckets" if isinstance(config, TransformerConfig) else "rotary_base"
        if getattr(config, own) is None:
            raise ValueError(
                f"CTranslate2 adds positions to all embeddings: positions='none' needs {own}, got "
                "None."
            )
    if getattr(config, "num_token_types", 0) and config.scale_embeddings:
        raise ValueError(
            "CTranslate2 scales token types, too: with num_token_types it needs "
            "scale_embeddings=False, got True."
        )
    _specs()


def write(outgoing: Outgoing, directory: Path, quantization: str | None = None) -> None:
    """Writes the model, and the tokenizers beside it.

    Args:
        outgoing: The model and its tokenizers.
        directory: Where to write.
        quantization: A type of CTranslate2's for the weights, such as "int8"; float32 if None.
    """
    spec = spec_of(outgoing)
    spec.validate()
    spec.optimize(quantization=quantization)
    spec.save(str(directory))
    if isinstance(outgoing.config, TransformerConfig):
        outgoing.source.save(directory / f"source{outgoing.source.suffix}")
        outgoing.target.save(directory / f"target{outgoing.target.suffix}")
    else:
        outgoing.source.save(directory / f"tokenizer{outgoing.source.suffix}")


def spec_of(outgoing: Outgoing) -> Any:
    """Returns CTranslate2's specification of a model, filled."""
    makers: dict[type, Callable[[Outgoing], Any]] = {
        TransformerConfig: _translator,
        EncoderConfig: _encoder,
        DecoderConfig: _generator,
    }
    spec = makers[type(outgoing.config)](outgoing)
    pieces = _pieces(outgoing.target)
    special = outgoing.config.special_ids
    spec.config.unk_token = pieces[special.unk]
    spec.config.layer_norm_epsilon = outgoing.config.layer_norm_epsilon
    return spec


def _translator(outgoing: Outgoing) -> Any:
    _, transformer_spec = _specs()
    config, model = outgoing.config, outgoing.model
    spec = transformer_spec.TransformerSpec.from_config(
        (config.num_encoder_layers, config.num_decoder_layers),
        config.num_heads,
        relative_attention_bias=config.relative_buckets is not None,
        layernorm_embedding=config.embedding_norm,
        **_block_options(config),
    )
    fill_embeddings(spec.encoder, model.source_embeddings, config)
    fill_embeddings(spec.decoder, model.target_embeddings, config)
    fill_stack(spec.encoder, model.encoder_stack)
    fill_stack(spec.decoder, model.decoder_stack)
    fill_head(spec.decoder.projection, model.head)
    spec.register_source_vocabulary(_pieces(outgoing.source))
    pieces, special = _pieces(outgoing.target), config.special_ids
    spec.register_target_vocabulary(pieces)
    spec.config.bos_token = pieces[special.decoder_start]
    spec.config.decoder_start_token = pieces[special.decoder_start]
    spec.config.eos_token = pieces[special.eos]
    spec.config.add_source_eos = config.marks.source_eos
    # No field of theirs: an import of ours reads it, their engine does not.
    spec.config.add_attribute(MARKS, config.marks.to_dict())
    return spec


def _encoder(outgoing: Outgoing) -> Any:
    common_spec, transformer_spec = _specs()
    config, model = outgoing.config, outgoing.model
    encoder = transformer_spec.TransformerEncoderSpec(
        config.num_layers,
        config.num_heads,
        num_source_embeddings=2 if config.num_token_types else 1,
        embeddings_merge=common_spec.EmbeddingsMerge.ADD,
        layernorm_embedding=config.embedding_norm,
        **_block_options(config),
    )
    activations = common_spec.Activation
    spec = transformer_spec.TransformerEncoderModelSpec(
        encoder,
        pooling_layer=config.has_pooler,
        pooling_activation={"tanh": activations.Tanh, "relu": activations.RELU}[
            config.pooler_activation
        ],
    )
    fill_embeddings(spec.encoder, model.embeddings, config)
    fill_stack(spec.encoder, model.encoder_stack)
    if model.pooler is not None:
        fill_linear(spec.pooler_dense, model.pooler.linear)
    spec.register_vocabulary(_pieces(outgoing.source))
    return spec


def _generator(outgoing: Outgoing) -> Any:
    _, transformer_spec = _specs()
    config, model = outgoing.config, outgoing.model
    rotary: dict[str, Any] = {}
    if config.rotary_base is not None:
        rotary = {
            "rotary_dim": 0,
            "rotary_interleave": False,
            "rotary_base": config.rotary_base,
            "num_heads_kv": config.num_key_value_heads,
        }
    spec = transformer_spec.TransformerDecoderModelSpec.from_config(
        config.num_layers, config.num_heads, **_block_options(config), **rotary
    )
    fill_embeddings(spec.decoder, model.embeddings, config)
    fill_stack(spec.decoder, model.decoder_stack)
    fill_head(spec.decoder.projection, model.head)
    pieces, special = _pieces(outgoing.target), config.special_ids
    spec.register_vocabulary(pieces)
    spec.config.bos_token = pieces[special.decoder_start]
    spec.config.eos_token = pieces[special.eos]
    return spec


def _block_options(config: Any) -> dict[str, Any]:
    common_spec, _ = _specs()
    return {
        "pre_norm": config.norm == "pre",
        "activation": getattr(common_spec.Activation, _ACTIVATIONS[config.activation]),
        "ffn_glu": config.gated_feed_forward,
        "rms_norm": config.norm_kind == "rms_norm",
    }


def _pieces(tokenizer: Tokenizer) -> list[str]:
    return tokenizer.pieces(range(tokenizer.vocab_size))


def _specs() -> tuple[Any, Any]:
    try:
        from ctranslate2.specs import common_spec, transformer_spec
    except ImportError as error:
        raise ImportError(
            "--format ctranslate2 needs CTranslate2's package: `pip install ctranslate2`."
        ) from error
    return common_spec, transformer_spec
