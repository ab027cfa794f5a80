"""What a model gives for a word, by its config alone."""

from typing import Literal

from keras_transformer.config.embedding import FeatureConfig
from keras_transformer.config.encoder_only import EncoderConfig
from keras_transformer.config.families import ModelConfig
from keras_transformer.config.transformer import TransformerConfig

FeatureLayers = Literal["all", "last"]


def feature_config(config: ModelConfig, layers: FeatureLayers) -> FeatureConfig:
    """Returns how many layers and features a word's states have.

    Args:
        config: The model's.
        layers: "all" for the embeddings and each block, "last" for the last block.

    Raises:
        ValueError: The model itself reads features of others.
    """
    if isinstance(config, EncoderConfig) and config.features:
        raise ValueError(
            "a model that reads features of other runs cannot give features: give those runs."
        )
    stack = config.encoder if isinstance(config, TransformerConfig) else config.stack
    return FeatureConfig(
        num_layers=stack.num_layers + 1 if layers == "all" else 1, width=config.model_dim
    )
