"""Gemma and Gemma 3 as Hugging Face has them."""

import dataclasses
from typing import Any

from keras_transformer.export.pretrained.huggingface.decoders import of_llama
from keras_transformer.export.pretrained.outgoing import Outgoing
from keras_transformer.pretrained.huggingface.decoders.gemma import FULL, SLIDING, gemma_table

_FORM: dict[str, Any] = {
    "activation": ("gelu_tanh",),
    "scale_embeddings": (True,),
    "tied_head": (True,),
}


def _gemma3_fields(outgoing: Outgoing) -> dict[str, Any]:
    """Returns the fields of a Gemma 3 that a Llama has not.

    Raises:
        ValueError: Blocks differ by more than one window and the rotary base of those that have it.
    """
    layers: Any = outgoing.config.stack.layers
    places = [(block.own.window, block.own.rotary) for block in layers]
    full = {rotary for window, rotary in places if window is None}
    sliding = {place for place in places if place[0] is not None}
    alike = {
        dataclasses.replace(block, own=dataclasses.replace(block.own, window=None, rotary=None))
        for block in layers
    }
    if max(map(len, (alike, full, sliding))) > 1 or None in {rotary for _, rotary in places}:
        raise ValueError(
            "Gemma3ForCausalLM needs blocks that differ by one window and the rotary_base of those "
            f"that have it, got block_pattern={outgoing.config.block_pattern!r}."
        )
    window, near = next(iter(sliding), (1, *full))
    bases = {SLIDING: near.base, FULL: next(iter(full), near).base}
    return {
        "hidden_activation": "gelu_pytorch_tanh",
        "layer_types": [FULL if window is None else SLIDING for window, _ in places],
        "query_pre_attn_scalar": outgoing.config.key_dim,
        "rope_parameters": {
            kind: {"rope_type": "default", "rope_theta": base} for kind, base in bases.items()
        },
        # Older versions read these.
        "rope_theta": bases[FULL],
        "rope_local_base_freq": bases[SLIDING],
        "sliding_window": window,
    }


GEMMAS = (
    of_llama("GemmaForCausalLM", "gemma", gemma_table, **_FORM),
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
