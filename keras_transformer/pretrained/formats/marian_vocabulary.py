"""Marian's vocabularies beside SentencePiece models, as the id of each piece.

Marian writes lines of YAML, `piece: id`. A reader of YAML takes the pieces `no`, `1` and `0x10` for
a boolean and two numbers, and breaks lines where Marian does not, so the lines are read here.
"""

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import yaml

from keras_transformer.pretrained.errors import ImportRefusedError

_LINE = re.compile(r"(.+): +([0-9]+)")


def read_vocabulary(path: Path) -> dict[str, int]:
    """Reads a vocabulary: Marian's lines of YAML, JSON, or a piece a line.

    Raises:
        ImportRefusedError: It is none of these, or a piece is given twice.
    """
    try:
        text = path.read_bytes().decode("utf-8")
    except UnicodeDecodeError as error:
        raise ImportRefusedError(f"{path} is no vocabulary in UTF-8: {error}") from error
    ids: dict[str, int] = {}
    for piece, number in _entries(path, text):
        if piece in ids:
            raise ImportRefusedError(f"{path} gives an id to the piece {piece!r} twice.")
        ids[piece] = number
    return ids


def _entries(path: Path, text: str) -> Iterator[tuple[str, int]]:
    if text.lstrip().startswith("{"):
        yield from _from_json(path, text)
        return
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    lines = [line for line in lines if line and not line.startswith(("---", "# "))]
    if not lines:
        raise ImportRefusedError(f"{path} is empty: it must give each piece its id.")
    if _LINE.fullmatch(lines[0]) is None:
        yield from ((line, number) for number, line in enumerate(lines))
        return
    for line in lines:
        found = _LINE.fullmatch(line)
        if found is None:
            raise ImportRefusedError(f"{path} has the line {line!r}, which is no `piece: id`.")
        yield _unquoted(path, found[1]), int(found[2])


def _from_json(path: Path, text: str) -> Iterator[tuple[str, int]]:
    try:
        values: dict[str, Any] = json.loads(text)
    except ValueError as error:
        raise ImportRefusedError(f"{path} is no vocabulary in JSON: {error}") from error
    for piece, number in values.items():
        if type(number) is not int:
            raise ImportRefusedError(f"{path} gives {piece!r} the id {number!r}, no integer.")
        yield piece, number


def _unquoted(path: Path, piece: str) -> str:
    """Returns what a quoted piece spells; one without quotes is as it stands."""
    if not (len(piece) > 1 and piece[0] == piece[-1] and piece[0] in "\"'"):
        return piece
    if piece[0] == '"':
        # YAML's reader would take some characters in quotes for the end of a line.
        with suppress(ValueError):
            return str(json.loads(piece))
    try:
        return str(yaml.safe_load(piece))
    except yaml.YAMLError as error:
        raise ImportRefusedError(f"{path} has the piece {piece}, which is no YAML.") from error


def vocabulary_text(pieces: Sequence[str]) -> str:
    """Returns a vocabulary's file, as `read_vocabulary` and Marian read it."""
    quoted = (json.dumps(piece, ensure_ascii=False) for piece in pieces)
    return "".join(f"{piece}: {number}\n" for number, piece in enumerate(quoted))
