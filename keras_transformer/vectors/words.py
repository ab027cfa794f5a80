"""Words of a line of text, as word vectors know them."""

import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from keras_transformer.data.sources.files import iter_lines


def words_of(line: str) -> list[str]:
    """Returns the words of a line; each mark of punctuation and each symbol is a word.

    Vocabularies spell words so, too, which is what `--init-vectors` looks up.

    Example:
        >>> words_of("He said: “it’s 5 %”.")
        ['He', 'said', ':', '“', 'it', '’', 's', '5', '%', '”', '.']
    """
    return unicodedata.normalize("NFKC", line).translate(_APART).split()


class _SymbolsApart(dict[int, str]):
    """Puts spaces around what is neither letter, mark, number nor space."""

    def __missing__(self, code: int) -> str:
        letter = chr(code)
        is_symbol = unicodedata.category(letter)[0] in "PS"
        self[code] = f" {letter} " if is_symbol else letter
        return self[code]


_APART = _SymbolsApart()


@dataclass(frozen=True)
class Sentences:
    """The lines of text files as lists of words, read anew in every pass.

    Attributes:
        paths: The files, plain or gzip.
        lowercase: Whether all words are in lower case.
    """

    paths: Sequence[Path]
    lowercase: bool = False

    def __iter__(self) -> Iterator[list[str]]:
        for path in self.paths:
            for line in iter_lines(path):
                words = words_of(line.lower() if self.lowercase else line)
                if words:
                    yield words
