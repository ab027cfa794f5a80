"""Takes texts and returns rows of ids, and the reverse, with the SentencePiece model of one side:
whole texts, or token by token.
"""

from collections.abc import Iterable, Iterator, Sequence

import sentencepiece

from keras_transformer.config.special_ids import SpecialIds
from keras_transformer.search.inputs import IdRows
from keras_transformer.translation.streaming import stream_text

# For at least this many texts, the threads that SentencePiece starts for a list pay off.
_MANY = 64


class TextIds:
    """Converts between texts and ids of one side; any number of threads may share it.

    Args:
        processor: The SentencePiece model.
        special_ids: The model's ids that stand for no text.

    Attributes:
        processor: As given.
        special_ids: As given.
    """

    def __init__(
        self, processor: sentencepiece.SentencePieceProcessor, special_ids: SpecialIds
    ) -> None:
        self.processor = processor
        self.special_ids = special_ids
        self._without_text = special_ids.without_text

    def encode(self, texts: Sequence[str] | Sequence[bytes]) -> list[list[int]]:
        """Returns each text's ids, without bos and eos; bytes need not be valid UTF-8."""
        if len(texts) < _MANY:
            return [self.processor.encode(text) for text in texts]
        return self.processor.encode(texts)

    def decode(self, rows: IdRows) -> list[str]:
        """Returns the text of each row of ids; special ids are dropped."""
        plain = [[token for token in row if token not in self._without_text] for row in rows]
        if len(plain) < _MANY:
            return [self.processor.decode(row) for row in plain]
        return self.processor.decode(plain)

    def stream(self, ids: Iterable[int]) -> Iterator[str]:
        """Yields the text of ids as they arrive, in pieces that are never empty."""
        return stream_text(self.processor, ids, self._without_text)

    def split(self, text: str) -> list[str]:
        """Returns the pieces of the normalized text as spelled in it, unknown ones too."""
        return self.processor.encode(text, out_type=str)

    def pieces(self, ids: Iterable[int]) -> list[str]:
        """Returns the vocabulary's piece for each id, special ones included.

        A special id that the SentencePiece model has no piece for, such as a pad, gives "".
        """
        size = self.processor.get_piece_size()
        return [self.processor.id_to_piece(token) if token < size else "" for token in ids]
