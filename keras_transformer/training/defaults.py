"""How a translation is trained unless told otherwise: takes what it starts from and its size, and
returns options.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from keras_transformer.training.run.model_config import DEFAULT_PRESET
from keras_transformer.training.run.options import TrainOptions
from keras_transformer.training.run.run_directory import RunDirectory


def default_options(
    begun: RunDirectory | None,
    preset: str | None,
    *,
    has_valid: bool,
    has_general: bool = False,
    is_text: bool = True,
    own: Mapping[str, Any] = MappingProxyType({}),
) -> TrainOptions:
    """Returns the recipe of a preset, or that of fine-tuning a translation.

    Args:
        begun: The finished run that the weights are from, of any family; None for random ones.
        preset: The size; the default one if None.
        has_valid: As for `TrainOptions.for_fine_tuning`, as is the next.
        has_general: Whether general text is mixed in.
        is_text: Whether the corpus is text, and not prepared.
        own: What replaces the preset's recipe; a fine-tuning's stays.
    """
    if begun is not None and begun.is_translation:
        config: Any = begun.load_config()
        return TrainOptions.for_fine_tuning(
            config, has_valid=has_valid, has_general=has_general, is_text=is_text
        )
    return TrainOptions.preset(preset or DEFAULT_PRESET, **own)
