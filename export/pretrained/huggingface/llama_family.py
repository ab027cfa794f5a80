"""Decoders of Llama's form with a difference of their own, as Hugging Face has them."""

from typing import Any

from keras_transformer.export.pretrained.huggingface.decoders import of_llama
from keras_transformer.export.pretrained.outgoing import Outgoing


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


NO_POSITIONS = {"rotary_base": None}
LLAMA_FAMILY = (
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
