"""Sentence Transformers' cross-encoders (Reimers and Gurevych 2019): classifiers of pairs of texts
with one number, and what that library applies to it, as fields of our config.
"""

from pathlib import Path
from typing import Any

from keras_transformer.config.encoder_only import ValueActivation
from keras_transformer.pretrained.errors import ImportRefusedError
from keras_transformer.pretrained.huggingface.fields import Fields
from keras_transformer.pretrained.huggingface.languages import read_values
from keras_transformer.pretrained.sentence_transformers import PROMPTS, row_limit
from keras_transformer.pretrained.values import FileValues

# PyTorch's classes.
SIGMOID = "Sigmoid"
VALUE_ACTIVATIONS: dict[str, ValueActivation] = {"Identity": "linear", SIGMOID: "sigmoid"}
# A value of the file of prompts, and the fields of `config.json`: since version 4, and before.
CROSS_ENCODER, SECTION, ACTIVATION = "CrossEncoder", "sentence_transformers", "activation_fn"
_OLDER = "sbert_ce_default_activation_function"


def is_cross_encoder(path: Path) -> bool:
    """Whether a directory's modules score pairs of texts, and make no vectors."""
    return read_values(path / PROMPTS).get("model_type", None) == CROSS_ENCODER


def read_cross_encoder(path: Path, fields: Fields, most: int | None) -> dict[str, Any]:
    """Returns the fields of `EncoderConfig` that say how a number is given to a pair of texts.

    Where no file names an activation the number is what the model's head gives; Sentence
    Transformers, not transformers, then takes its sigmoid, which changes no order.

    Args:
        path: The directory.
        fields: Its `config.json`.
        most: Most tokens of a row that the model itself reads; None for any number.

    Raises:
        ImportRefusedError: A file is damaged, or names an activation or a prompt that is not
            supported.
    """
    own = read_values(path / PROMPTS)
    if is_cross_encoder(path) and own.text("default_prompt_name", None):
        raise ImportRefusedError(
            f"{own.origin} puts the prompt {own['default_prompt_name']!r} before texts, which is "
            "not supported for cross-encoders."
        )
    section = fields.mapping(SECTION, FileValues(fields.path, {}))
    found = own.text(ACTIVATION, None) if is_cross_encoder(path) else None
    told = section.text(ACTIVATION, None) or fields.text(_OLDER, None) or found
    name = (told or "Identity").rpartition(".")[2]
    if name not in VALUE_ACTIVATIONS:
        raise ImportRefusedError(
            f"{fields.path} is of a cross-encoder with the activation {told}, and "
            f"{' and '.join(VALUE_ACTIVATIONS)} are supported."
        )
    return {"value_activation": VALUE_ACTIVATIONS[name], **row_limit(path, most)}
