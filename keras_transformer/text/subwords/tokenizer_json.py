"""Byte-level BPE, WordPiece and unigrams of a `tokenizer.json` of Hugging Face, as `Subwords`;
needs the package `tokenizers`, which splits the texts.
"""

import json
from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import Any

from keras_transformer.config.special_ids import SpecialIds
from keras_transformer.distribution import install_command
from keras_transformer.text.subwords.interface import MOST_IDS, Placed
from keras_transformer.text.subwords.json_decoders import JsonStream, read_decoder
from keras_transformer.text.subwords.json_special_ids import SPECIAL_IDS, find_special_ids

# From this many texts, the threads that `tokenizers` starts for a list pay off.
_MANY = 64
# A letter of Old Persian, which hardly any vocabulary has.
_RARE = "\U000103a0"
# Stands before the names of pieces that no text may give; a private character.
_HIDDEN = "\uf8ff"


class TokenizerJson:
    """The `Subwords` of a `tokenizer.json`.

    Its added tokens are recognised in texts, as Hugging Face does, except those of
    `special_ids.added_to_text`, which are read as any other text.

    Args:
        content: The bytes of the file.
        special_ids: The ids that are no text; None to find them by their names.

    Raises:
        ImportError: The package `tokenizers` is missing.
        ValueError: It is no `tokenizer.json`, of another kind, or has no end of text.
    """

    kind = "tokenizer_json"
    unknown_pieces = 0
    symbols: Mapping[str, int] = MappingProxyType({})

    def __init__(self, content: bytes, special_ids: SpecialIds | None = None) -> None:
        try:
            values = json.loads(content)
            names = _ids_of(values["model"]["vocab"])
            beside = {one["content"]: one["id"] for one in values.get("added_tokens") or ()}
            self._decoder = read_decoder(values)
        except (KeyError, TypeError, AttributeError, RecursionError, ValueError) as error:
            if type(error) is ValueError:  # The decoder's own words.
                raise
            raise ValueError(
                f"model is not a tokenizer.json of a vocabulary ({len(content)} bytes)"
            ) from error
        _check_ids(names)
        _check_ids(beside)
        names |= beside
        self._ids: dict[str, int] = names
        self.size = max(names.values()) + 1
        self._pieces = [""] * self.size
        for piece, token in names.items():
            self._pieces[token] = piece
        found = find_special_ids(values, names) if special_ids is None else special_ids
        self.special_ids = found
        if special_ids is not None and special_ids != _found_or_none(values, names):
            values[SPECIAL_IDS] = special_ids.to_dict()
            content = json.dumps(values, ensure_ascii=False).encode()
        self.content = content
        self.keeps_spaces = self._decoder.keeps_spaces
        self.space = None if self._decoder.space is None else names.get(self._decoder.space)
        self._never = found.added_to_text
        listed = values.get("added_tokens") or ()
        self._silent = {one["id"] for one in listed if one.get("special")} - found.without_text
        self._splitter = _open_splitter(values, self._never)

    def encode(self, texts: Sequence[str] | Sequence[bytes]) -> list[list[int]]:
        """Returns the ids of each text; bytes need not be valid UTF-8."""
        rows = [
            text.decode(errors="replace") if isinstance(text, bytes) else text for text in texts
        ]
        if len(rows) < _MANY:
            encoded = [self._splitter.encode(row, add_special_tokens=False) for row in rows]
        else:
            encoded = self._splitter.encode_batch_fast(rows, add_special_tokens=False)
        return [self._allowed(one.ids) for one in encoded]

    def encode_marked(self, text: str) -> list[int]:
        """Returns the ids of a text in which the pieces of all special ids mean these."""
        return list(self._marked_splitter.encode(text, add_special_tokens=False).ids)

    @cached_property
    def _marked_splitter(self) -> Any:
        return _open_splitter(json.loads(self.content), ())

    def sample(self, texts: Sequence[str], alpha: float, seed: int) -> list[list[int]]:
        """Raises `ValueError`: there is one segmentation of each text."""
        raise ValueError(
            "a tokenizer.json gives every text one segmentation: subword sampling needs a "
            "SentencePiece model."
        )

    def decode(self, rows: Sequence[Sequence[int]]) -> list[str]:
        """Returns the text of each row of ids; added special tokens have none."""
        return [self._text([one for one in row if one not in self._silent]) for row in rows]

    def stream(self, skipped: Collection[int] = ()) -> JsonStream:
        """Returns what decodes ids one by one."""
        return JsonStream(self._first, self._inside, self._silent.union(skipped))

    def split(self, text: str) -> list[str]:
        """Returns the pieces of a text; unknown ones as they are spelled in it."""
        found = self._splitter.encode(text, add_special_tokens=False)
        return [
            text[slice(*span)] if token == self.special_ids.unk else self.piece(token)
            for token, span in zip(found.ids, found.offsets, strict=True)
            if token not in self._never
        ]

    def join(self, pieces: Sequence[str]) -> str:
        """Returns the text of pieces, those that the vocabulary lacks included."""
        parts = [
            *map(self._decoder.first, pieces[:1]),
            *map(self._decoder.inside, pieces[1:]),
        ]
        return b"".join(parts).decode(errors="replace")

    def place(self, text: str) -> list[Placed]:
        """Returns the tokens of a text with their places."""
        found = self._splitter.encode(text, add_special_tokens=False)
        # Behind the last token, or where the text begins.
        placed, before = [], len(text) - len(text.lstrip())
        for token, (start, end) in zip(found.ids, found.offsets, strict=True):
            if token in self._never:
                continue
            start = end - len(text[start:end].lstrip())
            is_space = token < self.size and not self._inside[token].strip()
            if start == end or is_space:
                # White space alone is part of no word. A mark that stands for it alone has the
                # place of the letter behind it.
                placed.append(Placed("", before, before, False))
                continue
            gap = text[before:start]
            space = " " if gap.strip() != gap else ""
            is_unknown = token == self.special_ids.unk
            placed.append(Placed(space + text[start:end], start, end, is_unknown))
            before = end
        return placed

    def piece(self, token: int) -> str:
        """Returns the piece of an id; "" for one behind the pieces."""
        return self._pieces[token] if token < self.size else ""

    def id_of(self, piece: str) -> int | None:
        """Returns the id of a piece, or None if the vocabulary lacks it."""
        return self._ids.get(piece)

    def spelling(self, token: int) -> str:
        """Returns an id's text as it stands inside a text, with the space before it if any."""
        return self._inside[token].decode(errors="replace") if token < self.size else ""

    def token_bytes(self, token: int) -> tuple[bytes, bytes]:
        """Returns the bytes that an id adds at the beginning of a text, and behind others."""
        if token in self._silent:
            return b"", b""
        first, inside = self._first[token], self._inside[token]
        if self.keeps_spaces:
            return inside, inside
        # Behind a prompt, a text begins inside another: what depends on that begins none.
        return first if first == inside.lstrip(b" ") else b"", inside

    def begins_word(self, token: int) -> bool:
        """Returns whether an id's piece begins a word that is not the first of a text."""
        return self._decoder.begins_word(self.piece(token))

    @cached_property
    def _first(self) -> list[bytes]:
        return [self._decoder.first(piece) for piece in self._pieces]

    @cached_property
    def _inside(self) -> list[bytes]:
        return [self._decoder.inside(piece) for piece in self._pieces]

    def _text(self, row: Sequence[int]) -> str:
        parts = [self._first[token] for token in row[:1]]
        parts += [self._inside[token] for token in row[1:]]
        return b"".join(parts).decode(errors="replace")

    def _allowed(self, ids: list[int]) -> list[int]:
        if self._never.isdisjoint(ids):
            return ids
        return [token for token in ids if token not in self._never]


def _ids_of(vocabulary: Any) -> dict[Any, Any]:
    """Returns the id of each piece; unigrams stand in the order of their ids, with scores."""
    if not isinstance(vocabulary, list):
        return dict(vocabulary)
    return {piece: place for place, (piece, _) in enumerate(vocabulary)}


def _hiding(vocabulary: Any, hidden: Collection[int]) -> Any:
    """Returns the pieces as they were given, those of `hidden` ids under other names."""
    if isinstance(vocabulary, list):
        return [
            [_HIDDEN + piece if token in hidden else piece, score]
            for token, (piece, score) in enumerate(vocabulary)
        ]
    return {
        _HIDDEN + piece if token in hidden else piece: token for piece, token in vocabulary.items()
    }


def _check_ids(names: Mapping[Any, Any]) -> None:
    """Raises `ValueError` unless every name is a string, and every id one that can be."""
    for piece, token in names.items():
        is_id = isinstance(token, int) and not isinstance(token, bool)
        if not isinstance(piece, str) or not is_id or not 0 <= token < MOST_IDS:
            raise ValueError(
                f"it gives the piece {piece!r} the id {token!r}: pieces must be strings, and ids "
                f"integers in 0 to {MOST_IDS - 1}."
            )


def _found_or_none(values: dict[str, Any], names: dict[str, int]) -> SpecialIds | None:
    try:
        return find_special_ids(values, names)
    except ValueError:
        return None


def _open_splitter(values: dict[str, Any], hidden: Collection[int]) -> Any:
    """Opens what splits texts, without the names of the `hidden` ids, limits and padding."""
    try:
        import tokenizers
    except ImportError as error:
        raise ImportError(
            f"a tokenizer.json needs the package tokenizers: install it with "
            f"`{install_command('tokenizers')}`."
        ) from error
    model = values["model"]
    added = [
        {**one, "content": _HIDDEN + one["content"]} if one["id"] in hidden else one
        for one in values.get("added_tokens") or ()
    ]
    plain = {name: value for name, value in values.items() if name != SPECIAL_IDS}
    plain |= {"truncation": None, "padding": None, "post_processor": None}
    plain |= {"added_tokens": added, "model": {**model, "vocab": _hiding(model["vocab"], hidden)}}
    try:
        made = tokenizers.Tokenizer.from_str(json.dumps(plain))
        # A name of the unknown that is no piece shows only where a text needs it.
        made.encode(_RARE)
        return made
    except Exception as error:  # The package raises bare exceptions.
        raise ValueError(f"model is not a valid tokenizer.json: {error}") from error
