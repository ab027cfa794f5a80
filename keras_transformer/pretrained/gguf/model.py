"""The models of GGUF files: metadata and tensors under the names of Hugging Face, whose readers of
the same architectures do the rest.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from keras_transformer.pretrained.errors import ImportRefusedError
from keras_transformer.pretrained.gguf.container import SUFFIX, Gguf, is_gguf, open_gguf
from keras_transformer.pretrained.gguf.vocabulary import (
    read_ends,
    read_template,
    read_vocabulary,
    starts_prompts,
    token_fields,
)
from keras_transformer.pretrained.huggingface.decoders.gemma import GEMMAS
from keras_transformer.pretrained.huggingface.decoders.llama import LLAMAS
from keras_transformer.pretrained.huggingface.decoders.rope import ORIGINAL_LENGTH
from keras_transformer.pretrained.huggingface.fields import Fields
from keras_transformer.pretrained.imported import Imported
from keras_transformer.pretrained.tensor_files import Array, Tensors

# What a file says behind the architecture's name → the field of a config of Hugging Face.
_FIELDS = {
    "context_length": "max_position_embeddings",
    "block_count": "num_hidden_layers",
    "feed_forward_length": "intermediate_size",
    "embedding_length": "hidden_size",
    "attention.head_count": "num_attention_heads",
    "attention.head_count_kv": "num_key_value_heads",
    "attention.key_length": "head_dim",
    "attention.layer_norm_rms_epsilon": "rms_norm_eps",
    "attention.sliding_window": "sliding_window",
    "attn_logit_softcapping": "attn_logit_softcapping",
    "final_logit_softcapping": "final_logit_softcapping",
    "rope.freq_base": "rope_theta",
    "rope.freq_base_swa": "rope_local_base_freq",
}
_TOP = {"token_embd": "model.embed_tokens", "output_norm": "model.norm", "output": "lm_head"}
# Of a block.
_LAYERS = {
    "attn_norm": "input_layernorm",
    **{f"attn_{one}": f"self_attn.{one}_proj" for one in "qkv"},
    "attn_output": "self_attn.o_proj",
    "attn_q_norm": "self_attn.q_norm",
    "attn_k_norm": "self_attn.k_norm",
    **{f"ffn_{one}": f"mlp.{one}_proj" for one in ("gate", "up", "down")},
    "ffn_norm": "post_attention_layernorm",
}
_BOTH_NORMS = {
    "post_attention_norm": "post_attention_layernorm",
    "ffn_norm": "pre_feedforward_layernorm",
    "post_ffw_norm": "post_feedforward_layernorm",
}
# Further factors of scaled positions, which are 1 in most files.
_SCALES = ("attn_factor", "yarn_attn_factor", "yarn_ext_factor")
# Numbers that a Llama's rates of positions are divided by.
_RATES = "rope_freqs.weight"


@dataclass(frozen=True)
class _Architecture:
    """How llama.cpp has an architecture.

    Attributes:
        model_type: Its name in Hugging Face.
        layers: The names of a block's layers there and here.
        turned: Whether the two features of a head that positions turn together lie side by side.
        one_less: Whether Hugging Face's norms are stored without their 1.
        by_width: The number of blocks of the model whose scores are divided by the root of the
            width over the heads, and not of a head's width.
    """

    model_type: str
    layers: Mapping[str, str] = field(default_factory=lambda: _LAYERS)
    turned: bool = False
    one_less: bool = False
    by_width: int | None = None


_GEMMA = partial(_Architecture, one_less=True)
_ARCHITECTURES = {
    "llama": _Architecture("llama", turned=True),
    "qwen2": _Architecture("qwen2"),
    "qwen3": _Architecture("qwen3"),
    "gemma": _GEMMA("gemma"),
    "gemma2": _GEMMA("gemma2", _LAYERS | _BOTH_NORMS, by_width=46),
    "gemma3": _GEMMA("gemma3_text", _LAYERS | _BOTH_NORMS, by_width=62),
}


def find_gguf(path: Path) -> Path | None:
    """Returns the GGUF file that a path names, or that alone lies in a directory; None if none.

    Raises:
        ImportRefusedError: There are several.
    """
    if is_gguf(path):
        return path
    found = sorted(path.glob(f"*{SUFFIX}"))
    if len(found) > 1:
        raise ImportRefusedError(
            f"{path} holds several GGUF files, {', '.join(one.name for one in found[:3])}: name "
            "the one to import. Parts of a model are joined by `llama-gguf-split --merge`."
        )
    return found[0] if found else None


def read_gguf(path: Path) -> Imported:
    """Reads a file.

    Raises:
        ImportError: The package gguf is missing.
        ImportRefusedError: It is damaged, or its architecture, types of weights or vocabulary are
            not supported.
    """
    file = open_gguf(path)
    values = file.values
    name = values.text("general.architecture")
    if name not in _ARCHITECTURES:
        raise ImportRefusedError(
            f"{path} has the architecture {name!r}, and only {', '.join(_ARCHITECTURES)} are "
            "supported: import the model from Hugging Face's files."
        )
    if values.integer("split.count", 1) > 1:
        raise ImportRefusedError(
            f"{path} is a part of a model: join the parts by `llama-gguf-split --merge`."
        )
    architecture = _ARCHITECTURES[name]
    variant = {**LLAMAS, **GEMMAS}[architecture.model_type]
    fields = Fields(path, {**variant.defaults, **_fields(file, name, architecture)})
    tensors = _tensors(file, architecture, fields)
    tokenizer = read_vocabulary(values, fields)
    config = variant.config(fields, tokenizer.special_ids, tensors)
    return Imported(
        architecture.model_type,
        replace(config, starts_prompts=starts_prompts(values)),
        lambda model: list(variant.adapt(fields, variant.table(model, tensors))),
        tensors,
        (tokenizer, tokenizer),
        unread=(*variant.unread, _RATES),
        search=read_ends(values, tokenizer),
        chat=read_template(values),
    )


def _fields(file: Gguf, name: str, architecture: _Architecture) -> dict[str, Any]:
    """Returns the fields of the config."""
    values, tensors = file.values, file.tensors
    prefix = f"{name}."
    found = {
        theirs: values.values[prefix + ours]
        for ours, theirs in _FIELDS.items()
        if prefix + ours in values.values
    }
    heads = values.integer(f"{prefix}attention.head_count", least=1)
    width = values.integer(f"{prefix}embedding_length", least=1)
    head_dim = values.integer(f"{prefix}attention.key_length", width // heads)
    for other in ("attention.value_length", "rope.dimension_count"):
        if values.integer(prefix + other, head_dim) != head_dim:
            raise ImportRefusedError(
                f"{values.origin} has {prefix}{other}: {values[prefix + other]}, and only the "
                f"width of a head, {head_dim}, is supported."
            )
    by_width = values.integer(f"{prefix}block_count") == architecture.by_width
    return {
        **found,
        **_rope(file, prefix, found),
        **token_fields(values),
        "model_type": architecture.model_type,
        "head_dim": head_dim,
        "query_pre_attn_scalar": width // heads if by_width else head_dim,
        "vocab_size": len(values.sequence("tokenizer.ggml.tokens")),
        "tie_word_embeddings": "output.weight" not in tensors,
        "attention_bias": "blk.0.attn_q.bias" in tensors,
        "mlp_bias": "blk.0.ffn_gate.bias" in tensors,
    }


def _rope(file: Gguf, prefix: str, found: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the field of scaled rotary positions, if they are."""
    values, base = file.values, found.get("rope_theta", 10_000.0)
    if _RATES in file.tensors:
        factors = file.tensors[_RATES].tolist()
        lists = dict.fromkeys(("short_factor", "long_factor"), factors)
        kind = {"rope_type": "longrope", "attention_factor": 1.0, **lists}
        return {"rope_parameters": {**kind, "rope_theta": base}}
    scaling = f"{prefix}rope.scaling."
    for other in (f"{prefix}rope.scale_linear", *(scaling + one for one in _SCALES)):
        if values.number(other, 1.0) != 1:
            raise ImportRefusedError(f"{values.origin} has {other}, which is not supported.")
    kind_of = values.text(f"{scaling}type", "none")
    if kind_of == "none":
        return {}
    names = {"factor": "factor", "original_context_length": ORIGINAL_LENGTH}
    names |= {f"yarn_beta_{one}": f"beta_{one}" for one in ("fast", "slow")}
    given = {
        theirs: values.values[scaling + ours]
        for ours, theirs in names.items()
        if scaling + ours in values.values
    }
    return {"rope_scaling": {"rope_type": kind_of, **given}}


def _tensors(file: Gguf, architecture: _Architecture, fields: Fields) -> Tensors:
    """Returns the tensors under their names in Hugging Face, with its numbers."""
    return Tensors(dict(_named(file, architecture, fields)), file.tensors.origin)


def _named(
    file: Gguf, architecture: _Architecture, fields: Fields
) -> Iterator[tuple[str, Callable[[], Array]]]:
    heads = fields.integer("num_attention_heads", least=1)
    counts = {"q": heads, "k": fields.integer("num_key_value_heads", heads, least=1)}
    for theirs in file.tensors:
        read = partial(file.tensors.__getitem__, theirs)
        layer, _, part = theirs.rpartition(".")
        block, _, within = layer.removeprefix("blk.").partition(".")
        name = theirs
        if layer in _TOP:
            name = f"{_TOP[layer]}.{part}"
        elif layer.startswith("blk.") and within in architecture.layers:
            name = f"model.layers.{block}.{architecture.layers[within]}.{part}"
        if architecture.one_less and layer.endswith("norm"):
            read = partial(_less_one, read)
        elif architecture.turned and within in ("attn_q", "attn_k"):
            read = partial(_in_halves, read, counts[within[-1]])
        yield name, read


def _less_one(read: Callable[[], Array]) -> Array:
    with np.errstate(invalid="ignore"):  # NaN of a damaged file, which is refused later.
        return read() - np.float32(1)


def _in_halves(read: Callable[[], Array], heads: int) -> Array:
    """Returns outputs of queries or keys with the pairs in a head's halves, not side by side."""
    found = read()
    if found.shape[0] % (2 * heads):
        return found  # Of another shape than the weight, which is refused.
    pairs = found.reshape(heads, -1, 2, *found.shape[1:])
    return np.ascontiguousarray(np.swapaxes(pairs, 1, 2)).reshape(found.shape)
