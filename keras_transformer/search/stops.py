"""Stop strings and stop tokens, which end a text before the model's end token does. A stop string
may span several tokens; text that may be the beginning of one is held back.
"""

import copy
import operator
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, Literal

from keras_transformer.text.subwords.interface import SubwordStream

StopReason = Literal["stop", "eos", "length"]
# The most stops of a search, and the most characters of one: each token is compared with all.
_MOST_STOPS = 64
_MOST_CHARACTERS = 256


def check_strings(name: str, given: Any) -> tuple[str, ...]:
    """Returns the strings of an option as a tuple; one string counts as a list of it.

    Raises:
        TypeError: They are not strings.
        ValueError: One is empty, too long or not valid Unicode, or there are too many.
    """
    rows = (given,) if isinstance(given, str) else given
    if isinstance(rows, bytes) or not isinstance(rows, Iterable):
        raise TypeError(f"{name} must be a string or a list of strings, got {given!r}.")
    rows = tuple(rows)
    _check_count(name, rows)
    for one in rows:
        if not isinstance(one, str):
            raise TypeError(f"{name} must be a string or a list of strings, got {one!r} in it.")
        if not 1 <= len(one) <= _MOST_CHARACTERS:
            raise ValueError(
                f"{name} must hold strings of 1 to {_MOST_CHARACTERS} characters, got one of "
                f"{len(one)}: leave an empty one out, or shorten it."
            )
        try:
            one.encode()
        except UnicodeEncodeError as error:
            raise ValueError(f"{name} must be valid Unicode, got {one!r}.") from error
    return rows


def check_stop_tokens(stop_tokens: Any) -> tuple[int, ...]:
    """Returns stop tokens as a tuple of plain integers.

    Raises:
        TypeError: They are not integers.
        ValueError: One is negative, or there are too many.
    """
    try:
        if any(isinstance(token, bool) for token in stop_tokens):
            raise TypeError("a truth value is no id")
        rows = tuple(map(operator.index, stop_tokens))
    except TypeError as error:
        raise TypeError(
            f"stop_tokens must be a list of token ids, got {stop_tokens!r}: write [id] for one."
        ) from error
    _check_count("stop_tokens", rows)
    if min(rows, default=0) < 0:
        raise ValueError(f"stop_tokens must be token ids from 0 on, got {min(rows)}.")
    return rows


def _check_count(name: str, rows: Sequence[Any]) -> None:
    if len(rows) > _MOST_STOPS:
        raise ValueError(f"{name} may name at most {_MOST_STOPS}, got {len(rows)}: give fewer.")


class StopFilter:
    """Takes a text piece by piece and gives back what comes before the first stop string.

    Of several stops that one piece completes, the one that begins first counts.

    Args:
        stop: The stop strings.

    Attributes:
        stopped: Whether a stop string was found; nothing is given back any more then.

    Example:
        >>> stop = StopFilter(["END"])
        >>> [stop.add(piece) for piece in ["a ", "b E", "N", "D c"]], stop.stopped
        (['a ', 'b ', '', ''], True)
    """

    def __init__(self, stop: Sequence[str]) -> None:
        self._stop = stop
        self._held = ""
        self.stopped = False

    def add(self, piece: str) -> str:
        """Takes the next piece and returns the text that no stop string can hold any more."""
        if self.stopped or not piece:
            return ""
        text = self._held + piece
        found = [place for place in map(text.find, self._stop) if place >= 0]
        if found:
            self._held, self.stopped = "", True
            return text[: min(found)]
        certain = len(text) - max((_overlap(text, one) for one in self._stop), default=0)
        self._held = text[certain:]
        return text[:certain]

    def finish(self) -> str:
        """Returns the text still held back: the text has ended without a stop string."""
        held, self._held = self._held, ""
        return held


def _overlap(text: str, stop: str) -> int:
    """Returns how many of the text's last characters the stop string begins with."""
    longest = min(len(text), len(stop) - 1)
    return next((size for size in range(longest, 0, -1) if text.endswith(stop[:size])), 0)


class StopWatch:
    """Follows one hypothesis token by token.

    Args:
        stop_tokens: Tokens that end it.
        stop: Stop strings.
        stream: Decodes its tokens; None if there are no stop strings.
    """

    def __init__(
        self, stop_tokens: Collection[int], stop: Sequence[str], stream: SubwordStream | None
    ) -> None:
        self._stop_tokens, self._stream = stop_tokens, stream
        self._filter = StopFilter(stop)

    def add(self, token: int) -> bool:
        """Takes the next token; returns whether the hypothesis ends with it."""
        if self._stream is not None:
            self._filter.add(self._stream.add(token))
        return self._filter.stopped or token in self._stop_tokens

    def fork(self) -> "StopWatch":
        """Returns a watch of another hypothesis that has the same tokens so far."""
        other = copy.copy(self)
        other._filter = copy.copy(self._filter)
        other._stream = None if self._stream is None else self._stream.fork()
        return other


class Stops:
    """The stops of a search, as an engine watches for them.

    Args:
        stop: Stop strings.
        stop_tokens: Tokens that end a text.
        stream: Makes a decoder of single ids; None if only ids are known.

    Raises:
        ValueError: There are stop strings, but no `stream` to decode ids.
    """

    def __init__(
        self,
        stop: tuple[str, ...],
        stop_tokens: tuple[int, ...],
        stream: Callable[[], SubwordStream] | None = None,
    ) -> None:
        if stop and stream is None:
            raise ValueError(
                f"stop={list(stop)} needs a tokenizer, which a model alone does not have: call a "
                "Generator, OnnxGenerator, Translator or OnnxTranslator, or give stop_tokens "
                "instead."
            )
        self._stop, self._stop_tokens = stop, frozenset(stop_tokens)
        self._new_stream = stream if stop else None

    def watch(self, prefix: Iterable[int]) -> StopWatch:
        """Returns a watch of what follows a prefix, which is not searched for stops."""
        stream = None if self._new_stream is None else self._new_stream()
        if stream is not None:
            for token in prefix:
                stream.add(token)
        return StopWatch(self._stop_tokens, self._stop, stream)
