"""Decoders of Llama's form with a difference of their own, as Hugging Face has them."""

from typing import Any

from keras_transformer.export.pretrained.huggingface.decoders.llama import QKV_BIASES, of_llama
from keras_transformer.export.pretrained.outgoing import Outgoing
from keras_transformer.pretrained.huggingface.decoders.phi import phi3_table
from keras_transformer.pretrained.huggingface.decoders.rope import ORIGINAL_LENGTH


def _smollm3_fields(outgoing: Outgoing) -> dict[str, Any]:
    """Returns the fields of a SmolLM 3 that a Llama has not.

    Raises:
        ValueError: Blocks differ by more than whether they know positions.
    """
    config: Any = outgoing.config
    own, kinds = config.block(), [block.own.rotary for block in config.stack.layers]
    others = [options for options in config.block_pattern if options not in ({}, NO_POSITIONS)]
    if others or not any(kinds):
        raise ValueError(
            "SmolLM3ForCausalLM needs blocks that differ by rotary_base=None alone, got "
            f"block_pattern={config.block_pattern!r}."
        )
    return {"no_rope_layers": [int(kind == own.own.rotary) for kind in kinds]}


def _phi3_fields(outgoing: Outgoing) -> dict[str, Any]:
    """Returns the fields of a Phi-3 that a Llama has not.

    Raises:
        ValueError: Angles are scaled in a way that a Phi-3 does not know.
    """
    scaling = outgoing.config.rotary_scaling
    if scaling is not None and scaling["kind"] != "longrope":
        raise ValueError(
            "Phi3ForCausalLM needs rotary_scaling=None or of the kind 'longrope', got "
            f"{scaling['kind']!r}."
        )
    original = {} if scaling is None else {ORIGINAL_LENGTH: scaling["original_length"]}
    return {"resid_pdrop": outgoing.config.dropout, **original}


def _stablelm_fields(outgoing: Outgoing) -> dict[str, Any]:
    config: Any = outgoing.config
    return {"layer_norm_eps": config.layer_norm_epsilon, "use_qkv_bias": config.use_bias}


_NO_OR_QKV_BIASES: tuple[dict[str, Any], ...] = ({}, QKV_BIASES)
NO_POSITIONS = {"rotary_base": None}
LLAMA_FAMILY = (
    of_llama(
        "Phi3ForCausalLM",
        "phi3",
        phi3_table,
        _phi3_fields,
        window=None,
        rotary_width=None,
    ),
    of_llama(
        "Olmo2ForCausalLM",
        "olmo2",
        norm=("output",),
        query_key_norm=(True,),
        query_key_norm_over=("all_heads",),
    ),
    *(
        of_llama(
            "StableLmForCausalLM",
            "stablelm",
            more=_stablelm_fields,
            norm_kind=("layer_norm",),
            rotary_width=None,
            **biases,
        )
        for biases in _NO_OR_QKV_BIASES
    ),
    of_llama(
        "SmolLM3ForCausalLM",
        "smollm3",
        more=_smollm3_fields,
        use_bias=None,
        attention_bias=None,
        feed_forward_bias=None,
        block_pattern=None,
    ),
)
