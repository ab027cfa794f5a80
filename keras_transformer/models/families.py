"""Builds the model of any family from its config."""

from typing import Any, TypeAlias

from keras_transformer.config.decoder_only import DecoderConfig
from keras_transformer.config.encoder_only import EncoderConfig
from keras_transformer.config.families import ModelConfig
from keras_transformer.models.decoder_only import DecoderOnly, build_decoder
from keras_transformer.models.encoder_only import EncoderOnly, build_encoder
from keras_transformer.models.transformer import Transformer, build_transformer

AnyModel: TypeAlias = Transformer | EncoderOnly | DecoderOnly


# What reads and writes texts with a live model of each family.
_PIPELINES = {Transformer: "Translator", EncoderOnly: "TextEncoder", DecoderOnly: "Generator"}


def require_model(model: Any, family: type) -> None:
    """Checks that a model is of the family that a pipeline is for.

    Args:
        model: What was given.
        family: The class that it must be of.

    Raises:
        TypeError: It is of another; the message names the pipeline for it.
    """
    if isinstance(model, family):
        return
    other = next((name for kind, name in _PIPELINES.items() if isinstance(model, kind)), None)
    remedy = f"open it with {other}" if other else "give what build_… or load_run returned"
    raise TypeError(
        f"{_PIPELINES[family]} needs a {family.__name__} model, got {type(model).__name__}: "
        f"{remedy}."
    )


def build_model(config: ModelConfig, dtype_policy: str | None = None) -> AnyModel:
    """Builds the model that a config of any family describes.

    Args:
        config: Sizes and choices.
        dtype_policy: Keras dtype policy, such as "mixed_bfloat16"; the global one if None.
    """
    if isinstance(config, EncoderConfig):
        return build_encoder(config, dtype_policy)
    if isinstance(config, DecoderConfig):
        return build_decoder(config, dtype_policy)
    return build_transformer(config, dtype_policy)
