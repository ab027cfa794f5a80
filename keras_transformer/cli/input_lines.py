"""The lines that a command reads: those of standard input in blocks, and the prefix of each."""

import itertools
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, TypeVar

from keras_transformer.data.sources.files import iter_lines, require_files
from keras_transformer.text.joined_lines import joined_lines

_Answer = TypeVar("_Answer")


def standard_input(command: str) -> BinaryIO:
    """Returns standard input; raises `ValueError` if the command was started without it."""
    if sys.stdin is None:
        raise ValueError(
            f"standard input is closed: {command} reads its text there, as with `< input.txt`."
        )
    return sys.stdin.buffer


def read_blocks(stream: BinaryIO, block_lines: int) -> Iterator[list[str]]:
    """Yields the stream's lines in order, `block_lines` at a time, without their line ends.

    Raises:
        ValueError: A line is not valid UTF-8; the message names it, counted from 1. The lines
            before it have been yielded.
    """
    block: list[str] = []
    for number, line in enumerate(stream, start=1):
        try:
            block.append(line.removesuffix(b"\n").removesuffix(b"\r").decode("utf-8"))
        except UnicodeDecodeError as error:
            if block:
                yield block
            raise ValueError(
                f"line {number} of the input is not valid UTF-8 (byte {error.start + 1} of the "
                "line): convert the text to UTF-8 first."
            ) from error
        if len(block) == block_lines:
            yield block
            block = []
    if block:
        yield block


def read_paragraphs(stream: BinaryIO, block_lines: int) -> Iterator[list[str]]:
    """Yields as `read_blocks` does, with the wrapped lines of each paragraph joined to one."""
    lines = itertools.chain.from_iterable(read_blocks(stream, 1))
    block: list[str] = []
    try:
        for line in joined_lines(lines):
            block.append(line)
            if len(block) == block_lines:
                yield block
                block = []
    except ValueError:
        if block:
            yield block
        raise
    if block:
        yield block


def answer_before_error(
    answer: Callable[..., _Answer], lines: Sequence[str], *others: Sequence[str] | None
) -> tuple[_Answer | None, ValueError | None]:
    """Answers the lines of a block up to the first line with an error.

    Args:
        answer: Takes lines and the values of `others` for them. An error about a line has its
            `index`; it need not be about the first bad line, as each check covers all lines.
        lines: The block, not empty.
        *others: Further arguments of `answer`: a value for each line, or None.

    Returns:
        The answer, None if the first line is bad; and the error about the first bad line, if any.

    Raises:
        ValueError: The error is not about a line.
    """
    refused, count = None, len(lines)
    while count:
        try:
            return answer(lines[:count], *[one and one[:count] for one in others]), refused
        except ValueError as error:
            index = getattr(error, "index", None)
            if index is None:
                raise
            count, refused = index, error
    return None, refused


class Prefixes:
    """The prefixes that the translations of the lines begin with.

    Args:
        prefix: One for all lines; none if it is empty.
        file: A file with one for each line, or None.

    Raises:
        FileNotFoundError: There is no such file.
    """

    def __init__(self, prefix: str, file: Path | None) -> None:
        self._file = file
        self._lines: Iterator[str] | None = None
        if self._file is not None:
            require_files([self._file])
            self._lines = iter_lines(self._file)
        elif prefix:
            self._lines = itertools.repeat(prefix)

    def next(self, count: int, done: int) -> list[str] | None:
        """Returns the prefixes of the next lines, or None if there are none at all.

        Args:
            count: How many lines.
            done: How many lines came before them.

        Raises:
            ValueError: The file has fewer lines.
        """
        if self._lines is None:
            return None
        found = list(itertools.islice(self._lines, count))
        if len(found) < count:
            raise ValueError(
                f"{self._file} ends after line {done + len(found)}, but the input goes on: give a "
                "prefix for each line, an empty line for none."
            )
        return found

    def check_end(self, done: int) -> None:
        """Raises `ValueError` if the file has more lines than the input, which has `done`."""
        if self._file is None or self._lines is None or next(self._lines, None) is None:
            return
        raise ValueError(
            f"{self._file} has more than the {done} lines of the input: is it the right file?"
        )
