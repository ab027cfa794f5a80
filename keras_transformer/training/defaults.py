"""The recipe of a translation whose options are left open, by what it starts from and by
its size.
"""

from typing import Any

from keras_transformer.config.checks import check_choice
from keras_transformer.runs.run_directory import RunDirectory
from keras_transformer.training.recipes import RECIPES, Recipe, fine_tuning
from keras_transformer.training.run.model_config import DEFAULT_PRESET


def default_recipe(
    begun: RunDirectory | None,
    preset: str | None,
    *,
    has_general: bool = False,
    is_text: bool = True,
) -> Recipe:
    """Returns the recipe of a preset, or that of fine-tuning a translation.

    Args:
        begun: The finished run that the weights are from, of any family; None for random ones.
        preset: The size; the default one if None.
        has_general: Whether general text is mixed in.
        is_text: Whether the corpus is text, and not prepared.
    """
    if begun is not None and begun.is_translation:
        config: Any = begun.load_config()
        return fine_tuning(config, has_general=has_general, is_text=is_text)
    preset = preset or DEFAULT_PRESET
    check_choice("preset", preset, RECIPES)
    return RECIPES[preset]
