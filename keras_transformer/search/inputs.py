"""Checks of texts and their lengths before a search, the same for every engine; they need neither
Keras nor TensorFlow.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Literal, get_args

from keras_transformer.config.checks import check_choice
from keras_transformer.search.model_limits import ModelLimits

# Attention's memory grows with the square of the length; trained models end far below this.
MAX_SOURCE_LENGTH = 512
LongTexts = Literal["refuse", "cut"]


class TooLongError(ValueError):
    """A source text holds more tokens than allowed.

    Attributes:
        index: Its place among the texts.
        tokens: How many tokens it has, without eos.
        limit: How many are allowed.
    """

    def __init__(self, index: int, tokens: int, limit: int) -> None:
        self.index, self.tokens, self.limit = index, tokens, limit
        super().__init__(
            f"the source at index {index} has {tokens} tokens, more than the {limit} that "
            "max_source_length and the model's positions allow: split it (SentenceTranslator "
            "does), cut it with long_texts='cut', or raise max_source_length."
        )


def check_texts(texts: Iterable[str], name: str = "texts") -> list[str]:
    """Returns the texts as a list.

    Raises:
        TypeError: They are one string, or one of them is not a string; the message names `name`.
        ValueError: One holds a lone surrogate, which no UTF-8 can carry.
    """
    if isinstance(texts, str | bytes):
        raise TypeError(
            f"{name} must be a list of strings, got one {type(texts).__name__}: write [text]."
        )
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


class SourceLimit:
    """How to treat sources that are longer than a translator accepts.

    Args:
        max_source_length: Most tokens of a source, without eos; no limit if None.
        long_texts: "refuse" raises, "cut" drops the tokens beyond the limit.
        limits: What the model can take, with the marks of languages around a text.

    Attributes:
        length: Most tokens of a source, whichever bound is lower; None if there is none.

    Raises:
        TypeError: `max_source_length` is not an integer.
        ValueError: A value is out of range.
    """

    def __init__(
        self, max_source_length: int | None, long_texts: LongTexts, limits: ModelLimits
    ) -> None:
        if max_source_length is not None:
            if isinstance(max_source_length, bool) or not isinstance(max_source_length, int):
                raise TypeError(
                    f"max_source_length must be an integer or None, got {max_source_length!r}."
                )
            if max_source_length < 1:
                raise ValueError(f"max_source_length must be at least 1, got {max_source_length}.")
        check_choice("long_texts", long_texts, get_args(LongTexts))
        bounds = [max_source_length, limits.source_positions]
        self.length = min((bound for bound in bounds if bound is not None), default=None)
        self._cuts = long_texts == "cut"

    def fit(self, rows: Sequence[Any]) -> list[Any]:
        """Returns the rows of ids, cut if `long_texts` is "cut".

        Raises:
            TooLongError: A row is too long and must not be cut.
        """
        if self.length is None:
            return list(rows)
        for index, row in enumerate(rows):
            if len(row) > self.length and not self._cuts:
                raise TooLongError(index, len(row), self.length)
        return [row[: self.length] for row in rows]
