"""`Subwords`, the interface of a vocabulary's reader: texts to ids and pieces and back, whole or
one id at a time.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol

from keras_transformer.config.special_ids import SpecialIds

# Far more ids than any vocabulary has: a damaged one must not take all memory.
MOST_IDS = 1 << 22


class Placed(NamedTuple):
    """A token of a text and where it stands.

    Attributes:
        spelling: Its part of the text, normalized, with a space before it if it begins a word.
        start: Its first character in the text, the space excluded.
        end: The one after its last.
        is_unknown: Whether the vocabulary lacks it.
    """

    spelling: str
    start: int
    end: int
    is_unknown: bool


class SubwordStream(Protocol):
    """Decodes ids one by one; the pieces, joined, equal the text of all ids decoded at once."""

    def add(self, token: int) -> str:
        """Takes the next id and returns the text that is now certain: often one piece, or "".

        Raises:
            IndexError: The id is outside the vocabulary.
        """

    def finish(self) -> str:
        """Returns the text still held back and resets the stream."""

    def fork(self) -> "SubwordStream":
        """Returns another stream that has taken the same ids so far."""


class Subwords(Protocol):
    """A vocabulary: any number of threads may share it.

    Ids are those of text: no method adds bos or eos, and none drops special ids. No text gives an
    id of `special_ids.added_to_text`, even if it spells the piece, but to `encode_marked`.

    Attributes:
        kind: "sentencepiece" or "tokenizer_json".
        content: The bytes of the file that it was read from.
        special_ids: The ids that are no text.
        size: Number of ids with a piece; special ids may lie behind them.
        unknown_pieces: How many pieces texts are split to that have no id: they are unknown.
        space: Id of the piece that is one space; None if there is none.
        symbols: The ids of pieces that stand apart in texts (`symbols_apart`), by their spelling.
        keeps_spaces: Whether ids hold every space of a text, so that a word has other ids at its
            beginning than after a space.
    """

    kind: str
    content: bytes
    special_ids: SpecialIds
    size: int
    unknown_pieces: int
    space: int | None
    symbols: Mapping[str, int]
    keeps_spaces: bool

    def encode(self, texts: Sequence[str] | Sequence[bytes]) -> list[list[int]]:
        """Returns the ids of each text; bytes need not be valid UTF-8."""

    def encode_marked(self, text: str) -> list[int]:
        """Returns the ids of a text in which the pieces of all special ids mean these."""

    def sample(self, texts: Sequence[str], alpha: float, seed: int) -> list[list[int]]:
        """Returns the ids of a random segmentation of each text, as `Tokenizer.sample` says.

        Raises:
            ValueError: The vocabulary gives every text one segmentation.
        """

    def decode(self, rows: Sequence[Sequence[int]]) -> list[str]:
        """Returns the text of each row of ids."""

    def stream(self, skipped: Collection[int] = ()) -> SubwordStream:
        """Returns what decodes ids one by one, those of `skipped` left out."""

    def split(self, text: str) -> list[str]:
        """Returns the pieces of a text; unknown ones as they are spelled in it."""

    def join(self, pieces: Sequence[str]) -> str:
        """Returns the text of pieces, those that the vocabulary lacks included."""

    def place(self, text: str) -> list[Placed]:
        """Returns the tokens of a text with their places."""

    def piece(self, token: int) -> str:
        """Returns the piece of an id; "" for one behind the pieces."""

    def id_of(self, piece: str) -> int | None:
        """Returns the id of a piece, or None if the vocabulary lacks it."""

    def spelling(self, token: int) -> str:
        """Returns an id's text as it stands inside a text, with the space before it if any."""

    def token_bytes(self, token: int) -> tuple[bytes, bytes]:
        """Returns the bytes of UTF-8 that an id adds at the beginning of a text, where a space
        before a word is no part of it, and behind others; b"" for an id that adds nothing, or whose
        bytes there depend on what stands before it.
        """

    def begins_word(self, token: int) -> bool:
        """Returns whether an id's piece begins a word that is not the first of a text."""


def stream_text(stream: SubwordStream, ids: Iterable[int]) -> Iterator[str]:
    """Yields the text of ids as they arrive, in pieces that are never empty.

    Args:
        stream: A new stream.
        ids: Token ids, consumed one at a time.

    Raises:
        IndexError: An id is outside the vocabulary.
    """
    for token in ids:
        if text := stream.add(token):
            yield text
    if text := stream.finish():
        yield text


def words_in_text(words: Sequence[str], subwords: Subwords) -> list[str]:
    """Returns the words of a text such that each, encoded alone, has the ids that it has there."""
    if not subwords.keeps_spaces:
        return list(words)
    return [*words[:1], *(f" {word}" for word in words[1:])]
