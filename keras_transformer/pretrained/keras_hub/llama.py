"""Llama 2 and 3 of keras-hub, and what shares their form: Mistral, Qwen 2 and 2.5, and Qwen 3."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from keras_transformer.pretrained.errors import ImportRefusedError
from keras_transformer.pretrained.huggingface.decoders.rope import ORIGINAL_LENGTH
from keras_transformer.pretrained.keras_hub.family import (
    MATRIX,
    SAME,
    Config,
    Family,
    Form,
    Head,
    Vocabulary,
    Weight,
    heads_in,
    heads_out,
    layers,
    norm,
    table,
)
from keras_transformer.pretrained.values import FileValues

SIZES: dict[str, tuple[str, ...]] = {
    "vocabulary_size": ("vocab_size",),
    "num_layers": ("num_hidden_layers",),
    "num_query_heads": ("num_attention_heads",),
    "num_key_value_heads": ("num_key_value_heads",),
    "hidden_dim": ("hidden_size",),
    "intermediate_dim": ("intermediate_size",),
    "layer_norm_epsilon": ("rms_norm_eps",),
    "dropout": ("attention_dropout",),
}
_ATTENTION = "_self_attention_layer/_"
QUERIES, KEYS = heads_out("num_query_heads"), heads_out("num_key_value_heads")
_BLOCK: Mapping[str, tuple[str, Form]] = {
    "_self_attention_layernorm": ("input_layernorm", SAME),
    f"{_ATTENTION}query_dense": ("self_attn.q_proj", QUERIES),
    f"{_ATTENTION}key_dense": ("self_attn.k_proj", KEYS),
    f"{_ATTENTION}value_dense": ("self_attn.v_proj", KEYS),
    f"{_ATTENTION}output_dense": ("self_attn.o_proj", heads_in("num_query_heads")),
    f"{_ATTENTION}query_dense_layer_norm": ("self_attn.q_norm", SAME),
    f"{_ATTENTION}key_dense_layer_norm": ("self_attn.k_norm", SAME),
    "_feedforward_layernorm": ("post_attention_layernorm", SAME),
    "_feedforward_gate_dense": ("mlp.gate_proj", MATRIX),
    "_feedforward_intermediate_dense": ("mlp.up_proj", MATRIX),
    "_feedforward_output_dense": ("mlp.down_proj", MATRIX),
}
CAUSAL = ("", "CausalLM")


def _weights(decoder: str, last_norm: str) -> Callable[[Config], Iterator[Weight]]:
    def weights(config: Config) -> Iterator[Weight]:
        yield from table("layers/reversible_embedding", "model.embed_tokens")
        # Of a head that is not tied.
        yield Weight("layers/reversible_embedding/vars/1", "lm_head.weight", MATRIX)
        yield from layers(config, decoder, "model.layers.{}.", _BLOCK)
        yield from norm(f"layers/{last_norm}", "model.norm")

    return weights


def _llama_rope(config: FileValues) -> dict[str, Any]:
    """Returns the fields of rotary positions, of which keras-hub scales all or Llama 3's."""
    theta = {"rope_theta": config.number("rope_max_wavelength", 10_000.0)}
    # keras-hub forgets to save whether the head is tied: the file of weights tells.
    fields: dict[str, Any] = {**theta, "tie_word_embeddings": True}
    factor = config.number("rope_frequency_adjustment_factor", None)
    if factor is None:
        return fields | rope_scaling(config, "rope_position_scaling_factor")
    _check_one(config, "rope_position_scaling_factor")
    scaling = {
        "rope_type": "llama3",
        "factor": factor,
        "low_freq_factor": config.number("rope_low_freq_factor"),
        "high_freq_factor": config.number("rope_high_freq_factor"),
        ORIGINAL_LENGTH: config.integer("rope_pretraining_sequence_length"),
    }
    return fields | {"rope_scaling": scaling}


def rope_scaling(config: FileValues, name: str) -> dict[str, Any]:
    """Returns the field of rotary positions that a factor divides, if it is not 1."""
    factor = config.number(name, 1.0)
    return {} if factor == 1.0 else {"rope_scaling": {"rope_type": "linear", "factor": factor}}


def _check_one(config: FileValues, name: str) -> None:
    if config.number(name, 1.0) != 1.0:
        raise ImportRefusedError(
            f"{config.origin} scales positions twice, by {name}: {config[name]!r}, too, which is "
            "not supported."
        )


def _rope(config: FileValues) -> dict[str, Any]:
    return {
        "rope_theta": config.number("rope_max_wavelength", 10_000.0),
        **rope_scaling(config, "rope_scaling_factor"),
    }


def _written(factor: str) -> Callable[[Config], dict[str, Any]]:
    """Returns what says how positions are scaled.

    Args:
        factor: The field that keras-hub's config has for one factor of all.
    """

    def fields(theirs: Config) -> dict[str, Any]:
        rope = theirs["rope_parameters"]
        found = {"rope_max_wavelength": rope["rope_theta"]}
        kind = rope["rope_type"]
        if kind == "linear":
            found[factor] = rope["factor"]
        elif kind == "llama3" and theirs["model_type"] == "llama":
            found["rope_frequency_adjustment_factor"] = rope["factor"]
            found["rope_low_freq_factor"] = rope["low_freq_factor"]
            found["rope_high_freq_factor"] = rope["high_freq_factor"]
            found["rope_pretraining_sequence_length"] = rope[ORIGINAL_LENGTH]
        elif kind != "default":
            raise ValueError(f"keras-hub has no rotary_scaling of the kind {kind!r} here.")
        width = theirs["hidden_size"] // theirs["num_attention_heads"]
        if theirs["model_type"] in ("llama", "qwen2") and theirs["head_dim"] != width:
            raise ValueError(
                f"keras-hub's heads of a {theirs['model_type']} are as wide as the states over "
                f"their number: key_dim must be {width}, got {theirs['head_dim']}."
            )
        if theirs["model_type"] == "llama":
            found["tie_word_embeddings"] = theirs["tie_word_embeddings"]
        return found

    return fields


def _qwen(config: FileValues) -> dict[str, Any]:
    """Returns the fields of a Qwen's positions; windows are longer than texts, or refused."""
    longest = config.integer("sliding_window_size", None)
    if config.flag("use_sliding_window_attention", longest is not None and longest < 32768):
        raise ImportRefusedError(
            f"{config.origin} has sliding_window_size: {longest}, and only Qwens without windows, "
            "or of 32768 tokens, are supported."
        )
    return _rope(config)


def _family(
    model_type: str, decoder: str, last_norm: str, vocabulary: Vocabulary, **fields: Any
) -> Family:
    architecture = {"llama": "Llama", "mistral": "Mistral", "qwen2": "Qwen2", "qwen3": "Qwen3"}
    head = Head(f"{architecture[model_type]}ForCausalLM")
    return Family(
        model_type,
        SIZES,
        {"hidden_act": "silu", "mlp_bias": False},
        _weights(decoder, last_norm),
        vocabulary,
        dict.fromkeys(CAUSAL, head),
        optional=("lm_head.weight", "_norm.weight", "norm.bias", "_proj.bias"),
        **fields,
    )


_PIECES = Vocabulary("tokenizer.model", {"bos_token_id": "<s>", "eos_token_id": "</s>"})
_LLAMA3_BYTES = Vocabulary(
    "bytes", {"bos_token_id": "<|begin_of_text|>", "eos_token_id": "<|end_of_text|>"}
)
_ROPE = ("rope_max_wavelength", "rope_scaling_factor")
_WINDOWS = ("use_sliding_window_attention", "sliding_window_size")
LLAMA = _family(
    "llama",
    "llama_transformer_decoder",
    "llama_layer_norm",
    _PIECES,
    computed=_llama_rope,
    written=_written("rope_position_scaling_factor"),
    known=(
        "rope_max_wavelength",
        "rope_position_scaling_factor",
        "rope_frequency_adjustment_factor",
        "rope_low_freq_factor",
        "rope_high_freq_factor",
        "rope_pretraining_sequence_length",
        "tie_word_embeddings",
    ),
)
MISTRAL = _family(
    "mistral",
    "mistral_transformer_decoder",
    "mistral_layer_normalization",
    _PIECES,
    computed=_rope,
    written=_written("rope_scaling_factor"),
    known=_ROPE,
)
QWEN = _family(
    "qwen2",
    "qwen_transformer_decoder",
    "qwen_layer_norm",
    Vocabulary("bytes", {"eos_token_id": "<|endoftext|>"}),
    computed=_qwen,
    written=_written("rope_scaling_factor"),
    known=(*_ROPE, *_WINDOWS),
)
QWEN3 = _family(
    "qwen3",
    "qwen3_transformer_decoder",
    "qwen3_layer_norm",
    Vocabulary("bytes", {"eos_token_id": "<|im_end|>", "pad_token_id": "<|endoftext|>"}),
    computed=_qwen,
    written=_written("rope_scaling_factor"),
    known=(*_ROPE, *_WINDOWS),
)
_TIED = {"tie_word_embeddings": ("tie_word_embeddings",)}
FAMILIES = {
    "LlamaBackbone": LLAMA,
    "Llama3Backbone": replace(LLAMA, vocabulary=_LLAMA3_BYTES),
    "MistralBackbone": replace(
        MISTRAL,
        fields={**SIZES, "sliding_window": ("sliding_window",), "head_dim": ("head_dim",)},
    ),
    "QwenBackbone": replace(QWEN, fields=SIZES | _TIED),
    "Qwen3Backbone": replace(QWEN3, fields=SIZES | _TIED | {"head_dim": ("head_dim",)}),
}
