"""Decoders alone as Hugging Face's GPT-2, Llama and models of its form."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from keras_transformer.export.pretrained.forms import ModelForm
from keras_transformer.export.pretrained.huggingface.architecture import (
    THEIR_ACTIVATIONS,
    Architecture,
)
from keras_transformer.export.pretrained.huggingface.vocabularies import (
    check_json_tokenizer,
    save_json_tokenizer,
    save_llama_tokenizer,
    with_step,
)
from keras_transformer.export.pretrained.outgoing import Outgoing
from keras_transformer.pretrained.huggingface.decoders.gpt2 import gpt2_table
from keras_transformer.pretrained.huggingface.decoders.llama import llama_table
from keras_transformer.pretrained.huggingface.decoders.rope import rope_fields
from keras_transformer.pretrained.huggingface.json_vocabulary import starts_texts
from keras_transformer.pretrained.weight_table import NEVER, Array, Entry, dump_weights

_GPT2 = "GPT2LMHeadModel"
# What the names in GPT-2's files begin with.
_BODY = ("transformer.wte.weight",)
# Types of tokens would be embedded as further tokens.
_INPUTS = ("input_ids", "attention_mask")


def _rows(config: Any) -> int:
    """Returns how many ids theirs has: all but a padding that only ours needs."""
    return config.vocab_size - config.logit_bias


def _check_head(outgoing: Outgoing, name: str) -> None:
    """Raises a ValueError if logits have other biases than that of a padding that only ours has."""
    config = outgoing.config
    if not config.logit_bias:
        return
    bias = np.asarray(outgoing.model.head.bias)
    last = config.vocab_size - 1
    if config.special_ids.pad != last or bias[:last].any() or bias[last] > NEVER / 2:
        raise ValueError(f"{name} needs logit_bias=False, but this model's logits have biases.")


def _check_gpt2(outgoing: Outgoing) -> None:
    check_json_tokenizer(outgoing, _GPT2)
    _check_head(outgoing, _GPT2)


def _check_llama(outgoing: Outgoing, name: str, more: Callable[[Outgoing], Any]) -> None:
    if outgoing.source.kind != "sentencepiece":
        check_json_tokenizer(outgoing, name)
    _check_head(outgoing, name)
    if outgoing.config.rotary_base is None:
        raise ValueError(f"{name} needs a rotary_base, such as 10000.0, got None.")
    more(outgoing)


def _gpt2_config(outgoing: Outgoing) -> dict[str, Any]:
    config = outgoing.config
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
        **_special_ids(config),
    }


def _llama_config(outgoing: Outgoing, model_type: str) -> dict[str, Any]:
    config = outgoing.config
    rotary: Any = config.block().own.rotary
    return {
        "model_type": model_type,
        "vocab_size": _rows(config),
        **block_fields(config),
        "num_hidden_layers": config.num_layers,
        **rope_fields(rotary, config.key_dim),
        "sliding_window": config.window,
        "attention_bias": config.use_bias and config.attention_bias,
        "mlp_bias": config.use_bias and config.feed_forward_bias,
        "tie_word_embeddings": config.tied_head,
        **_special_ids(config),
    }


def block_fields(config: Any) -> dict[str, Any]:
    """Returns the sizes of blocks, and what else all of Llama's form have."""
    return {
        "hidden_size": config.model_dim,
        "intermediate_size": config.feed_forward_dim,
        "num_attention_heads": config.num_heads,
        "num_key_value_heads": config.num_key_value_heads or config.num_heads,
        "head_dim": config.key_dim,
        "hidden_act": THEIR_ACTIVATIONS[config.activation],
        "rms_norm_eps": config.layer_norm_epsilon,
        "attention_dropout": config.attention_dropout,
    }


def _special_ids(config: Any) -> dict[str, Any]:
    special = config.special_ids
    return {
        # A text begins as the one before it ended, or with what is named so.
        "bos_token_id": special.decoder_start,
        "pad_token_id": special.pad if special.pad < _rows(config) else None,
        "decoder_start_token_id": None,
    }


def _tensors_of(
    table: Callable[..., Iterable[Entry]], names: Sequence[str] = ()
) -> Callable[[Outgoing], dict[str, Array]]:
    def tensors(outgoing: Outgoing) -> dict[str, Array]:
        return dump_weights(table(outgoing.model, names), rows=_rows(outgoing.config))

    return tensors


def _save_tokenizer(outgoing: Outgoing, directory: Path) -> None:
    config, tokenizer = outgoing.config, outgoing.source
    start = config.special_ids.decoder_start
    if starts_texts(tokenizer.model) != config.starts_prompts:
        step = _behind(tokenizer.subwords.piece(start), start) if config.starts_prompts else None
        tokenizer = with_step(tokenizer, step)
    save_json_tokenizer(tokenizer, directory, _INPUTS, bos=start)


def _behind(piece: str, token: int) -> dict[str, Any]:
    """Returns the step that puts a text behind a token."""
    first = {"SpecialToken": {"id": piece, "type_id": 0}}
    one, other = ({"Sequence": {"id": name, "type_id": type_}} for type_, name in enumerate("AB"))
    return {
        "type": "TemplateProcessing",
        "single": [first, one],
        "pair": [first, one, other],
        "special_tokens": {piece: {"id": piece, "ids": [token], "tokens": [piece]}},
    }


def _save_llama_tokenizer(outgoing: Outgoing, directory: Path, model_type: str) -> None:
    if outgoing.source.kind != "sentencepiece":
        _save_tokenizer(outgoing, directory)
        return
    # The others' vocabularies have no SentencePiece but where theirs was put in Llama's place.
    kind = "GemmaTokenizer" if model_type.startswith("gemma") else "LlamaTokenizer"
    start = outgoing.config.special_ids.decoder_start
    starts = outgoing.config.starts_prompts
    save_llama_tokenizer(outgoing.source, directory, start, kind, starts_texts=starts)


GPT2 = Architecture(
    ModelForm(
        _GPT2,
        {
            "activation": tuple(THEIR_ACTIVATIONS),
            "layer_norm_epsilon": None,
            "max_positions": None,
            "logit_bias": None,
        },
    ),
    _gpt2_config,
    _tensors_of(gpt2_table, _BODY),
    _save_tokenizer,
    _check_gpt2,
)


def of_llama(
    name: str,
    model_type: str,
    table: Callable[..., Iterable[Entry]] = llama_table,
    more: Callable[[Outgoing], dict[str, Any]] = lambda _: {},
    **values: Sequence[Any] | None,
) -> Architecture:
    """Returns an architecture of Llama's form.

    Args:
        name: Its class.
        model_type: Its name in a config.
        table: As for importing it.
        more: Returns further fields of its config, or raises a ValueError for what has none.
        **values: As in a `ModelForm`, of fields that a Llama has not.
    """
    form = ModelForm(
        name,
        {
            "activation": tuple(THEIR_ACTIVATIONS),
            "gated_feed_forward": (True,),
            "key_dim": None,
            "layer_norm_epsilon": None,
            "logit_bias": None,
            "max_positions": (None,),
            "norm_kind": ("rms_norm",),
            "num_key_value_heads": None,
            "positions": ("none",),
            "rotary_base": None,
            "rotary_scaling": None,
            "tied_head": None,
            "use_bias": (False,),
            **values,
        },
    )
    return Architecture(
        form,
        lambda outgoing: {**_llama_config(outgoing, model_type), **more(outgoing)},
        _tensors_of(table),
        partial(_save_llama_tokenizer, model_type=model_type),
        lambda outgoing: _check_llama(outgoing, name, more),
    )


# Of queries, keys and values alone.
QKV_BIASES: dict[str, Any] = {
    "use_bias": (True,),
    "attention_output_bias": (False,),
    "feed_forward_bias": (False,),
}
DECODERS = (
    GPT2,
    of_llama(
        "LlamaForCausalLM", "llama", use_bias=None, attention_bias=None, feed_forward_bias=None
    ),
    of_llama("MistralForCausalLM", "mistral", window=None),
    of_llama(
        "Qwen2ForCausalLM",
        "qwen2",
        **QKV_BIASES,
    ),
    of_llama("Qwen3ForCausalLM", "qwen3", query_key_norm=(True,)),
)
