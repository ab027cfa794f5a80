"""SentencePiece models made again from a `tokenizer.json`, which is all that Hugging Face's library
keeps of some of them.

Pieces, scores and the table of normalization are there. Of BPE, where there are merges in place of
scores, a piece's score is the place of the merge that makes it.
"""

import base64
import binascii
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from keras_transformer.pretrained.errors import ImportRefusedError
from keras_transformer.pretrained.pointers import refuse_pointer
from keras_transformer.pretrained.sentencepiece_models import read_model
from keras_transformer.pretrained.values import read_json
from keras_transformer.text.sentencepiece_messages import (
    BPE,
    BYTE,
    CONTROL,
    NORMAL,
    UNIGRAM,
    UNKNOWN,
    new_message,
)

TOKENIZER = "tokenizer.json"


class Pieces(NamedTuple):
    """A vocabulary's pieces.

    Attributes:
        model: SentencePiece's message.
        ids: The id of each piece; None if it is for the caller to know.
        added: The pieces that stand beside the vocabulary, such as those of languages.
    """

    model: Any
    ids: dict[str, int] | None = None
    added: frozenset[str] = frozenset()


def read_pieces(path: Path, name: str) -> Pieces:
    """Reads a directory's SentencePiece model, or what its `tokenizer.json` holds of it.

    Args:
        path: The directory.
        name: The model's file.

    Raises:
        ImportRefusedError: There is none, or it is damaged or of another kind.
    """
    if (path / name).is_file() or not (path / TOKENIZER).is_file():
        return Pieces(read_model(path / name))
    file = path / TOKENIZER
    refuse_pointer(file)
    try:
        return _pieces(read_json(file))
    except (ValueError, KeyError, TypeError, AttributeError, IndexError, binascii.Error) as error:
        raise ImportRefusedError(
            f"{file} holds no vocabulary of SentencePiece's kind: {error}; put {name} beside it."
        ) from error


def is_sentencepiece(path: Path) -> bool:
    """Whether a `tokenizer.json` holds a SentencePiece model, and neither WordPiece nor bytes."""
    try:
        values = json.loads((path / TOKENIZER).read_text(encoding="utf-8"))
        _model_type(values["model"])
        return any(part["type"] in ("Metaspace", "ByteFallback") for part in _parts(values))
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return False


def words_begin_anywhere(path: Path) -> bool:
    """Whether a `tokenizer.json` has words begin behind added tokens, too, not in texts alone."""
    file = path / TOKENIZER
    parts = _parts(read_json(file)) if file.is_file() else ()
    return any(one["type"] == "Prepend" or one.get("prepend_scheme") == "always" for one in parts)


def _pieces(values: Mapping[str, Any]) -> Pieces:
    theirs, parts = values["model"], list(_parts(values))
    beside = values.get("added_tokens") or ()
    added = {one["content"]: one["id"] for one in beside}
    special = {one["content"] for one in beside if one["special"]}
    kind = _model_type(theirs)
    if kind == UNIGRAM:
        scores = _unigram_scores(theirs)
        ids = {piece: place for place, piece in enumerate(scores)}
    else:
        scores, ids = _bpe_scores(theirs), theirs["vocab"]
    unk = _unknown(theirs, scores)
    message = new_message()
    falls_back = bool(theirs.get("byte_fallback"))
    for piece, score in scores.items():
        is_byte = falls_back and len(piece) == 6 and piece.startswith("<0x")
        type_ = CONTROL if piece in special else BYTE if is_byte else NORMAL
        message.pieces.add(piece=piece, score=score, type=UNKNOWN if piece == unk else type_)
    trainer, normalizer = message.trainer_spec, message.normalizer_spec
    trainer.model_type, trainer.byte_fallback, trainer.unk_piece = kind, falls_back, unk
    normalizer.precompiled_charsmap = _charsmap(parts)
    schemes = [part.get("prepend_scheme") for part in parts if part["type"] == "Metaspace"]
    has_prefix = "always" in schemes or "first" in schemes
    normalizer.add_dummy_prefix = has_prefix or any(part["type"] == "Prepend" for part in parts)
    normalizer.remove_extra_whitespaces = any(map(_joins_spaces, parts))
    normalizer.escape_whitespaces = True
    return Pieces(message, {**ids, **added}, frozenset(added))


def _model_type(theirs: Mapping[str, Any]) -> int:
    kinds = {"Unigram": UNIGRAM, "BPE": BPE}
    if theirs["type"] not in kinds:
        raise ValueError(f"its model is {theirs['type']!r}, and Unigram or BPE is needed")
    return kinds[theirs["type"]]


def _unigram_scores(theirs: Mapping[str, Any]) -> dict[str, float]:
    return {str(piece): float(score) for piece, score in theirs["vocab"]}


def _bpe_scores(theirs: Mapping[str, Any]) -> dict[str, float]:
    """Returns scores in the order of ids; what no merge makes has the lowest."""
    merges = [pair.split(" ") if isinstance(pair, str) else pair for pair in theirs["merges"]]
    places: dict[str, int] = {}
    for place, (left, right) in enumerate(merges):
        places.setdefault(left + right, place)
    pieces = sorted(theirs["vocab"], key=theirs["vocab"].__getitem__)
    return {piece: -float(places.get(piece, len(merges))) for piece in pieces}


def _unknown(theirs: Mapping[str, Any], scores: Mapping[str, float]) -> str:
    if theirs["type"] == "Unigram":
        return list(scores)[theirs["unk_id"]]
    name = theirs["unk_token"]
    if name is None and theirs.get("byte_fallback"):  # Bytes spell all that no piece does.
        name = "<unk>"
    if name not in scores:
        raise ValueError(f"its unk_token {name!r} is no piece")
    return str(name)


def _parts(values: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yields what normalizes and splits texts and joins pieces, one after another."""
    for name in ("normalizer", "pre_tokenizer", "decoder"):
        part = values.get(name) or {}
        within = ("normalizers", "pretokenizers", "decoders")
        inner = next((part[key] for key in within if key in part), [part] if part else [])
        yield from inner


def _charsmap(parts: list[dict[str, Any]]) -> bytes:
    """Returns SentencePiece's table of normalization; empty if texts stay as they are.

    Raises:
        ValueError: Texts are normalized by something that no such table holds.
    """
    foreign = {"Lowercase", "StripAccents", "BertNormalizer", "NFD", "NFKD", "ByteLevel", "Nmt"}
    for part in parts:
        if part["type"] in foreign:
            raise ValueError(f"it has {part['type']}, which SentencePiece has not")
    tables = [part["precompiled_charsmap"] for part in parts if part["type"] == "Precompiled"]
    return base64.b64decode(tables[0], validate=True) if tables else b""


def _joins_spaces(part: Mapping[str, Any]) -> bool:
    """Whether several spaces are one, as in all of SentencePiece's models that split at spaces."""
    if part["type"] == "WhitespaceSplit" or part.get("split") is True:
        return True
    pattern = part.get("pattern") or {}
    return part["type"] == "Replace" and pattern.get("Regex") == " {2,}"
