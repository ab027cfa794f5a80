"""The text of tokens that arrive one at a time, up to a stop."""

import dataclasses
import itertools
import math
from collections.abc import Iterable, Iterator, Sequence

from keras_transformer.search.options import Hypothesis, SearchOptions
from keras_transformer.search.stops import StopFilter, StopReason
from keras_transformer.text.passage import Passage
from keras_transformer.translation.text_ids import TextIds


class Written:
    """One text that is being written.

    Args:
        text_ids: Texts and ids.
        options: The search's options, for its stops.
        begin: Ids that it follows, in which stops mean nothing.

    Attributes:
        said: The text of `begin`.
        stopped: Whether a stop has ended it.
    """

    def __init__(self, text_ids: TextIds, options: SearchOptions, begin: Sequence[int]) -> None:
        self._stream = text_ids.new_stream()
        self._filter = StopFilter(options.stop)
        self._stop_tokens = options.stop_tokens
        self.said = "".join([self._stream.add(token) for token in begin])
        self.stopped = False

    def pieces(self, tokens: Iterable[int]) -> Iterator[str]:
        """Yields the text of all tokens that follow in pieces, some of them empty; called once."""
        for token in tokens:
            if token in self._stop_tokens:
                self.stopped = True
                break
            yield self._filter.add(self._stream.add(token))
            if self._filter.stopped:
                break
        yield self._filter.add(self._stream.finish()) + self._filter.finish()
        self.stopped |= self._filter.stopped

    def stop_reason(self, length: int, limit: int) -> StopReason | None:
        """Returns what ended a text of `length` tokens, of which `limit` were allowed."""
        if self.stopped:
            return "stop"
        return "length" if length >= limit else "eos"


def end_text(
    one: Hypothesis, target: TextIds, options: SearchOptions, begin: int, limit: int
) -> Hypothesis:
    """Returns a translation up to a stop, and what ended it.

    Args:
        one: The translation with its whole text.
        target: Texts and ids of the target side.
        options: The search's options.
        begin: How many of its tokens are a prefix.
        limit: Its most tokens.
    """
    if one.score == -math.inf:
        return one
    if not (options.stop or options.stop_tokens):
        reason: StopReason = "length" if len(one.ids) >= limit else "eos"
        return dataclasses.replace(one, stop_reason=reason)
    written = Written(target, options, one.ids[:begin])
    text = written.said + "".join(written.pieces(one.ids[begin:]))
    return dataclasses.replace(one, text=text, stop_reason=written.stop_reason(len(one.ids), limit))


def joined_to_stop(passage: Passage, one: Hypothesis) -> str:
    """Returns the translation of a text of one part; nothing stands behind a stop."""
    if one.stop_reason == "stop":
        return passage.layout[0] + passage.put_back(0, one.text)
    return passage.join([one.text])


def to_stop(
    target: TextIds,
    options: SearchOptions,
    tokens: Iterator[int],
    begin: int,
    before: str,
    behind: str,
) -> Iterator[str]:
    """Yields a translation in pieces up to a stop, as `joined_to_stop` has it.

    Args:
        target: Texts and ids of the target side.
        options: The search's options.
        tokens: Its tokens as they are decoded.
        begin: How many of them are a prefix.
        before: What stands before it.
        behind: What stands behind it, unless a stop ends it.
    """
    written = Written(target, options, list(itertools.islice(tokens, begin)))
    yield from filter(None, [before, written.said])
    yield from filter(None, written.pieces(tokens))
    if behind and not written.stopped:
        yield behind
