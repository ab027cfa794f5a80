"""Decoders alone as Hugging Face's GPT-2."""

from pathlib import Path
from typing import Any

import numpy as np

from keras_transformer.pretrained.huggingface.decoders import gpt2_table
from keras_transformer.pretrained.weight_table import NEVER, Array, dump_weights

from ..forms import Form
from ..outgoing import Outgoing
from .architecture import THEIR_ACTIVATIONS, Architecture
from .vocabularies import check_json_tokenizer, save_json_tokenizer

_NAME = "GPT2LMHeadModel"
# What their files' names begin with.
_BODY = ("transformer.wte.weight",)


def _rows(config: Any) -> int:
    """Returns how many ids theirs has: all but a padding that only ours needs."""
    return config.vocab_size - config.logit_bias


def _check(outgoing: Outgoing) -> None:
    config = outgoing.config
    check_json_tokenizer(outgoing, _NAME)
    if not config.logit_bias:
        return
    bias = np.asarray(outgoing.model.head.bias)
    last = config.vocab_size - 1
    if config.special_ids.pad != last or bias[:last].any() or bias[last] > NEVER / 2:
        raise ValueError(f"{_NAME} needs logit_bias=False, but this model's logits have biases.")


def _config(outgoing: Outgoing) -> dict[str, Any]:
    config, special = outgoing.config, outgoing.config.special_ids
    return {
        "model_type": "gpt2",
        "vocab_size": _rows(config),
        "n_embd": config.model_dim,
        "n_inner": config.feed_forward_dim,
        "n_head": config.num_heads,
        "n_layer": config.num_layers,
        "n_positions": config.max_positions,
        "activation_function": THEIR_ACTIVATIONS[config.activation],
        "layer_norm_epsilon": config.layer_norm_epsilon,
        "resid_pdrop": config.dropout,
        "embd_pdrop": config.dropout,
        "attn_pdrop": config.attention_dropout,
        # A text begins as the one before it ended.
        "bos_token_id": special.decoder_start,
        "pad_token_id": special.pad if special.pad < _rows(config) else None,
        "decoder_start_token_id": None,
    }


def _tensors(outgoing: Outgoing) -> dict[str, Array]:
    table = gpt2_table(outgoing.model, _BODY)  # type: ignore[arg-type]
    return dump_weights(table, rows=_rows(outgoing.config))


def _save_tokenizer(outgoing: Outgoing, directory: Path) -> None:
    save_json_tokenizer(outgoing.source, directory, bos=outgoing.config.special_ids.decoder_start)


GPT2 = Architecture(
    Form(
        _NAME,
        {
            "activation": tuple(THEIR_ACTIVATIONS),
            "layer_norm_epsilon": None,
            "max_positions": None,
            "logit_bias": None,
        },
    ),
    _config,
    _tensors,
    _save_tokenizer,
    _check,
)
