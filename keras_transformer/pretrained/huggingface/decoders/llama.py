"""Llama (Touvron et al. 2023), and Mistral (Jiang et al. 2023), Qwen 2 (Yang et al. 2024) and
Qwen 3 (Yang et al. 2025), which share its form.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

from keras_transformer.config.decoder_only import DecoderConfig
from keras_transformer.config.special_ids import SpecialIds
from keras_transformer.pretrained.huggingface.decoders.common import (
    HEAD,
    is_tied,
    never_padding,
    rows,
)
from keras_transformer.pretrained.huggingface.decoders.rope import read_rope
from keras_transformer.pretrained.huggingface.decoders.turned_features import turned
from keras_transformer.pretrained.huggingface.fields import Fields
from keras_transformer.pretrained.huggingface.llama_vocabulary import llama_vocabulary
from keras_transformer.pretrained.huggingface.single_stacks import SingleStack
from keras_transformer.pretrained.tensor_files import Tensors
from keras_transformer.pretrained.weight_table import Entry, linear, norm

_EMBEDDINGS = "model.embed_tokens.weight"
_UNREAD = ("rotary_emb.inv_freq", HEAD)  # Rates that are computed, and heads that are tied.
# Of a block, in order.
_NORMS = {
    "pre": ("input", "post_attention"),
    "both": ("input", "post_attention", "pre_feedforward", "post_feedforward"),
    "output": ("post_attention", "post_feedforward"),
}


def llama_config(fields: Fields, special_ids: SpecialIds, tensors: Tensors) -> DecoderConfig:
    """Returns the config of a Llama, or of a model that differs by its sizes only."""
    fields.require(sliding_window=None)
    heads, width = fields.integer("num_attention_heads", least=1), fields.integer("hidden_size")
    head_dim = fields.integer("head_dim", width // heads)
    attention_bias, feed_forward_bias = (
        fields.flag(name, False) for name in ("attention_bias", "mlp_bias")
    )
    return DecoderConfig(
        vocab_size=rows(fields, special_ids),
        model_dim=width,
        feed_forward_dim=fields.integer("intermediate_size"),
        num_heads=heads,
        num_key_value_heads=fields.integer("num_key_value_heads", heads),
        key_dim=head_dim,
        value_dim=head_dim,
        num_layers=fields.integer("num_hidden_layers"),
        positions="none",
        max_positions=None,
        **read_rope(fields, head_dim),
        activation=fields.activation("hidden_act", "silu"),
        gated_feed_forward=True,
        norm_kind="rms_norm",
        layer_norm_epsilon=fields.number("rms_norm_eps", 1e-6),
        use_bias=attention_bias or feed_forward_bias,
        attention_bias=attention_bias or not feed_forward_bias,
        feed_forward_bias=feed_forward_bias or not attention_bias,
        dropout=0.0,
        attention_dropout=fields.number("attention_dropout", 0.0),
        tied_head=fields.flag("tie_word_embeddings", False) and is_tied(tensors, _EMBEDDINGS),
        logit_bias=special_ids.pad >= fields.vocab_size(),
        special_ids=special_ids,
    )


def qwen2_config(fields: Fields, special_ids: SpecialIds, tensors: Tensors) -> DecoderConfig:
    """Returns the config of a Qwen 2, a Llama whose queries, keys and values alone have biases."""
    fields.require(use_sliding_window=False)
    given = changed(fields, sliding_window=None, attention_bias=True)
    return replace(llama_config(given, special_ids, tensors), attention_output_bias=False)


def qwen3_config(fields: Fields, special_ids: SpecialIds, tensors: Tensors) -> DecoderConfig:
    """Returns the config of a Qwen 3, a Llama that normalises queries and keys."""
    fields.require(use_sliding_window=False)
    config = llama_config(changed(fields, sliding_window=None), special_ids, tensors)
    return replace(config, query_key_norm=True)


def mistral_config(fields: Fields, special_ids: SpecialIds, tensors: Tensors) -> DecoderConfig:
    """Returns the config of a Mistral (Jiang et al. 2023), a Llama whose attention has a window."""
    config = llama_config(changed(fields, sliding_window=None), special_ids, tensors)
    return replace(config, window=fields.integer("sliding_window", None, least=1))


def changed(fields: Fields, **values: Any) -> Fields:
    """Returns a config with other values."""
    return Fields(fields.path, {**fields.values, **values})


def llama_table(
    model: Any, tensors: Tensors, norm: Callable[[Any, str], Iterable[Entry]] = norm
) -> Iterator[Entry]:
    """Yields the entries of a Llama, of whose norms `norm` makes them."""
    del tensors
    yield Entry(model.embeddings.tokens.matrix, _EMBEDDINGS, fill=0.0)
    if model.head.bias is not None:
        yield Entry(model.head.bias, "", absent=never_padding(model.config))
    if model.head.linear is not None:
        kernel = model.head.linear.kernel
        yield Entry(kernel, HEAD, transposed=True, fill=0.0, id_axis=1)
    for number, block in enumerate(model.decoder_stack.blocks):
        here = f"model.layers.{number}."
        connections = block.self_attention_residual, block.feed_forward_residual
        norms = [one for each in connections for one in (each.layer_norm, each.output_norm) if one]
        for layer, name in zip(norms, _NORMS[model.config.norm], strict=True):
            yield from norm(layer, f"{here}{name}_layernorm")
        attention = block.self_attention
        for name, layer in zip("qkvo", attention.linear_layers, strict=True):
            entries = linear(layer, f"{here}self_attn.{name}_proj")
            yield from turned(entries, model.config) if name in "qk" else entries
        if attention.query_norm is not None:
            yield from norm(attention.query_norm, f"{here}self_attn.q_norm")
            yield from norm(attention.key_norm, f"{here}self_attn.k_norm")
        for name, layer in zip(
            ("gate", "up", "down"), block.feed_forward.linear_layers, strict=True
        ):
            yield from linear(layer, f"{here}mlp.{name}_proj")
    yield from norm(model.decoder_stack.final_norm, "model.norm")


LLAMA = SingleStack(
    llama_config,
    llama_table,
    _UNREAD,
    llama_vocabulary,
    defaults={"bos_token_id": 1, "eos_token_id": 2},
)
# By `model_type`.
LLAMAS = {
    "llama": LLAMA,
    "qwen2": replace(LLAMA, config=qwen2_config, defaults={}),
    "qwen3": replace(LLAMA, config=qwen3_config, defaults={"head_dim": 128}),
    "mistral": replace(
        LLAMA,
        config=mistral_config,
        defaults={
            "bos_token_id": 1,
            "eos_token_id": 2,
            "num_key_value_heads": 8,
            "sliding_window": 4096,
        },
    ),
}
