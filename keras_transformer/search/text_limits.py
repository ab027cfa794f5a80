"""Checks of texts for a model with one stack: ids against its vocabulary, lengths against its
positions, and cutting. They need neither Keras nor TensorFlow.
"""

import operator
from collections.abc import Sequence
from typing import get_args

from keras_transformer.config.checks import check_choice
from keras_transformer.config.special_ids import SpecialIds
from keras_transformer.search.model_limits import IdRows, LongTexts

# Attention's memory grows with the square of the length.
MAX_TEXT_LENGTH = 1024


class LongTextError(ValueError):
    """A text has more tokens than allowed.

    Attributes:
        index: Its place among the texts.
        tokens: How many tokens it has, without special ones.
        limit: How many are allowed.
    """

    def __init__(self, index: int, tokens: int, limit: int) -> None:
        self.index, self.tokens, self.limit = index, tokens, limit
        super().__init__(
            f"the text at index {index} has {tokens} tokens, more than the {limit} that "
            "max_text_length and the model's positions allow: cut it with long_texts='cut', or "
            "raise max_text_length."
        )


class LengthLimit:
    """How to treat texts that are longer than a model accepts.

    Args:
        max_text_length: Most tokens of a text, without special ones; no limit if None.
        long_texts: "refuse" raises, "cut" drops the tokens beyond the limit.
        room: Most tokens that the model's positions leave to a text; None if there is no limit.

    Attributes:
        length: Most tokens of a text, whichever bound is lower; None if there is none.

    Raises:
        TypeError: `max_text_length` is not an integer.
        ValueError: A value is out of range.
    """

    def __init__(
        self, max_text_length: int | None, long_texts: LongTexts, room: int | None
    ) -> None:
        if max_text_length is not None:
            if isinstance(max_text_length, bool) or not isinstance(max_text_length, int):
                raise TypeError(
                    f"max_text_length must be an integer or None, got {max_text_length!r}."
                )
            if max_text_length < 1:
                raise ValueError(f"max_text_length must be at least 1, got {max_text_length}.")
        check_choice("long_texts", long_texts, get_args(LongTexts))
        bounds = [bound for bound in (max_text_length, room) if bound is not None]
        self.length = min(bounds, default=None)
        self._cuts = long_texts == "cut"

    def fit(self, rows: IdRows) -> list[list[int]]:
        """Returns the rows of ids, cut at their end if `long_texts` is "cut".

        Raises:
            LongTextError: A row is too long and must not be cut.
        """
        return [list(row[: self.length]) for row in self._checked(rows)]

    def fit_prompts(self, rows: IdRows, kept: int | None) -> list[list[int]]:
        """Returns the prompts, cut like `fit` but at the beginning, since a text continues the
        prompt's end.

        Args:
            rows: The prompts.
            kept: Most tokens of a prompt if long ones are cut, at least 1; no limit if None.
        """
        first = -kept if self._cuts and kept is not None else None
        return [list(row[first:]) for row in self._checked(rows)]

    def fit_pairs(
        self, firsts: IdRows, seconds: IdRows, added: int
    ) -> list[tuple[list[int], list[int]]]:
        """Returns pairs whose tokens together fit; the longer text is cut first, as by Hugging
        Face's tokenizers.

        Args:
            firsts: Ids of each first text.
            seconds: Ids of its second text.
            added: Special tokens that a pair has more than a text.

        Raises:
            LongTextError: A pair is too long and must not be cut.
        """
        pairs = []
        for index, (first, second) in enumerate(zip(firsts, seconds, strict=True)):
            one, two = list(first), list(second)
            if self.length is not None:
                limit = max(0, self.length - added)
                over = len(one) + len(two) - limit
                if over > 0 and not self._cuts:
                    raise LongTextError(index, len(one) + len(two), limit)
                # Of an odd number of tokens the longer text keeps one more, or the second.
                half = (limit + (len(one) > len(two))) // 2
                kept = min(len(one), max(limit - len(two), half))
                one, two = one[:kept], two[: limit - kept]
            pairs.append((one, two))
        return pairs

    def _checked(self, rows: IdRows) -> IdRows:
        if self.length is not None and not self._cuts:
            for index, row in enumerate(rows):
                if len(row) > self.length:
                    raise LongTextError(index, len(row), self.length)
        return rows


def check_vocabulary(rows: IdRows, vocab_size: int, max_positions: int | None) -> None:
    """Checks rows of ids, special ones included, before a model sees them.

    Args:
        rows: The rows.
        vocab_size: The model's.
        max_positions: Most tokens of a row; None if there is no limit.

    Raises:
        ValueError: An id is outside the vocabulary, or a row has more tokens than positions.
    """
    for number, row in enumerate(rows):
        if len(row) and not 0 <= min(row) <= max(row) < vocab_size:
            wrong = next(token for token in row if not 0 <= token < vocab_size)
            raise ValueError(
                f"token ids must lie in 0 to {vocab_size - 1}, got {wrong} in row {number}."
            )
        if max_positions is not None and len(row) > max_positions:
            raise ValueError(
                f"row {number} has {len(row)} tokens with special ones, more than the model's "
                f"max_positions ({max_positions}): split it."
            )


def check_text_ids(
    row: Sequence[int], special_ids: SpecialIds, start: int | None, name: str
) -> None:
    """Checks that a row holds ids of text alone.

    Args:
        row: The ids.
        special_ids: Those of the vocabulary.
        start: The one that a model puts before a text.
        name: What messages call the row.

    Raises:
        ValueError: It holds a special id that does not come from text.
    """
    wrong = special_ids.added_to_text.intersection(row)
    if wrong:
        raise ValueError(
            f"{name} holds token {min(wrong)}: it must hold ids of text, without padding "
            f"({special_ids.pad}), start ({start}) and end ({special_ids.eos})."
        )


def plain_rows(rows: Sequence[Sequence[int]]) -> list[list[int]]:
    """Returns rows of ids as lists of plain integers.

    Raises:
        TypeError: One of them is not a row of integers.
    """
    plain = []
    for number, row in enumerate(rows):
        try:
            plain.append([operator.index(token) for token in row])
        except TypeError as error:
            raise TypeError(
                f"ids must be rows of integers, [[4, 5]] for one text, got {row!r} as row {number}."
            ) from error
    return plain
