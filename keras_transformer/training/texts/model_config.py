"""The config of the model to train on single texts, of a task, a preset or a trained run, and a
vocabulary. Needs neither Keras nor a corpus.
"""

import dataclasses
from typing import Any

from keras_transformer.config import SpecialIds, TransformerConfig
from keras_transformer.config.families import ModelConfig
from keras_transformer.suggestions import did_you_mean

# Decided by the task or by the vocabulary.
_NOT_TAKEN = {
    "head",
    "query_stream",
    "labels",
    "features",
    "crf",
    "multi_label",
    "starts_prompts",
    "vocab_size",
    "source_vocab_size",
    "target_vocab_size",
    "special_ids",
}


def in_trained_order(head: dict[str, Any], trained: ModelConfig | None) -> dict[str, Any]:
    """Returns a head's fields, with its labels in the order of a trained model that has the same.

    So the trained head can be taken. The labels of a corpus are sorted; an imported model has its
    own order.

    Args:
        head: The fields that say what the model returns.
        trained: The config of the run to start from, if there is one.

    Raises:
        ValueError: The trained model gives a text any number of these labels, and each is to have
            one.
    """
    labels = getattr(trained, "labels", ())
    if getattr(trained, "multi_label", False) and not head.get("multi_label"):
        parts = {part.strip() for label in head.get("labels", ()) for part in label.split(",")}
        if parts & {*labels}:
            raise ValueError(
                "the run to start from gives a text any number of labels (multi_label=True), and "
                "each text is to have exactly one: give --multi-label (LabelledTexts with "
                "multi_label=True), or give the classes other names."
            )
        return head
    if not labels or {*labels} != {*head.get("labels", ())}:
        return head
    return {**head, "labels": labels}


def text_model_config(
    family: Any,
    preset: str,
    overrides: dict[str, Any] | None,
    *,
    start: ModelConfig | None,
    head: dict[str, Any],
    vocab_size: int,
    special_ids: SpecialIds,
    max_length: int,
) -> Any:
    """Returns the config of a run's model.

    Args:
        family: The class of the model's config.
        preset: A size that the family knows.
        overrides: Fields that replace the preset's.
        start: The config of the run whose weights are taken, if it is of the same family: its
            fields take the place of the preset's.
        head: The fields that say what the model returns.
        vocab_size: Size of the vocabulary.
        special_ids: Those of the vocabulary.
        max_length: Longest row in tokens.

    Raises:
        ValueError: The fields do not fit each other, or `max_length`.
        TypeError: A field has the wrong type.
    """
    fields = {**head, "special_ids": special_ids, **(overrides or {})}
    if fields.get("positions", "learned") != "learned":
        fields.setdefault("max_positions", None)
    known = {field.name for field in dataclasses.fields(family)}
    unknown = sorted(set(fields) - known)
    if unknown:
        name, fields_taken = family.family, sorted(known - _NOT_TAKEN)
        article = "an" if name.startswith("e") else "a"
        raise ValueError(
            f"{', '.join(unknown)}: {article} {name} has no such field, only "
            f"{', '.join(fields_taken)}{did_you_mean(unknown[0], fields_taken) or '.'}"
        )
    if start is None:
        config = family.preset(preset, vocab_size=vocab_size, **fields)
    else:
        taken = {
            field.name: getattr(start, field.name)
            for field in dataclasses.fields(start)
            if field.name not in _NOT_TAKEN
        }
        if getattr(start, "head", None) != head.get("head"):
            # What one task read of a text says nothing of another's.
            for name in ("max_row_length", "dense"):
                taken.pop(name, None)
        size = "source_vocab_size" if family is TransformerConfig else "vocab_size"
        config = family(**{**taken, size: vocab_size, **fields})
    for name in ("max_row_length", "max_positions"):
        limit = getattr(config, name, None)
        if limit is not None and max_length > limit:
            raise ValueError(
                f"max_length ({max_length}) is more than the model's {name} ({limit}): lower "
                f"max_length or raise {name}."
            )
    return config
