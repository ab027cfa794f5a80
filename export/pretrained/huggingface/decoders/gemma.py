"""Gemma, Gemma 2 and Gemma 3 as Hugging Face has them."""

import dataclasses
from collections.abc import Sequence
from typing import Any

from keras_transformer.export.pretrained.huggingface.decoders.llama import of_llama
from keras_transformer.export.pretrained.outgoing import Outgoing
from keras_transformer.pretrained.huggingface.decoders.gemma import FULL, SLIDING, gemma_table
from keras_transformer.pretrained.huggingface.decoders.rope import rope_fields, rope_parameters

_FORM: dict[str, Any] = {
    "activation": ("gelu_tanh",),
    "scale_embeddings": (True,),
    "tied_head": (True,),
}


def _in_turn(
    config: Any, layers: Sequence[Any], name: str, **parts: bool
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Returns fields of blocks of which some have a window, and rotary positions of either kind.

    Args:
        config: The model's.
        layers: The blocks of one of its stacks.
        name: The architecture's.
        **parts: What the stack's blocks have beside the config's options, as for `block`.

    Raises:
        ValueError: Blocks differ by more than one window and the rotary base of those that have it.
    """
    places = [(block.own.window, block.own.rotary) for block in layers]
    full = {rotary for window, rotary in places if window is None}
    sliding = {place for place in places if place[0] is not None}
    alike = {
        dataclasses.replace(block, own=dataclasses.replace(block.own, window=None, rotary=None))
        # What the config says of all blocks is written, so none may have it otherwise.
        for block in (config.block(**parts), *layers)
    }
    if max(map(len, (alike, full, sliding))) > 1 or None in {rotary for _, rotary in places}:
        raise ValueError(
            f"{name} needs blocks that differ by one window and the rotary_base of those that have "
            f"it, got block_pattern={config.block_pattern!r}."
        )
    window, near = next(iter(sliding), (1, *full))
    rotary = {SLIDING: near, FULL: next(iter(full), near)}
    fields = {
        "hidden_activation": "gelu_pytorch_tanh",
        "layer_types": [FULL if window is None else SLIDING for window, _ in places],
        "query_pre_attn_scalar": config.key_dim,
        "sliding_window": window,
    }
    return fields, rotary


def _gemma2_fields(outgoing: Outgoing) -> dict[str, Any]:
    """Returns the fields of a Gemma 2 that a Llama has not.

    Raises:
        ValueError: Blocks differ by more than one window.
    """
    return gemma2_blocks(outgoing.config, outgoing.config.stack.layers, "Gemma2ForCausalLM")


def gemma2_blocks(config: Any, layers: Sequence[Any], name: str, **parts: bool) -> dict[str, Any]:
    """Returns the fields of a stack of Gemma 2's blocks that a Llama's has not; see `_in_turn`.

    Raises:
        ValueError: Blocks differ by more than one window.
    """
    fields, rotary = _in_turn(config, layers, name, **parts)
    near, full = rotary[SLIDING], rotary[FULL]
    if near != full:
        raise ValueError(
            f"{name} needs one rotary_base in all blocks, got {near.base} in those with a window "
            f"and {full.base} in the others."
        )
    return {
        **fields,
        **rope_fields(full, config.key_dim),
        "attn_logit_softcapping": config.attention_soft_cap,
        "final_logit_softcapping": config.final_logit_soft_cap,
    }


def _gemma3_fields(outgoing: Outgoing) -> dict[str, Any]:
    """Returns the fields of a Gemma 3 that a Llama has not; raises as `_in_turn` does."""
    config: Any = outgoing.config
    fields, rotary = _in_turn(config, config.stack.layers, "Gemma3ForCausalLM")
    width = config.key_dim
    return {
        **fields,
        **rope_fields(rotary[FULL], width),
        "rope_parameters": {kind: rope_parameters(one, width) for kind, one in rotary.items()},
        # Older versions read this.
        "rope_local_base_freq": rotary[SLIDING].base,
    }


GEMMAS = (
    of_llama("GemmaForCausalLM", "gemma", gemma_table, **_FORM),
    of_llama(
        "Gemma2ForCausalLM",
        "gemma2",
        gemma_table,
        _gemma2_fields,
        attention_soft_cap=None,
        block_pattern=None,
        final_logit_soft_cap=None,
        norm=("both",),
        window=None,
        **_FORM,
    ),
    of_llama(
        "Gemma3ForCausalLM",
        "gemma3_text",
        gemma_table,
        _gemma3_fields,
        block_pattern=None,
        norm=("both",),
        query_key_norm=(True,),
        window=None,
        **_FORM,
    ),
)
