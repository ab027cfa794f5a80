"""Vocabularies as keras-hub's tokenizers load them."""

import json
from pathlib import Path
from typing import Any

from keras_transformer.export.pretrained.huggingface.languages import pieces_of, their_model
from keras_transformer.export.pretrained.huggingface.xlm_roberta import check_fairseq_ids
from keras_transformer.export.pretrained.outgoing import Outgoing
from keras_transformer.pretrained.huggingface.vocabularies import FAIRSEQ_MODEL
from keras_transformer.pretrained.keras_hub.family import Vocabulary
from keras_transformer.pretrained.keras_hub.preset import ASSETS, BYTES, MERGES, PIECES, WORDS
from keras_transformer.pretrained.sentencepiece_models import without_padding
from keras_transformer.text.sentencepiece_messages import CONTROL, read_message, write_message
from keras_transformer.text.subwords.sentencepiece_model import MASK_PIECE
from keras_transformer.text.tokenizer import Tokenizer

# How the models of a `tokenizer.json` are called in the table of families.
_KINDS = {"WordPiece": "words", "BPE": "bytes"}


def kind_of(one: Tokenizer | Vocabulary) -> str:
    """Returns the kind of a vocabulary: "words", "bytes", "SentencePiece" or another one's name."""
    if isinstance(one, Vocabulary):
        return one.kind if one.kind in _KINDS.values() else "SentencePiece"
    if one.kind == "sentencepiece":
        return "SentencePiece"
    name: str = json.loads(one.model)["model"]["type"]
    return _KINDS.get(name, name)


def save_vocabulary(outgoing: Outgoing, vocabulary: Vocabulary, directory: Path) -> dict[str, Any]:
    """Writes the files of a vocabulary.

    Args:
        outgoing: The model.
        vocabulary: The family's.
        directory: The preset.

    Returns:
        The fields of the tokenizer's config; None for what the files give, where some of its
        classes have no default.

    Raises:
        ValueError: It lacks a token that the family has.
    """
    assets = directory / ASSETS
    assets.mkdir(parents=True)
    if vocabulary.kind not in _KINDS.values():
        (assets / PIECES).write_bytes(_pieces(outgoing, vocabulary))
        return {"proto": None, **vocabulary.fields}
    values = json.loads(outgoing.source.model)
    added = {one["content"]: one["id"] for one in values.get("added_tokens") or ()}
    ids = {**values["model"]["vocab"], **added}
    _check_special(vocabulary, ids)
    if vocabulary.kind == "words":
        lines = sorted(ids, key=ids.__getitem__)
        (assets / WORDS).write_text("".join(f"{one}\n" for one in lines), encoding="utf-8")
        return {"vocabulary": None, **_of_words(values)}
    (assets / BYTES).write_text(json.dumps(ids, ensure_ascii=False), encoding="utf-8")
    pairs = values["model"]["merges"]
    merges = [pair if isinstance(pair, str) else " ".join(pair) for pair in pairs]
    (assets / MERGES).write_text("".join(f"{one}\n" for one in merges), encoding="utf-8")
    steps = _steps(values["pre_tokenizer"], "pretokenizers")
    has_space = any(step.get("add_prefix_space", False) for step in steps)
    return {"unsplittable_tokens": sorted(added), "add_prefix_space": has_space}


def _check_special(vocabulary: Vocabulary, ids: Any) -> None:
    for token in vocabulary.special.values():
        if token not in ids:
            raise ValueError(f"keras-hub needs the token {token!r}, which the vocabulary lacks.")


def _pieces(outgoing: Outgoing, vocabulary: Vocabulary) -> bytes:
    """Returns a SentencePiece model with the pieces that keras-hub expects among its own."""
    if vocabulary.kind == FAIRSEQ_MODEL:
        check_fairseq_ids(outgoing, "keras-hub's XLMRoberta")
        return their_model(outgoing, pieces_of(outgoing))
    model = read_message(without_padding(outgoing.source))
    for place, piece in enumerate(model.pieces):
        if piece.piece == MASK_PIECE and vocabulary.mask:
            piece.piece, piece.type = vocabulary.mask, CONTROL
        elif piece.piece == MASK_PIECE:
            # Theirs is the first id behind the pieces.
            del model.pieces[place:]
            break
    _check_special(vocabulary, {piece.piece for piece in model.pieces})
    return write_message(model)


def _steps(step: dict[str, Any] | None, name: str) -> list[dict[str, Any]]:
    """Returns the steps of a sequence; a single one, too."""
    found: list[dict[str, Any]] = [] if step is None else step.get(name, [step])
    return found


def _of_words(values: dict[str, Any]) -> dict[str, Any]:
    """Returns the fields of a tokenizer of WordPiece, and what it does to a text before."""
    steps, model = _steps(values.get("normalizer"), "normalizers"), values["model"]
    kinds = {step["type"] for step in steps}
    lowercase, strips = "Lowercase" in kinds, "NFD" in kinds
    for step in steps:
        if step["type"] == "BertNormalizer":
            lowercase, told = step["lowercase"], step.get("strip_accents")
            strips = lowercase if told is None else told
    return {
        "lowercase": lowercase,
        "strip_accents": strips,
        "suffix_indicator": model["continuing_subword_prefix"],
        "oov_token": model["unk_token"],
    }
