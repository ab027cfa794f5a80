"""Checks of the config in a manifest: values that no runtime could work with are refused."""

from collections.abc import Mapping
from typing import Any

from keras_transformer.config.family import ENCODER_DECODER, family_of
from keras_transformer.config.sentence_marks import SentenceMarks
from keras_transformer.config.special_ids import SpecialIds

# What else is read to tell how much memory a search takes; each of the first may be null.
_SIZES = ("max_positions", "num_key_value_heads", "key_dim", "value_dim")
_LAYERS = ("num_layers", "num_encoder_layers", "num_decoder_layers")
# Far above any model's.
_LARGEST = 1 << 24


def check_config(config: Mapping[str, Any], special_ids: SpecialIds) -> None:
    """Checks the fields that are read when an artefact runs.

    Those of a translation model that only the graphs know stay unread: a later version of this
    package may give them other values.

    Raises:
        ValueError: A field is missing, of the wrong kind or out of range; the message names it.
    """
    family = family_of(config)
    names = family.vocabulary_fields
    for name, side in zip(names, family.tokenizers, strict=True):
        _check_size(config, name, f", the number of {side} ids")
    vocabulary = min(config[name] for name in names)
    if special_ids.highest >= vocabulary:
        raise ValueError(
            f"special_ids names the id {special_ids.highest}, but the smallest vocabulary has the "
            f"ids 0 to {vocabulary - 1}."
        )
    is_translator = family is ENCODER_DECODER
    if not is_translator:
        try:
            family.load("config").from_dict(dict(config))
        except TypeError as error:
            raise ValueError(f"config: {error}") from error
    for name in ("model_dim", "feed_forward_dim", "num_heads"):
        _check_size(config, name)
    for name in (*_SIZES, *_LAYERS):
        if config.get(name) is not None or (name in _LAYERS and name in config):
            _check_size(config, name)
    if is_translator:
        _check_marks(config, vocabulary)


def _check_marks(config: Mapping[str, Any], vocabulary: int) -> None:
    try:
        ids = SentenceMarks(**config.get("marks", {})).ids
    except (TypeError, AttributeError) as error:
        raise ValueError(f"config has marks of the wrong kind: {error}.") from error
    if max(ids, default=0) >= vocabulary:
        raise ValueError(
            f"config has marks with the id {max(ids)}, but the smallest vocabulary has the ids 0 "
            f"to {vocabulary - 1}."
        )


def _check_size(config: Mapping[str, Any], name: str, meaning: str = "") -> None:
    size = config.get(name)
    if isinstance(size, bool) or not isinstance(size, int) or not 1 <= size <= _LARGEST:
        raise ValueError(
            f"config must give {name}{meaning}, an integer in 1 to {_LARGEST}, got {size!r}."
        )
