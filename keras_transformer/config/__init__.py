"""The description of a model as frozen, validated values. Names load on first use: an artefact of a
translator is opened without them.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from keras_transformer.config.block_options import BlockOptions
    from keras_transformer.config.positions.relative_bias import RelativeBiasConfig
    from keras_transformer.config.positions.rotary import RotaryConfig, RotaryScalingConfig
    from keras_transformer.config.special_ids import SpecialIds
    from keras_transformer.config.stack import (
        AttentionConfig,
        BlockConfig,
        FeedForwardConfig,
        NormConfig,
        RecurrenceConfig,
        SharingConfig,
        StackConfig,
    )
    from keras_transformer.config.transformer import PRESETS, TransformerConfig

__all__ = [
    "PRESETS",
    "AttentionConfig",
    "BlockConfig",
    "BlockOptions",
    "FeedForwardConfig",
    "NormConfig",
    "RecurrenceConfig",
    "RelativeBiasConfig",
    "RotaryConfig",
    "RotaryScalingConfig",
    "SharingConfig",
    "SpecialIds",
    "StackConfig",
    "TransformerConfig",
]

_HOMES = {
    "PRESETS": "transformer",
    "AttentionConfig": "stack",
    "BlockConfig": "stack",
    "BlockOptions": "block_options",
    "FeedForwardConfig": "stack",
    "NormConfig": "stack",
    "RecurrenceConfig": "stack",
    "RelativeBiasConfig": "positions.relative_bias",
    "RotaryConfig": "positions.rotary",
    "RotaryScalingConfig": "positions.rotary",
    "SharingConfig": "stack",
    "SpecialIds": "special_ids",
    "StackConfig": "stack",
    "TransformerConfig": "transformer",
}


def __getattr__(name: str) -> Any:
    """Imports the public name `name` from the module that defines it."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
