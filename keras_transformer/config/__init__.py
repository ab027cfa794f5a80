"""The description of a model as frozen, validated values."""

from keras_transformer.config.special_ids import SpecialIds
from keras_transformer.config.stack import StackConfig
from keras_transformer.config.transformer import PRESETS, TransformerConfig

__all__ = ["PRESETS", "SpecialIds", "StackConfig", "TransformerConfig"]
