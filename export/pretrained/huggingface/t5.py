"""Encoder-decoders with relative biases as Hugging Face's T5."""

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

FORM = ModelForm(
    "T5ForConditionalGeneration",
    {
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
    },
)


def _check(outgoing: Outgoing) -> None:
    config, model = outgoing.config, outgoing.model
    check_shared(outgoing)
    if config.relative_buckets is None:
        raise ValueError(f"{FORM.name} needs relative_buckets, got None.")
    if config.share_embeddings == "none" and not np.array_equal(
        model.source_embeddings.tokens.matrix, model.target_embeddings.tokens.matrix
    ):
        raise ValueError(
            f"{FORM.name} has one matrix for source and target embeddings, but with "
            "share_embeddings='none' those of this model differ."
        )


def _config(outgoing: Outgoing) -> dict[str, Any]:
    config = outgoing.config
    name = THEIR_ACTIVATIONS[config.activation]
    if config.gated_feed_forward:
        # "gated-gelu" means the tanh form.
        name = {"gelu": "gelu_python", "gelu_tanh": "gelu"}.get(config.activation, name)
        name = f"gated-{name}"
    is_tied = config.share_embeddings == "all"
    return {
        "model_type": "t5",
        "vocab_size": config.source_vocab_size,
        "d_model": config.model_dim,
        "d_kv": config.key_dim,
        "d_ff": config.feed_forward_dim,
        "num_layers": config.num_encoder_layers,
        "num_decoder_layers": config.num_decoder_layers,
        "num_heads": config.num_heads,
        "feed_forward_proj": name,
        "dropout_rate": config.dropout,
        "layer_norm_epsilon": config.layer_norm_epsilon,
        "relative_attention_num_buckets": config.relative_buckets,
        "relative_attention_max_distance": config.relative_max_distance,
        "tie_word_embeddings": is_tied,
        # A tied head multiplies states by 1/√d: see `_tensors`.
        "scale_decoder_outputs": is_tied,
    }


def _tensors(outgoing: Outgoing) -> dict[str, Array]:
    config = outgoing.config
    factor = config.model_dim**-0.5 if config.share_embeddings == "all" else 1.0
    return dump_weights(t5_table(outgoing.model, (), factor))


T5 = Architecture(FORM, _config, _tensors, save_marian_tokenizer, _check)
