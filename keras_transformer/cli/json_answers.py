"""`--jsonl`: reads a JSON object a line and writes it again with the answer as further keys.

All other keys of a line are written unchanged, byte for byte.
"""

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, BinaryIO, NoReturn

from keras_transformer.cli.input_lines import read_blocks
from keras_transformer.data.sources.json_objects import (
    LineError,
    check_whole_characters,
    read_object,
)
from keras_transformer.search.options import Hypothesis

TEXT, SECOND_TEXT, SOURCE, TARGET = "text", "second_text", "source", "target"
# What a key must hold, in words.
_KINDS: dict[Any, str] = {
    str: "a text",
    list[str]: "a list of texts",
    list[int]: "a list of integers",
}


class RecordText(str):
    """The text of a JSON line, the value of the first key that is read ("" of a list).

    Attributes:
        line: The line.
        values: The object in it.
    """

    line: str
    values: dict[str, Any]

    def __new__(cls, line: str, values: dict[str, Any], key: str) -> "RecordText":
        """Takes the text out of the object."""
        text = super().__new__(cls, values[key] if isinstance(values[key], str) else "")
        text.line, text.values = line, values
        return text


@dataclass(frozen=True, kw_only=True)
class JsonAnswers:
    """The keys of JSON lines that a command reads and those that it adds.

    Args:
        answer: Takes texts and returns the further keys of each line, in order.
        writes: Names of these keys, which no line may have.
        reads: Keys that every line needs, and what they hold: `str`, `list[str]` or `list[int]`.
        optional: A text that all lines have or none; None if there is no such key.
    """

    answer: Callable[[list[RecordText]], Iterable[Mapping[str, Any]]]
    writes: Sequence[str]
    reads: Mapping[str, Any] = field(default_factory=lambda: {TEXT: str})
    optional: str | None = None

    def read(self, stream: BinaryIO, block_lines: int) -> Iterator[list[RecordText]]:
        """Yields the texts of the stream's lines in order, `block_lines` at a time.

        Raises:
            ValueError: A line cannot be read; the message names it, counted from 1. The lines
                before it have been yielded.
        """
        done, reads = 0, dict(self.reads)
        for lines in read_blocks(stream, block_lines):
            block: list[RecordText] = []
            for line in lines:
                try:
                    record = _record(line)
                    if done == len(block) == 0 and self.optional in record:
                        reads[self.optional] = str
                    self._check(record, reads)
                except LineError as error:
                    if block:
                        yield block
                    number = done + len(block) + 1
                    raise ValueError(f"line {number} of the input: {error}") from error
                block.append(RecordText(line, record, next(iter(reads))))
            yield block
            done += len(block)

    def lines(self, block: Sequence[RecordText]) -> list[str]:
        """Returns the lines to be written for a block."""
        found = self.answer(list(block))
        return [_extended(text, more) for text, more in zip(block, found, strict=True)]

    def _check(self, record: Mapping[str, Any], reads: Mapping[str, Any]) -> None:
        for name, kind in reads.items():
            if name not in record:
                given = ", ".join(map(repr, record)) or "none"
                raise LineError(f"expected the key {name!r} ({_KINDS[kind]}), got {given}.")
            _check_value(name, record[name], kind)
        if self.optional in record and self.optional not in reads:
            raise LineError(f"expected {self.optional!r} in all lines or in none.")
        for name in self.writes:
            if name in record:
                raise LineError(f"the key {name!r} is reserved for the answer: rename it.")


def hypothesis_values(found: Hypothesis) -> dict[str, Any]:
    """Returns the values to write for a hypothesis."""
    return {
        "text": found.text,
        "score": found.score,
        "log_probability": found.log_probability,
        "ids": list(map(int, found.ids)),
        "stop_reason": found.stop_reason,
        "low_confidence": found.low_confidence,
    }


def _record(line: str) -> dict[str, Any]:
    if not line.strip():
        raise LineError("expected a JSON object, got an empty line: leave it out.")
    return read_object(line, object_pairs_hook=_object, parse_constant=_no_number)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise LineError(f"the key {name!r} is given twice: leave one out.")
        found[name] = value
    return found


def _no_number(word: str) -> NoReturn:
    raise LineError(f"expected JSON, which has no {word}: write null or a text.")


def _check_value(name: str, value: Any, kind: Any) -> None:
    texts = [value] if kind is str else value
    item = int if kind == list[int] else str
    if not isinstance(texts, list) or any(type(one) is not item for one in texts):
        shown = json.dumps(value)
        shown = shown if len(shown) <= 40 else shown[:40] + "..."
        raise LineError(f"{name!r} must be {_KINDS[kind]}, got {shown}.")
    for text in texts if item is str else ():
        check_whole_characters(name, text)


def _extended(text: RecordText, more: Mapping[str, Any]) -> str:
    """Returns the line unchanged but for the answer before its closing brace."""
    begun = text.line.strip()[:-1].rstrip()
    answer = json.dumps(_finite(more), ensure_ascii=False, allow_nan=False)
    return f"{begun}, {answer[1:]}"


def _finite(value: Any) -> Any:
    """Returns a value with None for numbers that JSON cannot spell, such as infinity."""
    if isinstance(value, Mapping):
        return {name: _finite(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
