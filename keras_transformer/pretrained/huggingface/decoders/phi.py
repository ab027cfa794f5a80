"""Phi-3 and Phi-4-mini (Abdin et al. 2024), Llamas whose files pack the projections of attention
into one tensor and those of feed-forward into another, and which may turn a part of each head.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from keras_transformer.config.decoder_only import DecoderConfig
from keras_transformer.config.special_ids import SpecialIds
from keras_transformer.pretrained.huggingface.decoders.llama import (
    LLAMA,
    changed,
    llama_config,
    llama_table,
)
from keras_transformer.pretrained.huggingface.fields import Fields
from keras_transformer.pretrained.tensor_files import Tensors
from keras_transformer.pretrained.weight_table import Entry


def phi3_config(fields: Fields, special_ids: SpecialIds, tensors: Tensors) -> DecoderConfig:
    """Returns the config of a Phi-3."""
    config = llama_config(changed(fields, sliding_window=None), special_ids, tensors)
    window = fields.integer("sliding_window", None, least=1)
    return replace(config, window=window, dropout=fields.number("resid_pdrop", 0.0))


def phi3_table(model: Any, tensors: Tensors) -> Iterator[Entry]:
    """Yields the entries of a Phi-3, of which some are parts of one tensor."""
    config = model.config
    keys = config.key_value_heads * config.key_dim
    sizes = (config.num_heads * config.key_dim, keys, keys)
    packed: dict[str, tuple[str, int, int | tuple[int, ...]]] = {
        **{f"{name}_proj": ("qkv_proj", part, sizes) for part, name in enumerate("qkv")},
        "gate_proj": ("gate_up_proj", 0, 2),
        "up_proj": ("gate_up_proj", 1, 2),
    }
    for entry in llama_table(model, tensors):
        *layers, name, kind = entry.name.split(".") if entry.name else ("", "")
        if name in packed:
            name, part, parts = packed[name]
            entry = replace(entry, name=".".join([*layers, name, kind]), part=part, parts=parts)
        yield entry


# By `model_type`.
PHIS = {
    "phi3": replace(
        LLAMA,
        config=phi3_config,
        table=phi3_table,
        defaults={
            "bos_token_id": 1,
            "eos_token_id": 32_000,
            "pad_token_id": 32_000,
            "rms_norm_eps": 1e-5,
            "max_position_embeddings": 4096,
            "original_max_position_embeddings": 4096,
        },
    ),
}
