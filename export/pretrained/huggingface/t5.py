"""Encoder-decoders with relative biases as Hugging Face's T5, and as its kin: UMT5, whose blocks
have biases of their own, and LongT5, whose encoder reads no more than a window.
"""

from collections.abc import Sequence
from functools import partial
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
from keras_transformer.pretrained.huggingface.t5 import t5_table
from keras_transformer.pretrained.weight_table import Array, dump_weights

_FORM: dict[str, Sequence[Any] | None] = {
    "activation": tuple(THEIR_ACTIVATIONS),
    "gated_feed_forward": None,
    "key_dim": None,
    "norm": ("pre",),
    "norm_kind": ("rms_norm",),
    "layer_norm_epsilon": None,
    "use_bias": (False,),
    "scale_attention": (False,),
    "positions": ("none",),
    "scale_embeddings": (False,),
    "relative_buckets": None,
    "relative_max_distance": None,
    "share_embeddings": ("all", "none"),
    "marks": None,
}


def _check(outgoing: Outgoing, name: str) -> None:
    config, model = outgoing.config, outgoing.model
    check_shared(outgoing)
    if config.relative_buckets is None:
        raise ValueError(f"{name} needs relative_buckets, got None.")
    if config.share_embeddings == "none" and not np.array_equal(
        model.source_embeddings.tokens.matrix, model.target_embeddings.tokens.matrix
    ):
        raise ValueError(
            f"{name} has one matrix for source and target embeddings, but with "
            "share_embeddings='none' those of this model differ."
        )
    found = {options.get("window") for options in config.encoder_pattern}
    if len(found) > 1 or None in found or any(len(one) > 1 for one in config.encoder_pattern):
        raise ValueError(
            f"{name} needs an encoder_pattern of one window, such as [{{'window': 128}}], got "
            f"{config.encoder_pattern!r}."
        )


def _config(outgoing: Outgoing, model_type: str) -> dict[str, Any]:
    config = outgoing.config
    activation = THEIR_ACTIVATIONS[config.activation]
    if config.gated_feed_forward:
        # "gated-gelu" means the tanh form.
        plain = {"gelu": "gelu_python", "gelu_tanh": "gelu"}.get(config.activation, activation)
        activation = f"gated-{plain}"
    is_tied = config.share_embeddings == "all"
    return {
        "model_type": model_type,
        "vocab_size": config.source_vocab_size,
        "d_model": config.model_dim,
        "d_kv": config.key_dim,
        "d_ff": config.feed_forward_dim,
        "num_layers": config.num_encoder_layers,
        "num_decoder_layers": config.num_decoder_layers,
        "num_heads": config.num_heads,
        "feed_forward_proj": activation,
        "dropout_rate": config.dropout,
        "layer_norm_epsilon": config.layer_norm_epsilon,
        "relative_attention_num_buckets": config.relative_buckets,
        "relative_attention_max_distance": config.relative_max_distance,
        "tie_word_embeddings": is_tied,
        # A tied head multiplies states by 1/√d: see `_tensors`.
        "scale_decoder_outputs": is_tied,
        **_local_attention(config),
    }


def _local_attention(config: Any) -> dict[str, Any]:
    if not config.encoder_pattern:
        return {}
    # Without the query's own place.
    radius = config.encoder_pattern[0]["window"] - 1
    return {"encoder_attention_type": "local", "local_radius": radius}


def _tensors(outgoing: Outgoing) -> dict[str, Array]:
    config = outgoing.config
    factor = config.model_dim**-0.5 if config.share_embeddings == "all" else 1.0
    own = "LocalSelfAttention" if config.encoder_pattern else "SelfAttention"
    return dump_weights(t5_table(outgoing.model, (), factor, own))


def _of_t5(name: str, model_type: str, **values: Sequence[Any] | None) -> Architecture:
    """Returns an architecture of T5's form, with values of fields that a T5 has not."""
    return Architecture(
        ModelForm(name, {**_FORM, **values}),
        partial(_config, model_type=model_type),
        _tensors,
        save_marian_tokenizer,
        partial(_check, name=name),
    )


T5S = (
    _of_t5("T5ForConditionalGeneration", "t5"),
    _of_t5("UMT5ForConditionalGeneration", "umt5", relative_per_block=(True,)),
    _of_t5("LongT5ForConditionalGeneration", "longt5", encoder_pattern=None),
)
