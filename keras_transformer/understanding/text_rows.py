"""An encoder's rows of texts, of pairs of texts or of ids: cut or refused where they are too long,
with their special tokens.
"""

from collections.abc import Sequence
from itertools import compress

import numpy as np

from keras_transformer.config.encoder_only import EncoderConfig
from keras_transformer.search.model_limits import IdRows, LongTexts
from keras_transformer.search.text_limits import LengthLimit, check_text_ids, plain_rows
from keras_transformer.text.layout import encoder_row
from keras_transformer.text.subwords.interface import Placed, words_in_text
from keras_transformer.text.subwords.symbols_apart import is_kept
from keras_transformer.translation.text_ids import TextIds, check_texts
from keras_transformer.understanding.engine import Array, Row, WordFeatures

# The words of a text, each with its ids.
Words = list[tuple[str, list[int]]]


class TextRows:
    """Makes the rows that an encoder reads.

    Args:
        config: The model's.
        text_ids: Texts and ids.
        max_text_length: Most tokens of a text, unless the model allows fewer; None for no other
            limit than the model's.
        long_texts: What to do with longer texts: "refuse" raises `LongTextError`, "cut" drops their
            ends.
        features: Reads words for a model with features; None for others.

    Attributes:
        max_text_length: Most tokens of a text; None if there is no limit.
    """

    def __init__(
        self,
        config: EncoderConfig,
        text_ids: TextIds,
        max_text_length: int | None,
        long_texts: LongTexts,
        features: WordFeatures | None = None,
    ) -> None:
        if bool(config.features) != (features is not None):
            raise ValueError(
                f"the model reads features of {len(config.features)} other runs: give features="
                "RunFeatures(directory) for a model that reads some, and only then."
            )
        self._features = features
        self._text_ids = text_ids
        self._special_ids = config.special_ids
        self._separators = config.pair_separators
        ends = len(encoder_row([], None, self._special_ids)[0])
        room = None if config.longest_row is None else config.longest_row - ends
        self._limit = LengthLimit(max_text_length, long_texts, room)
        self.max_text_length = self._limit.length

    def encode(self, texts: Sequence[str], name: str = "texts") -> list[list[int]]:
        """Returns the ids of texts without special ones, of any length.

        The piece of a space ("▁" of SentencePiece) before a mask is dropped. Training replaces
        whole pieces, spaces included, so a mask stands where a piece such as "▁red" stood.

        Args:
            texts: The texts.
            name: What messages call them.

        Raises:
            TypeError: `texts` is one string, or holds anything but strings.
        """
        rows = self._text_ids.encode(check_texts(texts, name))
        return [list(compress(row, self._kept(row))) for row in rows]

    def placed(self, text: str) -> list[Placed]:
        """Returns the tokens of a text that `encode` gives, each with its place in the text."""
        subwords = self._text_ids.subwords
        [row] = self._text_ids.encode([text])
        return list(compress(subwords.place(text), self._kept(row)))

    def words(self, texts: Sequence[str]) -> list[Words]:
        """Returns the words of each text, separated by white space, and the ids of each word.

        Raises:
            TypeError: A list of texts is one string, or holds anything but strings.
        """
        split = [text.split() for text in check_texts(texts)]
        spelled = [words_in_text(words, self._text_ids.subwords) for words in split]
        encoded = iter(self._text_ids.encode([word for words in spelled for word in words]))
        return [[(word, next(encoded)) for word in words] for words in split]

    def of_texts(self, texts: Sequence[str], seconds: Sequence[str] | None = None) -> list[Row]:
        """Returns the row of each text, or of each pair of texts.

        Raises:
            TypeError: A list of texts is one string, or holds anything but strings.
            ValueError: A text is too long, or there are not as many second texts as texts.
        """
        if self._features is not None:
            texts_words = self.words(texts)
            return self.of_words(texts_words, None if seconds is None else self.words(seconds))
        if seconds is None:
            return [self._row(ids) for ids in self._limit.fit(self.encode(texts))]
        pairs = self._fit_pairs(self.encode(texts), self.encode(seconds, "second_texts"))
        return [self._row(first, second) for first, second in pairs]

    def of_words(self, texts: Sequence[Words], seconds: Sequence[Words] | None = None) -> list[Row]:
        """Returns the row of each text, or of each pair of texts, from what `words` gives.

        Raises:
            ValueError: A text is too long, or there are not as many second texts as texts.
        """
        sides = [texts] if seconds is None else [texts, seconds]
        ids = [[[token for _, word in text for token in word] for text in side] for side in sides]
        fit: list[tuple[list[int], ...]]
        if seconds is None:
            fit = [(row,) for row in self._limit.fit(ids[0])]
        else:
            fit = [*self._fit_pairs(*ids)]
        if self._features is None:
            return [self._row(*row) for row in fit]
        read = self._features.read
        states = [read([[word for word, _ in text] for text in side]) for side in sides]
        return [
            self._row_of_words(row, [side[number] for side in sides], of_row)
            for number, (row, *of_row) in enumerate(zip(fit, *states, strict=True))
        ]

    def _row_of_words(
        self,
        ids: Sequence[Sequence[int]],
        texts: Sequence[Words],
        states: Sequence[tuple[Array, ...]],
    ) -> Row:
        """Returns the row of a text or a pair, with the states of its words at their tokens."""
        row, begin = self._row(*ids), int(self._special_ids.bos is not None)
        found = [np.zeros((len(row.token_ids), *one.shape[1:]), np.float32) for one in states[0]]
        for tokens, words, of_words in zip(ids, texts, states, strict=True):
            owners = np.repeat(np.arange(len(words)), [len(word) for _, word in words])
            for at_tokens, one in zip(found, of_words, strict=True):
                at_tokens[begin : begin + len(tokens)] = one[owners[: len(tokens)]]
            begin += len(tokens) + self._separators
        return row._replace(features=tuple(found))

    def _fit_pairs(
        self, firsts: list[list[int]], others: list[list[int]]
    ) -> list[tuple[list[int], list[int]]]:
        if len(firsts) != len(others):
            raise ValueError(
                f"got {len(others)} second texts for {len(firsts)} texts: give one for each."
            )
        return self._limit.fit_pairs(firsts, others, added=self._separators)

    def of_ids(self, ids: IdRows) -> list[Row]:
        """Returns the row of each text, given as ids without special ones.

        Raises:
            TypeError: An id is not an integer.
            ValueError: A row is too long, or holds a special id that no text gives; or the model
                reads features of words.
        """
        if self._features is not None:
            raise ValueError("the model reads features of words: give texts, not ids.")
        rows, special = plain_rows(ids), self._special_ids
        for number, row in enumerate(rows):
            check_text_ids(row, special, special.bos, f"row {number}")
        return [self._row(row) for row in self._limit.fit(rows)]

    def place(self, row: Row) -> tuple[int, int]:
        """Returns where the text's own tokens begin and end in the row of one text."""
        begin, ends = int(self._special_ids.bos is not None), len(self._special_ids.row_ends)
        return begin, len(row.token_ids) - ends

    def _kept(self, row: Sequence[int]) -> list[bool]:
        mask, space = self._special_ids.mask, self._text_ids.subwords.space
        if mask is None or space is None:
            return [True] * len(row)
        return is_kept(row, {mask}, space)

    def _row(self, first: Sequence[int], second: Sequence[int] | None = None) -> Row:
        return Row(*encoder_row(first, second, self._special_ids, self._separators))
