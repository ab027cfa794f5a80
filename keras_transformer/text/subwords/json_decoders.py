"""The decoders of a `tokenizer.json`, from pieces to text, whole or as it arrives."""

import codecs
import copy
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Protocol

# What English texts have without the space that stands before each word, as WordPiece's clean-up
# has it, in its order.
_CLEANED = (
    (" .", "."),
    (" ?", "?"),
    (" !", "!"),
    (" ,", ","),
    (" ' ", "'"),
    (" n't", "n't"),
    (" 'm", "'m"),
    (" do not", " don't"),
    (" 's", "'s"),
    (" 've", "'ve"),
    (" 're", "'re"),
)


class PieceDecoder(Protocol):
    """Turns pieces into bytes of UTF-8; those of a row, joined, are its text.

    Attributes:
        space: The piece that is one space; None if there can be none.
        keeps_spaces: Whether ids hold every space of a text.
    """

    space: str | None
    keeps_spaces: bool

    def first(self, piece: str) -> bytes:
        """Returns what a piece gives as the first of a row."""

    def inside(self, piece: str) -> bytes:
        """Returns what a piece gives behind others."""

    def begins_word(self, piece: str) -> bool:
        """Returns whether a piece begins a word that is not the first of a text."""


class ByteLevelDecoder:
    """Byte-level BPE (Radford et al. 2019): each character of a piece stands for one byte."""

    space: str | None = "Ġ"
    keeps_spaces = True

    def __init__(self) -> None:
        self._bytes = {character: bytes([byte]) for byte, character in byte_characters().items()}

    def first(self, piece: str) -> bytes:
        """Returns the bytes; a piece with another character, such as an added one, is text."""
        try:
            return b"".join([self._bytes[character] for character in piece])
        except KeyError:
            return piece.encode()

    inside = first

    def begins_word(self, piece: str) -> bool:
        """Returns whether a piece begins with a space, or another white space that is one byte."""
        return self.first(piece)[:1].isspace()


class WordPieceDecoder:
    """WordPiece (Schuster and Nakajima 2012, as BERT has it): "##" continues a word.

    Args:
        prefix: What continues a word; empty if every piece is one.
        cleanup: Whether punctuation of English loses the space before it.
    """

    space: str | None = None
    keeps_spaces = False

    def __init__(self, prefix: str, *, cleanup: bool) -> None:
        self._prefix = prefix
        self._cleanup = cleanup

    def first(self, piece: str) -> bytes:
        """Returns the piece as it is."""
        return self._clean(piece)

    def inside(self, piece: str) -> bytes:
        """Returns the piece without the prefix, or else with a space before it."""
        continues = self._prefix and piece.startswith(self._prefix)
        return self._clean(piece.removeprefix(self._prefix) if continues else f" {piece}")

    def begins_word(self, piece: str) -> bool:
        """Returns whether a piece has no prefix."""
        return not self._prefix or not piece.startswith(self._prefix)

    def _clean(self, text: str) -> bytes:
        if self._cleanup:
            for found, written in _CLEANED:
                text = text.replace(found, written)
        return text.encode()


class MetaspaceDecoder:
    """SentencePiece's pieces (Kudo and Richardson 2018): a character stands for a space.

    Args:
        mark: The character.
    """

    space: str | None = None
    keeps_spaces = False

    def __init__(self, mark: str) -> None:
        self._mark = mark

    def first(self, piece: str) -> bytes:
        """Returns the piece without spaces."""
        return piece.replace(self._mark, "").encode()

    def inside(self, piece: str) -> bytes:
        """Returns the piece with its spaces."""
        return piece.replace(self._mark, " ").encode()

    def begins_word(self, piece: str) -> bool:
        """Returns whether a piece begins with a space."""
        return piece.startswith(self._mark)


def read_decoder(values: Mapping[str, Any]) -> PieceDecoder:
    """Returns the decoder of a `tokenizer.json`.

    Raises:
        ValueError: Its model and decoder are neither byte-level BPE nor WordPiece, nor unigrams of
            texts that are split at white space.
    """
    model, decoder = values["model"].get("type"), values.get("decoder") or {}
    steps = decoder.get("decoders", [decoder])
    decoder = steps[0] if len(steps) == 1 else decoder
    match model, decoder.get("type"):
        case "BPE", "ByteLevel":
            return ByteLevelDecoder()
        case "WordPiece" | "WordLevel", "WordPiece":
            prefix = decoder.get("prefix", "##")
            if isinstance(prefix, str):
                return WordPieceDecoder(prefix, cleanup=decoder.get("cleanup", True))
        case "Unigram", "Metaspace" if _splits_at_spaces(values):
            return MetaspaceDecoder(str(decoder["replacement"]))
    raise ValueError(
        f"its model is {model!r} with the decoder {decoder.get('type')!r}, and what can be read is "
        "BPE with ByteLevel, WordPiece or WordLevel with WordPiece, and Unigram with Metaspace "
        "behind a WhitespaceSplit, or DeBERTa's: of another vocabulary that is SentencePiece's, "
        "give the .model file."
    )


def _splits_at_spaces(values: Mapping[str, Any]) -> bool:
    """Whether white space only divides words, each of which begins with one space."""
    step, normalizer = (values.get(name) or {} for name in ("pre_tokenizer", "normalizer"))
    parts = step.get("pretokenizers") or [step]
    schemes = [one.get("prepend_scheme") for one in parts if one.get("type") == "Metaspace"]
    patterns = [one.get("pattern") or {} for one in normalizer.get("normalizers") or [normalizer]]
    # DeBERTa's texts have one space for several before they are split.
    joins = any(str(one.get("Regex")).startswith(r"\s{2,}") for one in patterns)
    splits = parts[0].get("type") == "WhitespaceSplit" or (joins and len(parts) == 1)
    return splits and schemes == ["always"]


def byte_characters() -> dict[int, str]:
    """Returns the character that byte-level BPE writes for each byte: itself if it is visible.

    Example:
        >>> byte_characters()[ord("a")], byte_characters()[ord(" ")]
        ('a', 'Ġ')
    """
    visible = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = sorted(set(range(0x100)) - set(visible))
    return {byte: chr(byte) for byte in visible} | {
        byte: chr(0x100 + number) for number, byte in enumerate(others)
    }


class JsonStream:
    """The `SubwordStream` of a `tokenizer.json`; bytes wait until their character is whole.

    Args:
        first: The bytes of each id at the beginning of a row.
        inside: Its bytes behind others.
        skipped: Ids without text.
    """

    def __init__(
        self, first: Sequence[bytes], inside: Sequence[bytes], skipped: Collection[int] = ()
    ) -> None:
        self._first, self._inside, self._skipped = first, inside, frozenset(skipped)
        self._table = first
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def add(self, token: int) -> str:
        """Takes the next id and returns the text that is now certain."""
        if token in self._skipped:
            return ""
        if token < 0:
            raise IndexError(f"id {token} is outside the vocabulary")
        text = self._decoder.decode(self._table[token])
        self._table = self._inside
        return text

    def finish(self) -> str:
        """Returns the text still held back and resets the stream."""
        text = self._decoder.decode(b"", final=True)
        self._decoder.reset()
        self._table = self._first
        return text

    def fork(self) -> "JsonStream":
        """Returns another stream that has taken the same ids so far."""
        other = copy.copy(self)
        other._decoder = copy.copy(self._decoder)
        return other
