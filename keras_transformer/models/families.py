"""Builds the model of any family from its config."""

from typing import Any, TypeAlias

from keras_transformer.config.families import ModelConfig
from keras_transformer.config.family import FAMILIES
from keras_transformer.models.decoder_only import DecoderOnly
from keras_transformer.models.encoder_only import EncoderOnly
from keras_transformer.models.family_model import FamilyModel
from keras_transformer.models.transformer import Transformer

AnyModel: TypeAlias = Transformer | EncoderOnly | DecoderOnly


def require_model(model: Any, family: type[FamilyModel]) -> None:
    """Checks that a model is of the family that a pipeline is for.

    Args:
        model: What was given.
        family: The class that it must be of.

    Raises:
        TypeError: It is of another; the message names the pipeline for it.
    """
    if isinstance(model, family):
        return
    wanted = family.config_class.family
    given = FAMILIES[model.config.family].name_of("pipeline") if isinstance(model, AnyModel) else ""
    remedy = f"open it with {given}" if given else "give what build_… or load_run returned"
    raise TypeError(
        f"{FAMILIES[wanted].name_of('pipeline')} needs a {family.__name__} model, got "
        f"{type(model).__name__}: {remedy}."
    )


def build_model(config: ModelConfig, dtype_policy: str | None = None) -> AnyModel:
    """Builds the model that a config of any family describes.

    Args:
        config: Sizes and choices.
        dtype_policy: Keras dtype policy, such as "mixed_bfloat16"; the global one if None.
    """
    model: AnyModel = FAMILIES[config.family].load("build")(config, dtype_policy)
    return model
