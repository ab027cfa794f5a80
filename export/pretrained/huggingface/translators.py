"""Encoder-decoders with sinusoids: as Hugging Face's Marian if their norms come after, or as its
Pegasus if they come before.
"""

from typing import Any

import numpy as np

from keras_transformer.export.pretrained.forms import ModelForm
from keras_transformer.export.pretrained.huggingface.architecture import (
    THEIR_ACTIVATIONS,
    Architecture,
)
from keras_transformer.export.pretrained.huggingface.vocabularies import (
    check_shared,
    save_marian_tokenizer,
)
from keras_transformer.export.pretrained.outgoing import Outgoing
from keras_transformer.layers.positions import SinusoidalPositions
from keras_transformer.pretrained.feature_order import with_halves
from keras_transformer.pretrained.huggingface.bart_family import bart_table
from keras_transformer.pretrained.weight_table import Array, dump_weights

# The longest text or translation: they look sinusoids up in a table.
MOST_POSITIONS = 1024


def _form(name: str, norm: str) -> ModelForm:
    return ModelForm(
        name,
        {
            "activation": tuple(THEIR_ACTIVATIONS),
            "norm": (norm,),
            "layer_norm_epsilon": (1e-5,),
            "sinusoid_layout": ("interleaved", "halves"),
            "scale_embeddings": None,
            "logit_bias": None,
            "share_embeddings": ("all",),
            "marks": None,
        },
    )


def translator_config(outgoing: Outgoing) -> dict[str, Any]:
    """Returns the fields of `config.json` that all translators with BART's layers have."""
    config = outgoing.config
    sides: dict[str, Any] = {}
    for side, layers in (
        ("encoder", config.num_encoder_layers),
        ("decoder", config.num_decoder_layers),
    ):
        sides[f"{side}_layers"] = layers
        sides[f"{side}_attention_heads"] = config.num_heads
        sides[f"{side}_ffn_dim"] = config.feed_forward_dim
        sides[f"{side}_layerdrop"] = 0.0
    return {
        "vocab_size": config.source_vocab_size,
        "d_model": config.model_dim,
        **sides,
        "activation_function": THEIR_ACTIVATIONS[config.activation],
        "dropout": config.dropout,
        "attention_dropout": config.attention_dropout,
        "activation_dropout": config.activation_dropout,
        "scale_embedding": config.scale_embeddings,
        "max_position_embeddings": MOST_POSITIONS,
        # Their default is an id of their own vocabularies.
        "forced_eos_token_id": None,
        "tie_word_embeddings": True,
    }


def _marian_config(outgoing: Outgoing) -> dict[str, Any]:
    own = {
        "model_type": "marian",
        "decoder_vocab_size": outgoing.config.target_vocab_size,
        "share_encoder_decoder_embeddings": True,
    }
    return {**own, **translator_config(outgoing)}


def _pegasus_config(outgoing: Outgoing) -> dict[str, Any]:
    return {"model_type": "pegasus", **translator_config(outgoing)}


def _tensors(outgoing: Outgoing) -> dict[str, Array]:
    model = outgoing.model
    if model.config.sinusoid_layout == "interleaved":
        model = with_halves(model)
    return dump_weights(bart_table(model))


def _pegasus_tensors(outgoing: Outgoing) -> dict[str, Array]:
    """Returns the weights with tables of positions, which Pegasus keeps in its files."""
    tensors = _tensors(outgoing)
    positions = SinusoidalPositions(outgoing.config.model_dim, layout="halves", dtype="float32")
    table = np.asarray(positions.vectors(np.arange(MOST_POSITIONS, dtype=np.int32)))
    for side in ("encoder", "decoder"):
        tensors[f"model.{side}.embed_positions.weight"] = table
    return tensors


MARIAN = Architecture(
    _form("MarianMTModel", "post"), _marian_config, _tensors, save_marian_tokenizer, check_shared
)
PEGASUS = Architecture(
    _form("PegasusForConditionalGeneration", "pre"),
    _pegasus_config,
    _pegasus_tensors,
    save_marian_tokenizer,
    check_shared,
)
