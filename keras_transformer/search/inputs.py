"""Checks token ids and prefixes against the vocabulary and the limits, before any search. Needs
neither Keras nor TensorFlow, so that both translators refuse the same input in the same words.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Literal, get_args

from keras_transformer.config.special_ids import SpecialIds
from keras_transformer.search.options import SearchOptions

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


class PrefixError(ValueError):
    """A translation cannot begin with its prefix.

    Attributes:
        index: The prefix's place among the sentences.
        reason: What is wrong with it.
    """

    def __init__(self, index: int, reason: str) -> None:
        self.index, self.reason = index, reason
        super().__init__(f"the prefix of sentence {index} {reason}")


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
    """What happens to sources that are longer than a translator accepts.

    Args:
        max_source_length: Most tokens of a source, without eos; no limit if None.
        long_texts: "refuse" raises, "cut" drops the tokens beyond the limit.
        max_positions: Positions that the model learned, which limit the tokens plus eos; None for
            sinusoids.

    Attributes:
        length: Most tokens of a source, whichever bound is lower; None if there is none.

    Raises:
        TypeError: `max_source_length` is no integer.
        ValueError: A value is out of range.
    """

    def __init__(
        self, max_source_length: int | None, long_texts: LongTexts, max_positions: int | None
    ) -> None:
        if max_source_length is not None:
            if isinstance(max_source_length, bool) or not isinstance(max_source_length, int):
                raise TypeError(
                    f"max_source_length must be an integer or None, got {max_source_length!r}."
                )
            if max_source_length < 1:
                raise ValueError(f"max_source_length must be at least 1, got {max_source_length}.")
        if long_texts not in get_args(LongTexts):
            raise ValueError(
                f"long_texts must be one of {', '.join(get_args(LongTexts))}, got {long_texts!r}."
            )
        learned = None if max_positions is None else max_positions - 1
        bounds = [bound for bound in (max_source_length, learned) if bound is not None]
        self.length = min(bounds, default=None)
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


def check_token_ids(options: SearchOptions, vocab_size: int, special_ids: SpecialIds) -> None:
    """Checks the token ids that options name against the target vocabulary.

    Raises:
        ValueError: An id is outside it, or padding or the start token is forced.
    """
    named = [(token, "banned_sequences") for row in options.banned_sequences for token in row]
    named += [(token, "forced_tokens") for _, token in options.forced_tokens]
    for token, name in named:
        if token >= vocab_size:
            raise ValueError(
                f"{name} names token {token}, but the target vocabulary has the ids 0 to "
                f"{vocab_size - 1}."
            )
        if name == "forced_tokens" and token in special_ids.never_generated:
            raise ValueError(
                f"forced_tokens names token {token}: padding ({special_ids.pad}) and the start "
                f"token ({_start(special_ids)}) are never generated."
            )


def check_prefixes(
    prefixes: Sequence[Sequence[int]],
    limits: Sequence[int],
    vocab_size: int,
    special_ids: SpecialIds,
) -> list[list[int]]:
    """Returns the prefixes as lists of plain integers.

    Args:
        prefixes: Ids that each translation begins with, without begin and end tokens; [] for none.
        limits: Longest translation of each sentence, its end token included.
        vocab_size: Size of the target vocabulary.
        special_ids: Its ids that are no text.

    Raises:
        PrefixError: A prefix has an id that is not allowed, or leaves no room for another token.
        ValueError: Their number is not that of the sentences.
    """
    if len(prefixes) != len(limits):
        raise ValueError(
            f"got {len(prefixes)} prefixes for {len(limits)} sentences: give one for each, empty "
            "if a sentence has none."
        )
    rows = [[int(token) for token in prefix] for prefix in prefixes]
    for number, (row, limit) in enumerate(zip(rows, limits, strict=True)):
        for token in row:
            if not 0 <= token < vocab_size or token in special_ids.added_to_text:
                raise PrefixError(
                    number,
                    f"holds token {token}: it must hold ids from 0 to {vocab_size - 1}, without "
                    f"padding ({special_ids.pad}), start ({_start(special_ids)}) and end "
                    f"({special_ids.eos}).",
                )
        if len(row) >= limit:
            raise PrefixError(
                number,
                f"has {len(row)} tokens, but its translation has at most {limit}, the end token "
                "included: shorten it or raise the limit.",
            )
    return rows


def _start(special_ids: SpecialIds) -> int:
    return special_ids.decoder_start if special_ids.bos is None else special_ids.bos
