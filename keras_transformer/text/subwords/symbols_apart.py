"""Symbols that stand apart in texts, as T5's sentinels do: "a <extra_id_0>." and "a<extra_id_0> ."
have the same ids.

SentencePiece reads a piece that users defined where it stands, with a piece of a space before it
and none behind it. Hugging Face's tokenizers split texts there first: nothing is left of the spaces
before a symbol, and a word begins behind it.
"""

import re
from collections.abc import Collection, Iterable, Sequence
from typing import Any, TypeVar

# A last piece of this form, which no text gives, names the symbols' ids.
_MARK = "<symbols_apart {}>"
_IN_MARK = re.compile(_MARK.format(r"(\d+(?: \d+)*)"))

Piece = TypeVar("Piece", int, str)


def mark_of(symbols: Iterable[int]) -> str:
    """Returns the last piece of a model whose symbols of these ids stand apart."""
    return _MARK.format(" ".join(map(str, sorted(symbols))))


def ids_in_mark(piece: str) -> tuple[int, ...]:
    """Returns the ids that a piece names; none if it is no such mark."""
    found = _IN_MARK.fullmatch(piece)
    return tuple(map(int, found[1].split())) if found else ()


class SymbolsApart:
    """The symbols of a vocabulary.

    Args:
        symbols: The spelling of each.

    Attributes:
        pattern: A regular expression, of Python and of RE2, that finds one of them.
    """

    def __init__(self, symbols: Collection[str]) -> None:
        # Where one begins with another the longer one is meant, as in SentencePiece.
        self.pattern = "|".join(map(re.escape, sorted(symbols, key=len, reverse=True)))
        self._text = re.compile(self.pattern)
        self._bytes = re.compile(self.pattern.encode())

    def begin_words(self, texts: Sequence[Any]) -> Sequence[Any]:
        """Returns texts, strings or bytes, with a space behind each symbol."""
        return [self._begin_words(text) for text in texts]

    def _begin_words(self, text: Any) -> Any:
        if isinstance(text, bytes):
            return self._bytes.sub(rb"\g<0> ", text)
        return self._text.sub(r"\g<0> ", text)

    def places(self, text: str) -> Sequence[int]:
        """Returns the place in a text of each place in what `begin_words` makes of it."""
        behind = {found.end() for found in self._text.finditer(text)}
        return [place for place in range(len(text) + 1) for _ in range(2 if place in behind else 1)]


def is_kept(row: Sequence[Piece], symbols: Collection[Piece], space: Piece | None) -> list[bool]:
    """Returns for each id or piece of a text whether it is no space before a symbol."""
    following = [*row[1:], None]
    return [
        one != space or after not in symbols for one, after in zip(row, following, strict=False)
    ]
