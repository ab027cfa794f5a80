"""The config of the model to train, of a preset, fields to override and the vocabularies. Needs
neither Keras nor a corpus, so that invalid settings are reported before any work.
"""

from typing import Any

from keras_transformer.config import SpecialIds, TransformerConfig
from keras_transformer.text.tokenizer import Tokenizer, shared_special_ids

DEFAULT_PRESET = "tiny"


def vocabulary_of(source: Tokenizer, target: Tokenizer) -> tuple[tuple[int, int], bool, SpecialIds]:
    """Returns the vocabulary sizes of source and target, whether they are one, and special ids.

    Raises:
        ValueError: The special ids of both differ.
    """
    sizes = (source.vocab_size, target.vocab_size)
    return sizes, source is target, shared_special_ids(source, target)


def model_config(
    preset: str,
    overrides: dict[str, Any] | None,
    vocab_sizes: tuple[int, int],
    joint_vocabulary: bool,
    special_ids: SpecialIds,
    *,
    max_length: int,
) -> TransformerConfig:
    """Returns the config of a run's model.

    Args:
        preset: A size that `TransformerConfig.preset` knows.
        overrides: Fields that replace the preset's.
        vocab_sizes: Sizes of the source's and of the target's vocabulary.
        joint_vocabulary: Whether both are the same vocabulary.
        special_ids: Those of the vocabularies.
        max_length: Longest training sentence in tokens.

    Raises:
        ValueError: The fields do not fit each other, or `max_length`.
        TypeError: A field has the wrong type.
    """
    source_size, target_size = vocab_sizes
    fields = {
        "target_vocab_size": target_size,
        "special_ids": special_ids,
        **(overrides or {}),
    }
    if not joint_vocabulary:
        fields.setdefault("share_embeddings", "target")
    config = TransformerConfig.preset(preset, vocab_size=source_size, **fields)
    if config.max_positions is not None and max_length > config.max_positions:
        raise ValueError(
            f"max_length ({max_length}) is more than the model's max_positions "
            f"({config.max_positions}): lower max_length or raise max_positions."
        )
    return config
