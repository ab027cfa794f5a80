"""The number of pieces that a vocabulary should have for a corpus of so many characters."""

import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass

from keras_transformer.config.special_ids import SpecialIds

# What suits a corpus that is large enough.
MOST_PIECES = 8_000
# 256 byte pieces are a fair price for "no text is ever unknown" from this size on, not below.
BYTE_FALLBACK_FROM = 1024
# Pieces of several letters that the shortest text has: a third as many as letters, to this.
_MOST_PIECES_OF_LETTERS = 32
# The special ones, and what stands for a space.
_WITHOUT_LETTERS = len(SpecialIds().without_text) + 1


@dataclass(frozen=True)
class PieceRule:
    """How many pieces a text of so many characters can teach: characters^growth / of_each.

    Args:
        of_each: Characters for each piece; by default so many that one is seen often enough to be
            written.
        growth: Less than 1 where a longer text has fewer new pieces for its length.
    """

    of_each: int = 300
    growth: float = 1.0

    def pieces(self, characters: int) -> int:
        """Returns the number."""
        return int(characters**self.growth) // self.of_each


def vocabulary_size(
    characters: int, letters: int, most: int = MOST_PIECES, rule: PieceRule | None = None
) -> int:
    """Returns how many pieces a corpus can teach: one for each 300 characters.

    It is enough for each letter, and a few pieces of several, however short the corpus is.

    Args:
        characters: How many there are.
        letters: How many different ones.
        most: What suits a large corpus, and is taken from it on.
        rule: Another number of pieces.
    """
    rule = rule or PieceRule()
    least = letters + _WITHOUT_LETTERS + 1
    if least >= BYTE_FALLBACK_FROM:
        least += 256
    few = min(letters // 3, _MOST_PIECES_OF_LETTERS)
    return max(least + few, min(most, rule.pieces(characters)))


class CharacterCount:
    """Counts the characters of texts.

    Attributes:
        characters: How many there are.
    """

    def __init__(self, texts: Iterable[str] = ()) -> None:
        self.characters = 0
        self._seen: set[str] = set()
        for text in texts:
            self.add(text)

    def add(self, text: str) -> None:
        """Counts another text."""
        self.characters += len(text)
        self._seen.update(text)

    def vocabulary_size(self, rule: PieceRule | None = None) -> int:
        """Returns how many pieces the texts can teach."""
        letters = set(unicodedata.normalize("NFKC", "".join(self._seen)))
        return vocabulary_size(self.characters, len(letters), rule=rule)
