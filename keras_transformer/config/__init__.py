"""The description of a model as frozen, validated values."""

from keras_transformer.config.block_options import BlockOptions
from keras_transformer.config.special_ids import SpecialIds
from keras_transformer.config.stack import (
    AttentionConfig,
    BlockConfig,
    FeedForwardConfig,
    NormConfig,
    RecurrenceConfig,
    RelativeBiasConfig,
    RotaryConfig,
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
    "SharingConfig",
    "SpecialIds",
    "StackConfig",
    "TransformerConfig",
]
