"""Vocabularies as keras-hub's tokenizers load them."""

import json
import shutil
from pathlib import Path
from typing import Any

from keras_transformer.pretrained.keras_hub.family import Vocabulary
from keras_transformer.pretrained.keras_hub.preset import ASSETS, BYTES, MERGES, PIECES, WORDS
from keras_transformer.text.tokenizer import Tokenizer


def save_vocabulary(
    tokenizer: Tokenizer, vocabulary: Vocabulary, folder: Path, directory: Path
) -> dict[str, Any]:
    """Writes the files of a vocabulary.

    Args:
        tokenizer: Ours.
        vocabulary: The family's.
        folder: Hugging Face's files.
        directory: The preset.

    Returns:
        The fields of the tokenizer's config.

    Raises:
        ValueError: It lacks a token that the family has.
    """
    assets = directory / ASSETS
    assets.mkdir(parents=True)
    if vocabulary.kind not in ("words", "bytes"):
        shutil.copyfile(folder / vocabulary.kind, assets / PIECES)
        return {}
    values = json.loads(tokenizer.model)
    added = {one["content"]: one["id"] for one in values.get("added_tokens") or ()}
    ids = {**values["model"]["vocab"], **added}
    for token in vocabulary.special.values():
        if token not in ids:
            raise ValueError(f"keras-hub needs the token {token!r}, which the vocabulary lacks.")
    if vocabulary.kind == "words":
        lines = sorted(ids, key=ids.__getitem__)
        (assets / WORDS).write_text("".join(f"{one}\n" for one in lines), encoding="utf-8")
        return _cases(values.get("normalizer"))
    (assets / BYTES).write_text(json.dumps(ids, ensure_ascii=False), encoding="utf-8")
    pairs = values["model"]["merges"]
    merges = [pair if isinstance(pair, str) else " ".join(pair) for pair in pairs]
    (assets / MERGES).write_text("".join(f"{one}\n" for one in merges), encoding="utf-8")
    return {"unsplittable_tokens": sorted(added)}


def _cases(normalizer: dict[str, Any] | None) -> dict[str, Any]:
    """Returns the fields that say what is done to a text before it is split into words."""
    given = normalizer or {}
    steps = given.get("normalizers", [given])
    kinds = {step.get("type") for step in steps}
    lowercase, strips = "Lowercase" in kinds, "NFD" in kinds
    for step in steps:
        if step.get("type") == "BertNormalizer":
            lowercase = step["lowercase"]
            told = step.get("strip_accents")
            strips = lowercase if told is None else told
    return {"lowercase": lowercase, "strip_accents": strips}
