"""The text of a SentencePiece model's ids as they arrive: each part as soon as no later token can
change it.
"""

import codecs
import copy
from collections.abc import Collection

import sentencepiece

# UTF-8 spells a character in at most 4 bytes, so 3 may wait for the next one.
_MOST_WAITING_BYTES = 3


class SentencePieceStream:
    """Decodes ids one by one; the pieces, joined, equal the text of all ids decoded at once.

    Only bytes (`<0xE2>`) that a further byte may complete to a character are held back. As in
    SentencePiece, a space that opens a sentence is dropped and a broken byte becomes U+FFFD.
    Models with denormalization rules, which `train_tokenizer` never sets, rewrite text afterwards
    and cannot be streamed.

    Args:
        processor: The SentencePiece model.
        skipped: Ids without text, such as pad and eos. Special ids that are not skipped are spelled
            as SentencePiece spells them: unk as " ⁇ ".

    Example:
        >>> stream = SentencePieceStream(processor, skipped={0, 1, 2, 3})  # doctest: +SKIP
        >>> [stream.add(token) for token in (57, 12, 3)], stream.finish()  # doctest: +SKIP
        (['a', ' house', ''], '')
    """

    def __init__(
        self, processor: sentencepiece.SentencePieceProcessor, skipped: Collection[int] = ()
    ) -> None:
        self._processor = processor
        self._skipped = frozenset(skipped)
        # Ids that later text still depends on, and how much of their text has been returned.
        self._window: list[int] = []
        self._returned = 0

    def add(self, token: int) -> str:
        """Takes the next id and returns the text that is now certain: often one piece, or "".

        Raises:
            IndexError: The id is outside the vocabulary.
        """
        if token in self._skipped:
            return ""
        is_byte = self._processor.is_byte(token)  # Raises for an id outside the vocabulary.
        self._window.append(token)
        text = self._release(len(self._window) - self._waiting_bytes())
        if not is_byte:
            self._shorten()
        return text

    def finish(self) -> str:
        """Returns the text still held back and resets the stream."""
        text = self._release(len(self._window))
        self._window, self._returned = [], 0
        return text

    def fork(self) -> "SentencePieceStream":
        """Returns another stream that has taken the same ids so far."""
        other = copy.copy(self)
        other._window = list(self._window)
        return other

    def _release(self, count: int) -> str:
        text = self._processor.decode(self._window[:count])
        released = text[self._returned :]
        self._returned = len(text)
        return released

    def _shorten(self) -> None:
        """Forgets all but the last id, so that a token's cost does not grow with the text.

        A piece keeps its leading space if text comes before it; one id with text is enough.
        """
        last = self._window[-1:]
        text = self._processor.decode(last)
        if text:
            self._window, self._returned = last, len(text)

    def _waiting_bytes(self) -> int:
        """Returns how many of the last ids are bytes of a character that is not complete."""
        tail = b""
        for token in reversed(self._window[-_MOST_WAITING_BYTES:]):
            if not self._processor.is_byte(token):
                break
            # A byte's piece reads "<0xE2>".
            tail = bytes([int(self._processor.id_to_piece(token)[3:5], 16)]) + tail
            try:
                _, used = codecs.utf_8_decode(tail, "strict", False)
            except UnicodeDecodeError:
                continue
            return len(tail) - used
        return 0
