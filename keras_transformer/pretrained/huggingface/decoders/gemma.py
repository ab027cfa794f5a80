"""Gemma (Mesnard et al. 2024), a Llama with GEGLU, scaled embeddings and norms that are stored
without their 1; Gemma 2 (Riviere et al. 2024), whose blocks have windows in turn with the whole
text, norms on both sides of each sub-layer, and soft caps; and Gemma 3 (Kamath et al. 2025), which
has norms of queries and keys instead of the caps.
"""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from keras_transformer.config.decoder_only import DecoderConfig
from keras_transformer.config.special_ids import SpecialIds
from keras_transformer.pretrained.errors import ImportRefusedError
from keras_transformer.pretrained.huggingface.decoders.common import shortest_turn
from keras_transformer.pretrained.huggingface.decoders.llama import (
    LLAMA,
    changed,
    llama_config,
    llama_table,
)
from keras_transformer.pretrained.huggingface.decoders.rope import read_rope
from keras_transformer.pretrained.huggingface.fields import Fields
from keras_transformer.pretrained.tensor_files import Tensors
from keras_transformer.pretrained.values import FileValues
from keras_transformer.pretrained.weight_table import Array, Entry

SLIDING, FULL = "sliding_attention", "full_attention"


def gemma_config(fields: Fields, special_ids: SpecialIds, tensors: Tensors) -> DecoderConfig:
    """Returns the config of a Gemma.

    The first files name the exact GELU, which the models were not trained with.
    """
    fields.require(use_bidirectional_attention=False)
    theirs = fields.get("hidden_activation", fields.get("hidden_act", "gelu"))
    activation = "gelu_pytorch_tanh" if theirs == "gelu" else theirs
    config = llama_config(changed(fields, hidden_act=activation), special_ids, tensors)
    return replace(config, scale_embeddings=True)


def gemma2_config(fields: Fields, special_ids: SpecialIds, tensors: Tensors) -> DecoderConfig:
    """Returns the config of a Gemma 2."""
    window = {"window": fields.integer("sliding_window", least=1)}
    scores, logits = (
        None if fields.get(name, None) is None else fields.number(name)
        for name in ("attn_logit_softcapping", "final_logit_softcapping")
    )
    return replace(
        gemma_config(changed(fields, sliding_window=None), special_ids, tensors),
        norm="both",
        block_pattern=_in_turn(fields, window),
        attention_soft_cap=scores,
        final_logit_soft_cap=logits,
    )


def gemma3_config(fields: Fields, special_ids: SpecialIds, tensors: Tensors) -> DecoderConfig:
    """Returns the config of a Gemma 3 of text alone."""
    fields.require(attn_logit_softcapping=None, final_logit_softcapping=None)
    full, sliding = _rotary_options(fields)
    window = {"window": fields.integer("sliding_window", least=1)}
    window |= {name: one for name, one in sliding.items() if full.get(name) != one}
    plain = changed(fields, rope_parameters=None, rope_scaling=None, sliding_window=None)
    return replace(
        gemma_config(plain, special_ids, tensors),
        norm="both",
        query_key_norm=True,
        block_pattern=_in_turn(fields, window),
        **full,
    )


def _rotary_options(fields: Fields) -> tuple[dict[str, Any], dict[str, Any]]:
    """Returns those of blocks without and with a window, which older files name apart."""
    given, width = (
        fields.mapping("rope_parameters", FileValues(fields.path, {})),
        fields["head_dim"],
    )
    local = fields.number("rope_local_base_freq")
    near = changed(fields, rope_theta=local, rope_parameters=None, rope_scaling=None)
    is_apart = FULL in given.values or SLIDING in given.values
    full, sliding = (
        read_rope(one, width, given.mapping(kind) if is_apart else None)
        for one, kind in ((fields, FULL), (near, SLIDING))
    )
    unscaled = {"rotary_scaling": None} if "rotary_scaling" in full else {}
    return full, unscaled | sliding


def _in_turn(fields: Fields, window: dict[str, Any]) -> tuple[dict[str, Any], ...]:
    """Returns the pattern of blocks of which some have a window, with its options."""
    count = fields.integer("num_hidden_layers", least=1)
    every = fields.integer("sliding_window_pattern", 6, least=1)
    usual = [FULL if (place + 1) % every == 0 else SLIDING for place in range(count)]
    kinds = fields.sequence("layer_types", usual)
    if len(kinds) != count or any(kind not in (SLIDING, FULL) for kind in kinds):
        raise ImportRefusedError(
            f"{fields.path} must name {SLIDING} or {FULL} in layer_types for each of the {count} "
            f"blocks, has {kinds!r}."
        )
    return tuple(window if kind == SLIDING else {} for kind in shortest_turn(kinds))


@dataclass(frozen=True)
class OnePlus(Entry):
    """The weight of a norm whose tensor holds what it has beyond 1."""

    def read(self, tensor: Array) -> Array:
        """Returns the tensor's values and 1."""
        return super().read(tensor) + np.float32(self.factor)

    def write(self, rows: int | None = None) -> Array:
        """Returns what the weight has beyond 1."""
        return super().write(rows) - np.float32(1)


def gemma_table(model: Any, tensors: Tensors) -> Iterator[Entry]:
    """Yields the entries of a Gemma."""
    return llama_table(model, tensors, lambda layer, name: [OnePlus(layer.gamma, f"{name}.weight")])


def scaled_queries(fields: Fields, entries: Iterable[Entry]) -> Iterator[Entry]:
    """Yields the entries of a Gemma whose scores are not divided by the root of a head's width.

    The largest ones of Gemma 2 and 3 have a number of their own, for which queries make up.
    """
    width = fields.integer("head_dim", least=1)
    scalar = fields.number("query_pre_attn_scalar", float(width))
    if not scalar > 0:
        raise ImportRefusedError(
            f"{fields.path}: query_pre_attn_scalar must be positive, is {scalar}."
        )
    found = list(entries)
    last = "attn.q_norm.weight"
    if not any(entry.name.endswith(last) for entry in found):
        last = "attn.q_proj.weight"
    for entry in found:
        is_last = entry.name.endswith(last)
        yield replace(entry, factor=math.sqrt(width / scalar)) if is_last else entry


def _text_name(name: str) -> str:
    """Returns the name that a tensor has in a model of text alone."""
    for beside in ("model.language_model.", "language_model.model.", "language_model."):
        if name.startswith(beside):
            return ("" if beside == "language_model." else "model.") + name.removeprefix(beside)
    return name


_GEMMA = replace(
    LLAMA,
    config=gemma_config,
    table=gemma_table,
    defaults={
        "bos_token_id": 2,
        "eos_token_id": 1,
        "pad_token_id": 0,
        "head_dim": 256,
        "tie_word_embeddings": True,
    },
)
_LATER = replace(_GEMMA, adapt=scaled_queries)
_IN_TURN = {
    **_GEMMA.defaults,
    "hidden_activation": "gelu_pytorch_tanh",
    "num_attention_heads": 8,
    "num_key_value_heads": 4,
    "query_pre_attn_scalar": 256,
    "sliding_window": 4096,
}
_GEMMA3 = replace(
    _LATER,
    config=gemma3_config,
    defaults={
        **_IN_TURN,
        "rope_local_base_freq": 10_000.0,
        "rope_theta": 1_000_000.0,
    },
)
_OF_IMAGES = tuple(
    f"{beside}{part}."
    for beside in ("", "model.")
    for part in ("vision_tower", "multi_modal_projector")
)
# By `model_type`.
GEMMAS = {
    "gemma": _GEMMA,
    "gemma2": replace(
        _LATER,
        config=gemma2_config,
        defaults={
            **_IN_TURN,
            "attn_logit_softcapping": 50.0,
            "final_logit_softcapping": 30.0,
            "sliding_window_pattern": 2,
        },
    ),
    "gemma3_text": _GEMMA3,
    # With images, of which nothing is read.
    "gemma3": replace(
        _GEMMA3,
        defaults={**_GEMMA3.defaults, "vocab_size": 262_208},
        part="text_config",
        rename=_text_name,
        unread=(*_GEMMA3.unread, *_OF_IMAGES),
    ),
}
