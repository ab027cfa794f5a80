"""Rows of ids for checked texts of one side, and text for ids: whole, or token by token."""

import dataclasses
import functools
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet

from keras_transformer.config.special_ids import SpecialIds
from keras_transformer.search.model_limits import IdRows
from keras_transformer.search.options import SearchOptions
from keras_transformer.search.phrases import Phrases
from keras_transformer.text.letterless import has_letter, without_format
from keras_transformer.text.subwords.interface import Placed, Subwords, SubwordStream, stream_text

# Rows that spell a banned word; those of most tokens are the least probable.
_MOST_SPELLINGS = 100
# Lets bytes that are not UTF-8 pass through a str unchanged.
_ANY = ("utf-8", "surrogateescape")


def check_texts(texts: Iterable[str], name: str = "texts") -> list[str]:
    """Returns the texts as a list.

    Raises:
        TypeError: They are one string, or one of them is not a string; the message names `name`.
        ValueError: One holds a lone surrogate, which no UTF-8 can carry.
    """
    is_one = isinstance(texts, str | bytes)
    if is_one or not isinstance(texts, Iterable):
        how = ": write [text]." if is_one else "."
        raise TypeError(f"{name} must be a list of strings, got one {type(texts).__name__}{how}")
    rows = list(texts)
    for number, text in enumerate(rows):
        if not isinstance(text, str):
            raise TypeError(f"{name} must be strings, got {type(text).__name__} at index {number}.")
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise ValueError(
                f"{name} must be valid Unicode, got a lone surrogate at index {number}, character "
                f"{error.start}."
            ) from error
    return rows


class TextIds:
    """Converts between texts and ids of one side; any number of threads may share it.

    Args:
        subwords: The vocabulary.
        special_ids: The model's ids that stand for no text.

    Attributes:
        subwords: The vocabulary.
        special_ids: The model's ids that stand for no text.
    """

    def __init__(self, subwords: Subwords, special_ids: SpecialIds) -> None:
        self.subwords = subwords
        self.special_ids = special_ids
        self._without_text = special_ids.without_text
        self._known: AbstractSet[str] = frozenset()
        self._lacked: AbstractSet[str] = frozenset()

    def encode(self, texts: Sequence[str] | Sequence[bytes]) -> list[list[int]]:
        """Returns each text's ids, without bos and eos; bytes need not be valid UTF-8."""
        return self.subwords.encode(texts)

    def encode_marked(self, text: str) -> list[int]:
        """Returns the ids of a text in which the pieces of all special ids mean these."""
        return self.subwords.encode_marked(text)

    def phrases(self, texts: Iterable[str]) -> Phrases:
        """Returns phrases that a search is to find; forms of one have `|` between them.

        Raises:
            ValueError: The vocabulary cannot write a form, or one is empty.
        """
        found = []
        for text in texts:
            forms = [self.forms(form.strip()) for form in text.split("|")]
            if not all(forms):
                lacked = text.split("|")[forms.index([])].strip()
                raise ValueError(
                    f"require holds {text!r}, of which the vocabulary cannot write {lacked!r}: "
                    "give words in letters that it has, and forms with one | between them."
                )
            found.append(tuple(ids for own in forms for ids in own))
        return tuple(found)

    def terms(self, required: Iterable[Sequence[str]]) -> Phrases:
        """Returns phrases, each given as its forms, without what the vocabulary cannot write."""
        found = (tuple(ids for form in forms for ids in self.forms(form)) for forms in required)
        return tuple(forms for forms in found if forms)

    def forms(self, form: str) -> list[tuple[int, ...]]:
        """Returns the ids of words within a text and, where they are others, at its beginning; []
        if the vocabulary cannot write them.
        """
        texts = [form, f" {form}"] if self.subwords.keeps_spaces else [form]
        rows = self.encode(texts) if form else []
        if not all(rows) or any(self._without_text.intersection(row) for row in rows):
            return []
        return list(dict.fromkeys(map(tuple, rows)))

    def with_bans(self, options: SearchOptions) -> SearchOptions:
        """Returns options that ban every row of tokens that spells a word of their `ban`.

        Raises:
            ValueError: The vocabulary cannot write one.
        """
        if not options.ban:
            return options
        rows = [row for word in options.ban for row in self._spellings_of(word)]
        banned = tuple(dict.fromkeys((*options.banned_sequences, *rows)))
        return dataclasses.replace(options, ban=(), banned_sequences=banned)

    def _spellings_of(self, word: str) -> list[tuple[int, ...]]:
        """Returns the rows of tokens that spell a word behind a space, the shortest first."""
        usual = self.forms(word.strip())
        if not usual:
            raise ValueError(
                f"ban holds {word!r}, which the vocabulary cannot write: leave it out."
            )
        # For each part of the word that is left to spell, the rows that spell it.
        text = f" {word.strip()}"
        rows: dict[int, list[tuple[int, ...]]] = {len(text): [()]}
        for start in range(len(text) - 1, -1, -1):
            rows[start] = [
                (token, *rest)
                for end in range(start + 1, len(text) + 1)
                for token in self._spelled.get(text[start:end], ())
                for rest in rows[end]
            ]
            rows[start] = sorted(rows[start], key=len)[:_MOST_SPELLINGS]
        return [*usual, *rows[0]]

    @functools.cached_property
    def _spelled(self) -> dict[str, list[int]]:
        """The ids of each spelling."""
        found: dict[str, list[int]] = {}
        ids = [token for token in range(self.subwords.size) if token not in self._without_text]
        for token, text in zip(ids, self.spellings(ids), strict=True):
            if text:
                found.setdefault(text, []).append(token)
        return found

    @property
    def has_letters(self) -> bool:
        """Whether any piece of the vocabulary has a letter."""
        return any(map(has_letter, self._pieces()))

    def unknown_letters(self, text: str) -> AbstractSet[str]:
        """Returns the letters of a text that no piece of the vocabulary has.

        There are none for a vocabulary with bytes, or without any letter.
        """
        found = set(text)
        new = found - self._known - self._lacked
        if new:
            lacked = self._lacking(sorted(filter(str.isalpha, new)))
            # Other threads may learn at the same time: both are replaced, not changed.
            self._known, self._lacked = self._known | (new - lacked), self._lacked | lacked
        return found & self._lacked

    def _lacking(self, letters: Sequence[str]) -> AbstractSet[str]:
        unknown = self.special_ids.unk
        rows = self.encode(letters) if letters else []
        lacked = {one for one, row in zip(letters, rows, strict=True) if unknown in row}
        return lacked - self._letters if lacked and self._letters else set()

    @functools.cached_property
    def _letters(self) -> AbstractSet[str]:
        """The letters of all pieces, of which one alone may be no piece."""
        return set(filter(has_letter, set().union(*self._pieces())))

    def _pieces(self) -> Iterator[str]:
        ids = self.special_ids
        kept = (token for token in range(self.subwords.size) if token not in ids.added_to_text)
        return (self.subwords.piece(token) for token in kept if token != ids.unk)

    def decode(self, rows: IdRows) -> list[str]:
        """Returns the text of each row of ids; special ids are dropped."""
        return self.subwords.decode(
            [[token for token in row if token not in self._without_text] for row in rows]
        )

    def decode_parts(self, rows: IdRows) -> list[str]:
        """Returns the text of ids from within texts, without the space before each."""
        return [text.lstrip(" ") for text in self.decode(rows)]

    def new_stream(self) -> SubwordStream:
        """Returns what decodes ids one by one; special ids are dropped."""
        return self.subwords.stream(self._without_text)

    def stream(self, ids: Iterable[int]) -> Iterator[str]:
        """Yields the text of ids as they arrive, in pieces that are never empty."""
        return stream_text(self.new_stream(), ids)

    def split(self, text: str) -> list[str]:
        """Returns the pieces of the text as spelled in it, unknown ones too."""
        return self.subwords.split(text)

    def place(self, text: str) -> list[Placed]:
        """Returns the tokens of a text with their places."""
        return self.subwords.place(text)

    def pieces(self, ids: Iterable[int]) -> list[str]:
        """Returns the vocabulary's piece for each id, special ones included.

        A special id that the vocabulary has no piece for, such as a pad, gives "".
        """
        return [self.subwords.piece(token) for token in ids]

    def spellings(self, ids: Iterable[int]) -> list[str]:
        """Returns each id's text, with the space before it if any; "" for special ids."""
        return [
            "" if token in self._without_text else self.subwords.spelling(token) for token in ids
        ]

    def token_bytes(self, ids: Iterable[int]) -> list[bytes]:
        """Returns the bytes that each id adds behind others; b"" for special ids."""
        return [
            self.subwords.token_bytes(token)[1]
            if token < self.subwords.size and token not in self._without_text
            else b""
            for token in ids
        ]


class SourceIds(TextIds):
    """The `TextIds` of what is translated: characters that only format a text are no part of it."""

    def encode(self, texts: Sequence[str] | Sequence[bytes]) -> list[list[int]]:
        """Returns each text's ids, without bos and eos; bytes need not be valid UTF-8."""
        return super().encode([_plain(text) for text in texts])  # type: ignore[arg-type]

    def split(self, text: str) -> list[str]:
        """Returns the pieces of the text as spelled in it, unknown ones too."""
        return super().split(without_format(text))

    def place(self, text: str) -> list[Placed]:
        """Returns the tokens of a text with their places in `without_format(text)`."""
        return super().place(without_format(text))


def _plain(text: str | bytes) -> str | bytes:
    if isinstance(text, str):
        return without_format(text)
    return text if text.isascii() else without_format(text.decode(*_ANY)).encode(*_ANY)
