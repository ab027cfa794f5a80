"""The number of pieces that a vocabulary should have for a corpus of so many characters."""

import unicodedata
from collections.abc import Iterable

from keras_transformer.config.special_ids import SpecialIds

# What suits a corpus that is large enough.
MOST_PIECES = 8_000
# 256 byte pieces are a fair price for "no text is ever unknown" from this size on, not below.
BYTE_FALLBACK_FROM = 1024
# Of the training text for each piece, so that one is seen often enough to be written.
CHARACTERS_A_PIECE = 300
# Pieces of several letters that the shortest text has: a third as many as letters, to this.
_MOST_PIECES_OF_LETTERS = 32
# The special ones, and what stands for a space.
_WITHOUT_LETTERS = len(SpecialIds().without_text) + 1


def vocabulary_size(
    characters: int, letters: int, most: int = MOST_PIECES, of_each: int = CHARACTERS_A_PIECE
) -> int:
    """Returns how many pieces a corpus can teach: one for each 300 characters.

    It is enough for each letter, and a few pieces of several, however short the corpus is.

    Args:
        characters: How many there are.
        letters: How many different ones.
        most: What suits a large corpus, and is taken from it on.
        of_each: Characters for each piece.
    """
    least = letters + _WITHOUT_LETTERS + 1
    if least >= BYTE_FALLBACK_FROM:
        least += 256
    few = min(letters // 3, _MOST_PIECES_OF_LETTERS)
    return max(least + few, min(most, characters // of_each))


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

    def vocabulary_size(self, of_each: int = CHARACTERS_A_PIECE) -> int:
        """Returns how many pieces the texts can teach, at so many characters for each."""
        letters = set(unicodedata.normalize("NFKC", "".join(self._seen)))
        return vocabulary_size(self.characters, len(letters), of_each=of_each)
