"""Writes SentencePiece vocabularies for Hugging Face's tokenizers."""

import json
from pathlib import Path
from typing import Any

from keras_transformer.whole_files import write_bytes, write_text

from ..outgoing import Outgoing


def check_shared(outgoing: Outgoing) -> None:
    """Raises a ValueError if a `MarianTokenizer` cannot have the vocabulary.

    An id must be the same piece on both sides, and the only marks are a target's language before
    the source.
    """
    source, target = _pieces(outgoing.source), _pieces(outgoing.target)
    for token, (one, other) in enumerate(zip(source, target, strict=True)):
        if one != other:
            raise ValueError(
                f"the id {token} is {one!r} in the source's vocabulary and {other!r} in the "
                "target's: Hugging Face's tokenizer needs one vocabulary for both."
            )
    marks = outgoing.config.marks
    pieces = {f">>{code}<<": token for code, token in marks.languages.items()}
    has_others = any(target[token] != one for one, token in pieces.items())
    if marks.source or marks.target or has_others or not marks.source_eos:
        raise ValueError(
            "Hugging Face's tokenizer for this model needs sources that end with eos and marks of "
            f"languages that are pieces such as '>>fra<<' before them, got marks={marks!r}."
        )


def save_marian_tokenizer(outgoing: Outgoing, directory: Path) -> None:
    """Writes the files of a `MarianTokenizer`, which runs SentencePiece itself."""
    write_bytes(directory / "source.spm", outgoing.source.model)
    write_bytes(directory / "target.spm", outgoing.target.model)
    pieces = _pieces(outgoing.target)
    write_json(directory / "vocab.json", {piece: token for token, piece in enumerate(pieces)})
    special = outgoing.config.special_ids
    described: dict[str, Any] = {
        "tokenizer_class": "MarianTokenizer",
        "unk_token": pieces[special.unk],
        "eos_token": pieces[special.eos],
        "pad_token": pieces[special.pad],
        "source_lang": None,
        "target_lang": None,
    }
    write_json(directory / "tokenizer_config.json", described)


def write_json(path: Path, values: dict[str, Any]) -> None:
    """Writes a JSON file as Hugging Face does."""
    write_text(path, json.dumps(values, indent=2, ensure_ascii=False) + "\n")


def _pieces(tokenizer: Any) -> list[str]:
    return tokenizer.pieces(range(tokenizer.vocab_size))
