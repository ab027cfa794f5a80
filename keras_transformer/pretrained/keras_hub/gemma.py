"""Gemma, Gemma 2 and the text of Gemma 3 of keras-hub."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from keras_transformer.pretrained.errors import ImportRefusedError
from keras_transformer.pretrained.huggingface.decoders.gemma import FULL, SLIDING
from keras_transformer.pretrained.keras_hub.family import (
    MATRIX,
    SAME,
    Array,
    Config,
    Family,
    Form,
    Head,
    Vocabulary,
    Weight,
    heads_in,
    layers,
    norm,
    table,
)
from keras_transformer.pretrained.keras_hub.llama import CAUSAL, SIZES
from keras_transformer.pretrained.values import FileValues

# The base of Gemma 3's rotary positions in blocks of either kind.
_THETA = {SLIDING: 10_000.0, FULL: 1_000_000.0}


def _heads_first(heads: str) -> Form:
    """Returns the form of a layer that makes heads, (H, in, K)."""

    def read(array: Array) -> Array:
        return np.swapaxes(array, 1, 2).reshape(-1, array.shape[1])

    def write(array: Array, count: int) -> Array:
        return np.swapaxes(array.reshape(count, -1, array.shape[-1]), 1, 2)

    return Form(read, write, heads)


def _block(both_norms: bool) -> Mapping[str, tuple[str, Form]]:
    keys = _heads_first("num_key_value_heads")
    norms = {"pre_ffw_norm": "post_attention_layernorm"}
    if both_norms:
        norms = {
            "post_attention_norm": "post_attention_layernorm",
            "pre_ffw_norm": "pre_feedforward_layernorm",
            "post_ffw_norm": "post_feedforward_layernorm",
        }
    return {
        "pre_attention_norm": ("input_layernorm", SAME),
        **{name: (theirs, SAME) for name, theirs in norms.items()},
        "attention/query_dense": ("self_attn.q_proj", _heads_first("num_query_heads")),
        "attention/key_dense": ("self_attn.k_proj", keys),
        "attention/value_dense": ("self_attn.v_proj", keys),
        "attention/output_dense": ("self_attn.o_proj", heads_in("num_query_heads")),
        "attention/query_norm": ("self_attn.q_norm", SAME),
        "attention/key_norm": ("self_attn.k_norm", SAME),
        "gating_ffw": ("mlp.gate_proj", MATRIX),
        "gating_ffw_2": ("mlp.up_proj", MATRIX),
        "ffw_linear": ("mlp.down_proj", MATRIX),
    }


def _weights(decoder: str) -> Callable[[Config], Iterator[Weight]]:
    def weights(config: Config) -> Iterator[Weight]:
        yield from table("layers/reversible_embedding", "model.embed_tokens")
        block = _block(config.get("use_post_attention_norm", False))
        yield from layers(config, decoder, "model.layers.{}.", block)
        yield from norm("layers/rms_normalization", "model.norm")

    return weights


def _has_both_norms(config: FileValues) -> bool:
    """Whether norms stand on both sides of all sub-layers."""
    both = [config.flag(f"use_post_{part}_norm", False) for part in ("attention", "ffw")]
    if both[0] != both[1]:
        raise ImportRefusedError(
            f"{config.origin} has use_post_attention_norm: {both[0]} and use_post_ffw_norm: "
            f"{both[1]}, and only both or none are supported."
        )
    return both[0]


def _scores(config: FileValues) -> dict[str, Any]:
    """Returns what scores are divided by the root of, and the caps."""
    by_head = config.flag("query_head_dim_normalize", True)
    width, heads = config.integer("hidden_dim"), config.integer("num_query_heads", least=1)
    return {
        "query_pre_attn_scalar": config.integer("head_dim") if by_head else width // heads,
        "attn_logit_softcapping": config.number("attention_logit_soft_cap", None),
        "final_logit_softcapping": config.number("final_logit_soft_cap", None),
    }


def _kinds(count: int, every: int) -> list[str]:
    """Returns the kinds of blocks in turn: all but the last of each `every` have a window."""
    return [SLIDING if place % every else FULL for place in range(1, count + 1)]


def _windows(config: FileValues, every: int) -> dict[str, Any]:
    count = config.integer("num_layers", least=1)
    has_windows = config.flag("use_sliding_window_attention", False)
    kinds = _kinds(count, every) if has_windows else [FULL] * count
    return {"layer_types": kinds, "sliding_window": config.integer("sliding_window_size", 4096)}


def _written(theirs: Config, every: int) -> dict[str, Any]:
    """Returns the fields that both Gemmas with norms on both sides have."""
    kinds = theirs["layer_types"]
    if SLIDING in kinds and kinds != _kinds(len(kinds), every):
        raise ValueError(
            f"keras-hub's Gemma has a window in all blocks but each {every}th, got layer_types="
            f"{kinds}."
        )
    return {
        "query_head_dim_normalize": True,
        "use_post_attention_norm": True,
        "use_post_ffw_norm": True,
        "attention_logit_soft_cap": theirs.get("attn_logit_softcapping"),
        "final_logit_soft_cap": theirs.get("final_logit_softcapping"),
        "use_sliding_window_attention": SLIDING in kinds,
        "sliding_window_size": theirs["sliding_window"],
    }


def _gemma(config: FileValues) -> dict[str, Any]:
    # The gate and what it multiplies are counted together.
    fields: dict[str, Any] = {"intermediate_size": config.integer("intermediate_dim") // 2}
    if not _has_both_norms(config):
        _check_first(config)
        return {**fields, "model_type": "gemma", "architectures": ["GemmaForCausalLM"]}
    return {**fields, **_scores(config), **_windows(config, every=2)}


def _gemma_written(theirs: Config) -> dict[str, Any]:
    rope = theirs["rope_parameters"]
    if rope != {"rope_type": "default", "rope_theta": 10_000.0}:
        raise ValueError(f"keras-hub's Gemma has rotary_base=10000.0 without scaling, got {rope}.")
    fields = {} if theirs["model_type"] == "gemma" else _written(theirs, every=2)
    return {**fields, "intermediate_dim": 2 * theirs["intermediate_size"]}


def _check_first(config: FileValues) -> None:
    """Refuses a Gemma with something that only Gemma 2 has."""
    usual = {
        "query_head_dim_normalize": True,
        "attention_logit_soft_cap": None,
        "final_logit_soft_cap": None,
        "use_sliding_window_attention": False,
    }
    for name, value in usual.items():
        if config.get(name, value) != value:
            raise ImportRefusedError(
                f"{config.origin} has {name}: {config[name]!r} and no norms behind sub-layers, "
                "which no Gemma has."
            )


def _gemma3(config: FileValues) -> dict[str, Any]:
    config.require(
        use_query_key_norm=True,
        use_bidirectional_attention=False,
        is_embedding_model=False,
        vision_encoder=None,
    )
    if not _has_both_norms(config):
        raise ImportRefusedError(f"{config.origin} has use_post_ffw_norm: False, unlike Gemma 3.")
    local, whole = (
        config.number(f"{kind}_rope_scaling_factor", 1.0) for kind in ("local", "global")
    )
    return {
        **_scores(config),
        **_windows(config, every=6),
        "rope_parameters": {
            kind: {
                "rope_type": "default" if factor == 1.0 else "linear",
                "rope_theta": theta,
                **({} if factor == 1.0 else {"factor": factor}),
            }
            for (kind, theta), factor in zip(_THETA.items(), (local, whole), strict=True)
        },
    }


def _gemma3_written(theirs: Config) -> dict[str, Any]:
    factors = {}
    for kind, name in ((SLIDING, "local"), (FULL, "global")):
        rope = theirs["rope_parameters"][kind]
        factors[f"{name}_rope_scaling_factor"] = rope.get("factor", 1.0)
        is_known = rope["rope_type"] in ("default", "linear") and rope["rope_theta"] == _THETA[kind]
        if kind in theirs["layer_types"] and not is_known:
            raise ValueError(
                f"keras-hub's Gemma 3 has rotary_base={_THETA[kind]} in its blocks of the kind "
                f"{kind}, scaled by one factor or not, got {rope}."
            )
    # Nothing reads the size without an encoder of images.
    return {**_written(theirs, every=6), **factors, "image_size": 896, "vision_encoder": None}


_KNOWN = (
    "query_head_dim_normalize",
    "use_post_ffw_norm",
    "use_post_attention_norm",
    "attention_logit_soft_cap",
    "final_logit_soft_cap",
    "use_sliding_window_attention",
    "sliding_window_size",
)
_VOCABULARY = Vocabulary(
    "tokenizer.model",
    {"bos_token_id": "<bos>", "eos_token_id": "<eos>", "pad_token_id": "<pad>"},
)
_OPTIONAL = (".bias", "_norm.weight")
_FIELDS = SIZES | {"head_dim": ("head_dim",)}
_ACTIVATION = {"hidden_activation": "gelu_pytorch_tanh"}
FAMILIES = {
    "GemmaBackbone": Family(
        "gemma2",
        _FIELDS,
        _ACTIVATION,
        _weights("gemma_decoder_block"),
        _VOCABULARY,
        dict.fromkeys(CAUSAL, Head("Gemma2ForCausalLM", also="GemmaForCausalLM")),
        computed=_gemma,
        written=_gemma_written,
        known=_KNOWN,
        optional=_OPTIONAL,
    ),
    "Gemma3Backbone": Family(
        "gemma3_text",
        _FIELDS,
        _ACTIVATION,
        _weights("gemma3_decoder_block"),
        replace(_VOCABULARY, fields={"has_vision_tokens": False}),
        dict.fromkeys(CAUSAL, Head("Gemma3ForCausalLM")),
        computed=_gemma3,
        written=_gemma3_written,
        optional=_OPTIONAL,
        known=(
            *_KNOWN,
            "image_size",
            "vision_encoder",
            "local_rope_scaling_factor",
            "global_rope_scaling_factor",
            "use_query_key_norm",
            "use_bidirectional_attention",
            "is_embedding_model",
            "pooling_intermediate_dim",
            "embedding_dim",
        ),
    ),
}
