"""Configs of the three families from their plain values, which name the family."""

import json
from pathlib import Path
from typing import Any

from keras_transformer.config.decoder_only import DecoderConfig
from keras_transformer.config.encoder_only import EncoderConfig
from keras_transformer.config.family import family_of
from keras_transformer.config.transformer import TransformerConfig

ModelConfig = TransformerConfig | EncoderConfig | DecoderConfig

# The names of a model's files in a directory.
CONFIG = "config.json"
MODEL = "model.keras"


def config_from_dict(values: dict[str, Any]) -> ModelConfig:
    """Builds a config from its `to_dict`'s result.

    Raises:
        ValueError: The family or a field is unknown, or a value is out of range.
    """
    config: ModelConfig = config_class(values).from_dict(values)
    return config


def config_class(values: dict[str, Any]) -> Any:
    """Returns the class of the config whose plain values these are.

    Raises:
        ValueError: The family is unknown.
    """
    return family_of(values).load("config")


def load_config(path: str | Path) -> ModelConfig:
    """Reads a config from a JSON file.

    Raises:
        OSError: The file cannot be read.
        ValueError: It is no JSON object in UTF-8, or as for `config_from_dict`; the message names
            the file.
    """
    content = Path(path).read_bytes()
    try:
        values = json.loads(content)
        if not isinstance(values, dict):
            raise ValueError(f"expected a JSON object, got {type(values).__name__}.")
        return config_from_dict(values)
    except (ValueError, TypeError, RecursionError) as error:
        raise ValueError(f"{path}: {error}") from error
