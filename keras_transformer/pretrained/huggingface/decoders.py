"""Decoders alone: GPT-2 (Radford et al. 2019), and the form of Llama (Touvron et al. 2023), which
Mistral and Qwen share.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from keras_transformer.config.decoder_only import DecoderConfig
from keras_transformer.config.special_ids import SpecialIds
from keras_transformer.pretrained.errors import ImportRefusedError
from keras_transformer.pretrained.huggingface.fields import Fields
from keras_transformer.pretrained.huggingface.json_vocabulary import read_vocabulary
from keras_transformer.pretrained.huggingface.llama_vocabulary import llama_vocabulary
from keras_transformer.pretrained.huggingface.single_stacks import SingleStack
from keras_transformer.pretrained.tensor_files import Tensors
from keras_transformer.pretrained.values import FileValues
from keras_transformer.pretrained.weight_table import NEVER, Entry, linear, norm

_EMBEDDINGS, _HEAD = "model.embed_tokens.weight", "lm_head.weight"
# Masks and rates that are computed, and heads that are tied.
_GPT2_UNREAD = (".attn.bias", ".attn.masked_bias", _HEAD)
_LLAMA_UNREAD = ("rotary_emb.inv_freq", _HEAD)
# Of a block, by their number; a second one of a sub-layer is of its outputs.
_NORMS = {
    2: ("input", "post_attention"),
    4: ("input", "post_attention", "pre_feedforward", "post_feedforward"),
}


def gpt2_config(fields: Fields, special_ids: SpecialIds, tensors: Tensors) -> DecoderConfig:
    """Returns the config of a GPT-2."""
    fields.require(
        scale_attn_weights=True,
        scale_attn_by_inverse_layer_idx=False,
        add_cross_attention=False,
        tie_word_embeddings=True,
    )
    if not _is_tied(tensors, f"{_gpt2_body(tensors)}wte.weight"):
        raise ImportRefusedError(
            f"{tensors.origin} holds an {_HEAD} that differs from the embeddings: a GPT-2 whose "
            "head is not tied to them is not supported."
        )
    width = fields.integer("n_embd")
    return DecoderConfig(
        vocab_size=_rows(fields, special_ids),
        model_dim=width,
        feed_forward_dim=fields.integer("n_inner", 4 * width),
        num_heads=fields.integer("n_head"),
        num_layers=fields.integer("n_layer"),
        max_positions=fields.integer("n_positions"),
        activation=fields.activation("activation_function", "gelu_new"),
        layer_norm_epsilon=fields.number("layer_norm_epsilon", 1e-5),
        dropout=fields.number("resid_pdrop", 0.1),
        attention_dropout=fields.number("attn_pdrop", 0.1),
        logit_bias=special_ids.pad >= fields.vocab_size(),
        special_ids=special_ids,
    )


def gpt2_table(model: Any, tensors: Tensors) -> Iterator[Entry]:
    """Yields the entries of a GPT-2, whose linear layers are `(in, out)`, as ours are."""
    body = _gpt2_body(tensors)
    yield Entry(model.embeddings.tokens.matrix, f"{body}wte.weight", fill=0.0)
    yield Entry(model.embeddings.positions.matrix, f"{body}wpe.weight")
    if model.head.bias is not None:
        yield Entry(model.head.bias, "", absent=_never_padding(model.config))
    for number, block in enumerate(model.decoder_stack.blocks):
        here = f"{body}h.{number}."
        yield from norm(block.self_attention_residual.layer_norm, f"{here}ln_1")
        yield from norm(block.feed_forward_residual.layer_norm, f"{here}ln_2")
        *parts, output = block.self_attention.linear_layers
        for part, layer in enumerate(parts):
            name = f"{here}attn.c_attn"
            yield from linear(layer, name, transposed=False, part=part, parts=3)
        yield from linear(output, f"{here}attn.c_proj", transposed=False)
        yield from linear(block.feed_forward.hidden, f"{here}mlp.c_fc", transposed=False)
        yield from linear(block.feed_forward.output_linear, f"{here}mlp.c_proj", transposed=False)
    yield from norm(model.decoder_stack.final_norm, f"{body}ln_f")


def _gpt2_body(tensors: Tensors) -> str:
    return "transformer." if "transformer.wte.weight" in tensors else ""


def llama_config(fields: Fields, special_ids: SpecialIds, tensors: Tensors) -> DecoderConfig:
    """Returns the config of a Llama, or of a model that differs by its sizes only."""
    fields.require(attention_bias=False, mlp_bias=False, sliding_window=None)
    if any(name.endswith("q_proj.bias") for name in tensors):
        raise ImportRefusedError(
            f"{fields.path} is of a model whose queries, keys and values alone have biases: it is "
            "not supported."
        )
    heads, width = fields.integer("num_attention_heads"), fields.integer("hidden_size")
    head_dim = fields.integer("head_dim", width // heads)
    return DecoderConfig(
        vocab_size=_rows(fields, special_ids),
        model_dim=width,
        feed_forward_dim=fields.integer("intermediate_size"),
        num_heads=heads,
        num_key_value_heads=fields.integer("num_key_value_heads", heads),
        key_dim=head_dim,
        value_dim=head_dim,
        num_layers=fields.integer("num_hidden_layers"),
        positions="none",
        max_positions=None,
        rotary_base=rotary_base(fields),
        activation=fields.activation("hidden_act", "silu"),
        gated_feed_forward=True,
        norm_kind="rms_norm",
        layer_norm_epsilon=fields.number("rms_norm_eps", 1e-6),
        use_bias=False,
        dropout=0.0,
        attention_dropout=fields.number("attention_dropout", 0.0),
        tied_head=fields.flag("tie_word_embeddings", False) and _is_tied(tensors, _EMBEDDINGS),
        logit_bias=special_ids.pad >= fields.vocab_size(),
        special_ids=special_ids,
    )


def rotary_base(fields: Fields) -> float:
    """Returns the base of rotary positions, or refuses those that are scaled."""
    fields.require(rope_scaling=None)
    rope = fields.mapping("rope_parameters", FileValues(fields.path, {}))
    kind = rope.get("rope_type", "default")
    if kind != "default":
        raise ImportRefusedError(
            f"{fields.path} has rope_parameters of the type {kind!r}, and only 'default' is "
            "supported."
        )
    return float(rope.number("rope_theta", fields.number("rope_theta", 10_000.0)))


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
        yield Entry(model.head.bias, "", absent=_never_padding(model.config))
    if model.head.linear is not None:
        kernel = model.head.linear.kernel
        yield Entry(kernel, _HEAD, transposed=True, fill=0.0, id_axis=1)
    for number, block in enumerate(model.decoder_stack.blocks):
        here = f"model.layers.{number}."
        connections = block.self_attention_residual, block.feed_forward_residual
        norms = [one for each in connections for one in (each.layer_norm, each.output_norm) if one]
        for layer, name in zip(norms, _NORMS[len(norms)], strict=True):
            yield from norm(layer, f"{here}{name}_layernorm")
        attention = block.self_attention
        for name, layer in zip("qkvo", attention.linear_layers, strict=True):
            yield from linear(layer, f"{here}self_attn.{name}_proj")
        if attention.query_norm is not None:
            yield from norm(attention.query_norm, f"{here}self_attn.q_norm")
            yield from norm(attention.key_norm, f"{here}self_attn.k_norm")
        for name, layer in zip(
            ("gate", "up", "down"), block.feed_forward.linear_layers, strict=True
        ):
            yield from linear(layer, f"{here}mlp.{name}_proj")
    yield from norm(model.decoder_stack.final_norm, "model.norm")


def _is_tied(tensors: Tensors, embeddings: str) -> bool:
    """Whether a file's head is its embeddings; Transformers ties no others, whatever it is told."""
    if _HEAD not in tensors or embeddings not in tensors:
        return True
    return np.array_equal(tensors[_HEAD], tensors[embeddings])


def _rows(fields: Fields, special_ids: SpecialIds) -> int:
    """Returns the size of the vocabulary, with a row for a padding that theirs may lack."""
    return max(fields.vocab_size(), special_ids.pad + 1)


def _never_padding(config: DecoderConfig) -> Any:
    """Returns biases that keep a padding beyond their vocabulary from being written."""
    is_padding = np.arange(config.vocab_size) == config.special_ids.pad
    return np.where(is_padding, NEVER, 0.0)


LLAMA = SingleStack(
    llama_config,
    llama_table,
    _LLAMA_UNREAD,
    llama_vocabulary,
    defaults={"bos_token_id": 1, "eos_token_id": 2},
)
# By `model_type`.
DECODERS = {
    "gpt2": SingleStack(
        gpt2_config, gpt2_table, _GPT2_UNREAD, partial(read_vocabulary, begins=False)
    ),
    "llama": LLAMA,
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
