"""A SentencePiece model as `Subwords`; needs only the `sentencepiece` package."""

import re
from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from itertools import compress
from typing import Any

import sentencepiece

from keras_transformer.config.special_ids import SpecialIds
from keras_transformer.cores import available_cores
from keras_transformer.text.subwords.interface import Placed
from keras_transformer.text.subwords.sentencepiece_stream import SentencePieceStream
from keras_transformer.text.subwords.slots import SLOTS, TERM_MARKS
from keras_transformer.text.subwords.symbols_apart import SymbolsApart, ids_in_mark, is_kept

# SentencePiece's piece of a space, which begins a word.
_SPACE = "\N{LOWER ONE EIGHTH BLOCK}"
# What texts write for a token to be filled in, if the vocabulary was trained with it.
MASK_PIECE = "<mask>"
# Behind this piece are those that texts are split to and that have no id: they are unknown. Some
# models were trained with a vocabulary that lacks pieces of their SentencePiece model.
UNKNOWN_BEHIND = "<unknown_from_here>"
# What no text gives and what holds the place of an id without a piece.
UNUSED_PIECE = "<unused_{}>"
# Hardly any piece has one, so that what stands behind it is read as inside a text.
_LINE_END = "\n"
# For at least this many texts, the threads that SentencePiece starts for a list pay off.
_MANY = 64


class SentencePieceModel:
    """The `Subwords` of a SentencePiece model.

    Args:
        content: The serialized model.

    Raises:
        ValueError: It is no SentencePiece model, or has no eos.
    """

    kind = "sentencepiece"
    keeps_spaces = False

    def __init__(self, content: bytes) -> None:
        self._processor = sentencepiece.SentencePieceProcessor()
        try:
            self._processor.LoadFromSerializedProto(content)
        except RuntimeError as error:
            raise ValueError(
                f"model is not a SentencePiece model ({len(content)} bytes)"
            ) from error
        self.content = content
        self.size = count = int(self._processor.get_piece_size())
        symbols = ids_in_mark(self._processor.id_to_piece(count - 1))
        if symbols:
            self.size = count = count - 1
        border = self.id_of(UNKNOWN_BEHIND)
        self.unknown_pieces = 0
        if border is not None:
            self.size, self.unknown_pieces = border, count - border - 1
        self.special_ids = _special_ids(self._processor)
        self.space = self.id_of(_SPACE)
        self.symbols: Mapping[str, int] = {self.piece(token): token for token in symbols}
        self._apart = SymbolsApart(self.symbols)
        self._has_unused = any(map(self._processor.is_unused, range(self.size)))

    def encode(self, texts: Sequence[str] | Sequence[bytes]) -> list[list[int]]:
        """Returns the ids of each text; bytes need not be valid UTF-8."""
        texts = self._words_begun(texts)
        if len(texts) < _MANY:
            rows = [self._processor.encode(text) for text in texts]
        else:
            rows = self._processor.encode(texts, num_threads=available_cores())
        unk = self._processor.unk_id()
        if self._has_unused and any(unk in row for row in rows):
            rows = [
                self._known_by_spelling(row, texts[place]) if unk in row else row
                for place, row in enumerate(rows)
            ]
        return self._without_spaces(self._known(rows))

    def encode_marked(self, text: str) -> list[int]:
        """Returns the ids of a text in which the pieces of all special ids mean these.

        What stands behind one of them does not begin as a text does, with a space.
        """
        first, *parts = self._marks.split(text)
        ids = self.encode([first])[0] if first else []
        for mark, part in zip(parts[::2], parts[1::2], strict=True):
            ids += [self._processor.piece_to_id(mark), *self._encode_inside(part)]
        return ids

    def _encode_inside(self, text: str) -> list[int]:
        if not text:
            return []
        begin, whole, alone = self.encode([_LINE_END, _LINE_END + text, text])
        return whole[len(begin) :] if whole[: len(begin)] == begin else alone

    @cached_property
    def _marks(self) -> re.Pattern[str]:
        processor = self._processor
        names = [self.piece(token) for token in range(self.size) if processor.is_control(token)]
        longest_first = sorted(names, key=len, reverse=True)
        return re.compile(f"({'|'.join(map(re.escape, longest_first)) or '(?!)'})")

    def _words_begun(self, texts: Sequence[Any]) -> Sequence[Any]:
        """Returns texts in which a word begins behind each symbol that stands apart."""
        return self._apart.begin_words(texts) if self.symbols else texts

    def _known(self, rows: list[list[int]]) -> list[list[int]]:
        """Returns ids with that of the unknown for pieces that have none."""
        if not self.unknown_pieces:
            return rows
        unk = self._processor.unk_id()
        return [[token if token < self.size else unk for token in row] for row in rows]

    def _without_spaces(self, rows: list[list[int]]) -> list[list[int]]:
        """Returns ids without the spaces before symbols that stand apart."""
        if not self.symbols:
            return rows
        symbols = frozenset(self.symbols.values())
        return [list(compress(row, is_kept(row, symbols, self.space))) for row in rows]

    def hidden_pieces(self) -> dict[str, int]:
        """Returns the pieces with ids that only another side's texts are split to."""
        if not self._has_unused:
            return {}
        hidden = (token for token in range(self.size) if self._processor.is_unused(token))
        found = {self.piece(token): token for token in hidden}
        return {
            piece: token for piece, token in found.items() if piece != UNUSED_PIECE.format(token)
        }

    def _known_by_spelling(self, row: list[int], text: str | bytes) -> list[int]:
        """Returns a text's ids with those of pieces that only another side's texts are split to.

        Both sides of a translator may share a vocabulary, each with a model of its own.
        """
        unk, known = self._processor.unk_id(), list(row)
        for place, piece in enumerate(self._processor.encode(text, out_type=str)):
            if row[place] == unk:
                token = self._processor.piece_to_id(piece)
                known[place] = token if self._processor.is_unused(token) else unk
        return known

    def sample(self, texts: Sequence[str], alpha: float, seed: int) -> list[list[int]]:
        """Returns the ids of a random segmentation of each text."""
        # One text a call: a list would be shared among threads, each with its own random numbers.
        sentencepiece.set_random_generator_seed(1 + seed % (2**32 - 2))
        rows = [
            self._processor.encode(
                text, out_type=int, enable_sampling=True, alpha=alpha, nbest_size=-1
            )
            for text in self._words_begun(texts)
        ]
        return self._without_spaces(self._known(rows))

    def decode(self, rows: Sequence[Sequence[int]]) -> list[str]:
        """Returns the text of each row of ids."""
        if len(rows) < _MANY:
            return [self._processor.decode(row) for row in rows]
        return self._processor.decode(rows, num_threads=available_cores())

    def stream(self, skipped: Collection[int] = ()) -> SentencePieceStream:
        """Returns what decodes ids one by one."""
        return SentencePieceStream(self._processor, skipped)

    def split(self, text: str) -> list[str]:
        """Returns the pieces of the normalized text; unknown ones as they are spelled in it."""
        [spaced] = self._words_begun([text])
        pieces = self._processor.encode(spaced, out_type=str)
        return list(compress(pieces, is_kept(pieces, frozenset(self.symbols), _SPACE)))

    def join(self, pieces: Sequence[str]) -> str:
        """Returns the text of pieces, those that the vocabulary lacks included."""
        return self._processor.decode_pieces(list(pieces))

    def place(self, text: str) -> list[Placed]:
        """Returns the tokens of a text with their places.

        The pieces spell the normalized text, whose offsets SentencePiece gives; a character that
        became several pieces ("㍿") belongs to each.
        """
        if not self.symbols:
            return self._place_pieces(text)
        [spaced] = self._apart.begin_words([text])
        places = self._apart.places(text)
        placed = [
            one._replace(start=places[one.start], end=places[one.end])
            for one in self._place_pieces(spaced)
        ]
        pieces = [one.spelling for one in placed]
        return list(compress(placed, is_kept(pieces, frozenset(self.symbols), _spelled(_SPACE))))

    def _place_pieces(self, text: str) -> list[Placed]:
        normalized, offsets = self._processor.normalize(text, with_offsets=True)
        # A byte piece is part of a character, so places in the normalized text count bytes.
        characters = [number for number, one in enumerate(normalized) for _ in one.encode()]
        placed, place = [], 0
        [ids] = self._known([self._processor.encode(text, out_type=int)])
        for token, piece in zip(ids, self._processor.encode(text, out_type=str), strict=True):
            size = 1 if self._processor.is_byte(token) else len(piece.encode())
            spaces = len(piece.encode()) - len(piece.lstrip(_SPACE).encode())
            place += size
            if spaces == size:
                first = end = offsets[characters[place - 1] + 1]
            else:
                first = offsets[characters[place - size + spaces]]
                last = characters[place - 1]
                behind = (offset for offset in offsets[last + 1 :] if offset > offsets[last])
                end = next(behind, len(text))
            is_unknown = self._processor.is_unknown(token)
            placed.append(Placed(_spelled(piece), first, end, is_unknown))
        return placed

    def piece(self, token: int) -> str:
        """Returns the piece of an id; "" for one behind the pieces."""
        return self._processor.id_to_piece(token) if token < self.size else ""

    def id_of(self, piece: str) -> int | None:
        """Returns the id of a piece, or None if the vocabulary lacks it."""
        token = self._processor.piece_to_id(piece)
        return None if token == self._processor.unk_id() or token >= self.size else token

    def spelling(self, token: int) -> str:
        """Returns an id's text as it stands inside a text, with the space before it if any."""
        return _spelled(self.piece(token))

    def token_bytes(self, token: int) -> tuple[bytes, bytes]:
        """Returns the bytes that an id adds at the beginning of a text, and behind others."""
        processor = self._processor
        if processor.is_control(token) or processor.is_unknown(token) or processor.is_unused(token):
            return b"", b""
        piece = processor.id_to_piece(token)
        inside = (
            bytes([int(piece[3:5], 16)]) if processor.is_byte(token) else _spelled(piece).encode()
        )
        return inside.lstrip(b" "), inside

    def begins_word(self, token: int) -> bool:
        """Returns whether an id's piece begins a word."""
        return self.piece(token).startswith(_SPACE)


def _spelled(piece: str) -> str:
    return piece.replace(_SPACE, " ")


def _special_ids(processor: sentencepiece.SentencePieceProcessor) -> SpecialIds:
    """Returns the special ids; a model without a pad gets the id after its last piece for it."""
    pad, bos, eos = processor.pad_id(), processor.bos_id(), processor.eos_id()
    if eos < 0:
        raise ValueError(
            "the SentencePiece model has no end-of-sentence piece: train it without --eos_id=-1."
        )
    mask = processor.piece_to_id(MASK_PIECE)
    slots, marks = (tuple(map(processor.piece_to_id, own)) for own in (SLOTS, TERM_MARKS))
    return SpecialIds(
        pad=processor.get_piece_size() if pad < 0 else pad,
        unk=processor.unk_id(),
        bos=None if bos < 0 else bos,
        eos=eos,
        mask=None if mask == processor.unk_id() else mask,
        slots=() if processor.unk_id() in slots else slots,
        term_marks=() if processor.unk_id() in marks else marks,
    )
