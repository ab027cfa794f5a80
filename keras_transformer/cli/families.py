"""The family of the model in a directory, read before the model is loaded, and its commands."""

import json
from pathlib import Path
from typing import Any

from keras_transformer.config.encoder_only import EncoderHead
from keras_transformer.config.family import ENCODER_DECODER, FAMILIES, FamilyName
from keras_transformer.understanding.heads import TASKS

_WITH_HEAD = {
    "masked_lm": "fill-mask",
    "pretraining": "fill-mask",
    "classification": "classify",
    "regression": "rerank",
    "tagging": "tag",
}
_JUDGED_BY = {"classification": "classify --test-tsv", "tagging": "tag --test-text"}


def require_family(
    directory: Path, wanted: FamilyName, head: EncoderHead | None = None, *, judges: bool = False
) -> None:
    """Refuses a directory whose model is of another family, or has another head.

    A directory whose family cannot be read passes: opening it reports the mistake.

    Args:
        directory: A training run or an exported artefact.
        wanted: The family.
        head: The head of an encoder; any if None.
        judges: Whether the model is to be judged by texts with the right answers.

    Raises:
        ValueError: The model is of another kind; the message names commands that it is for.
    """
    config = _config(directory)
    found = config.get("family", ENCODER_DECODER.name)
    serves = head is None or _WITH_HEAD.get(config.get("head") or "") == _WITH_HEAD.get(head)
    if not config or (found == wanted and serves):
        return
    needed = f"{_article(wanted)} model" + (f" with the head {head!r}" if head else "")
    raise ValueError(
        f"{directory} holds {_described(config)}, and this command needs {needed}: use "
        f"{_commands(config, judges)}{_training(head)}."
    )


def family_in(directory: Path) -> str | None:
    """Returns the family of a directory's model; None if it cannot be read."""
    config = _config(directory)
    return config.get("family", ENCODER_DECODER.name) if config else None


def _training(head: EncoderHead | None) -> str:
    """Tells how to train a model with a head, for the end of a message."""
    task = TASKS.get(head) if head else None
    return f", or train one with `keras-transformer train --task {task}`" if task else ""


def _config(directory: Path) -> dict[str, Any]:
    """Returns a model's config as plain values; empty if it cannot be read."""
    try:
        if (directory / "manifest.json").is_file():
            values = json.loads((directory / "manifest.json").read_text(encoding="utf-8"))["config"]
        else:
            values = json.loads((directory / "config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError, KeyError, TypeError):
        return {}
    return values if isinstance(values, dict) else {}


def _described(config: dict[str, Any]) -> str:
    family = _article(config.get("family", ENCODER_DECODER.name))
    head = config.get("head")
    return f"{family} model" + (f" with the head {head!r}" if head else "")


def _article(family: str) -> str:
    return f"an {family}" if family.startswith("e") else f"a {family}"


def _commands(config: dict[str, Any], judges: bool) -> str:
    usual = FAMILIES[config.get("family", ENCODER_DECODER.name)].commands
    head = config.get("head") or ""
    judged = _JUDGED_BY.get(head)
    if judges and judged:
        return judged
    return f"{_WITH_HEAD[head]} or {usual}" if head in _WITH_HEAD else usual
