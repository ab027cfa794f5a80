"""Answers the lines of standard input, block by block and in order, with a model of texts."""

import itertools
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol

from tqdm import tqdm

from keras_transformer.cli.input_lines import answer_before_error, read_blocks, standard_input
from keras_transformer.cli.json_answers import JsonAnswers
from keras_transformer.config.checks import check_size
from keras_transformer.search.text_limits import MAX_TEXT_LENGTH, LongTextError

# What messages call standard input.
INPUT = "the input"


@dataclass(frozen=True, kw_only=True)
class TextLineOptions:
    """How lines are read.

    Args:
        block_lines: Lines read and answered at once: more is faster, fewer answer sooner. At a
            terminal every line is answered immediately.
        max_text_length: Most tokens of a line; fewer if the model has fewer positions.
        long_lines: What happens to longer lines: "cut" reads a part of the line and says so;
            "refuse" ends with an error that names the line.
        jsonl: Read a JSON object a line, its text under "text", and write it again with the answer
            as further keys.
    """

    block_lines: int = 256
    max_text_length: int = MAX_TEXT_LENGTH
    long_lines: Literal["cut", "refuse"] = "cut"
    jsonl: bool = False

    def __post_init__(self) -> None:
        check_size("block_lines", self.block_lines)
        check_size("max_text_length", self.max_text_length)

    @property
    def limits(self) -> dict[str, Any]:
        """Arguments of a model of texts."""
        return {"max_text_length": self.max_text_length, "long_texts": self.long_lines}


class TextModel(Protocol):
    """The interface of a model by which commands find long lines."""

    @property
    def max_text_length(self) -> int | None:
        """Most tokens of a text; None if there is no limit."""
        ...

    def text_lengths(self, texts: Sequence[str]) -> list[int]:
        """Returns how many tokens each text has."""
        ...


class CountedLines(NamedTuple):
    """A `TextModel` made of two functions."""

    max_text_length: int | None
    text_lengths: Callable[[Sequence[str]], list[int]]


def answer_lines(
    command: str,
    model: TextModel,
    options: TextLineOptions,
    answer: Callable[[list[str]], Iterable[str]],
    as_json: JsonAnswers,
    *,
    blank_lines_are_texts: bool = False,
) -> None:
    """Writes the answers to each block of standard input's lines.

    Args:
        command: Name of the command.
        model: The model, which finds long lines.
        options: How lines are read.
        answer: Takes lines and returns lines of output, in order.
        as_json: Used instead of `answer` if JSON lines are read.
        blank_lines_are_texts: As for `blocks_of_input`.

    Raises:
        ValueError: A line cannot be answered; what came before it is written.
    """
    read: Callable[..., Iterable[Any]] = as_json.read if options.jsonl else read_blocks
    lines: Callable[[Any], Iterable[str]] = as_json.lines if options.jsonl else answer
    answers = blocks_of_input(
        command,
        model,
        options,
        lambda block: list(lines(block)),
        read,
        blank_lines_are_texts=blank_lines_are_texts,
    )
    for block in answers:
        for line in block:
            sys.stdout.buffer.write(line.replace("\r", " ").replace("\n", " ").encode() + b"\n")
        sys.stdout.buffer.flush()


def blocks_of_input(
    command: str,
    model: TextModel,
    options: TextLineOptions,
    answer: Callable[[list[Any]], Any],
    read: Callable[..., Iterable[list[Any]]] = read_blocks,
    *,
    blank_lines_are_texts: bool = False,
) -> Iterable[Any]:
    """Yields the answer to each block of standard input's lines.

    Args:
        command: Name of the command.
        model: The model, which finds long lines.
        options: How lines are read.
        answer: Takes a block, and returns its answer.
        read: Reads blocks as `read_blocks` does.
        blank_lines_are_texts: Whether a blank line is answered as a text is, of which standard
            error then tells.

    Raises:
        ValueError: A line cannot be answered.
    """
    stream = standard_input(command)
    # Where answers appear on the same terminal, they are the progress.
    hidden = sys.stdout.isatty() or not sys.stderr.isatty()
    done = blank = 0
    with tqdm(unit="line", desc=command, disable=hidden) as progress:
        for block in read(stream, 1 if sys.stdin.isatty() else options.block_lines):
            tell_cuts(command, model, options, block, itertools.count(done + 1))
            answered, refused = answer_before_error(answer, block)
            if answered is not None:
                yield answered
            if refused is not None:
                line = done + getattr(refused, "index", 0) + 1
                raise ValueError(about_line(refused, line)) from refused
            done += len(block)
            blank += sum(not line.strip() for line in block)
            progress.update(len(block))
    if blank and blank_lines_are_texts and not options.jsonl:
        print(
            f"keras-transformer {command}: blank lines of the input were answered as texts: "
            f"{blank:,} of {done:,} lines.",
            file=sys.stderr,
        )


def tell_cuts(
    command: str,
    model: TextModel,
    options: TextLineOptions,
    block: Sequence[str],
    numbers: Iterable[int],
    file: str = INPUT,
) -> None:
    """Names on standard error the lines that are cut.

    Args:
        command: Name of the command.
        model: What reads the lines.
        options: How they are read.
        block: The lines.
        numbers: The number of each, from 1.
        file: What they are lines of.
    """
    limit = model.max_text_length
    if options.long_lines != "cut" or limit is None:
        return
    for number, tokens in zip(numbers, model.text_lengths(block), strict=False):
        if tokens > limit:
            message = f"line {number} of {file} was cut: it has {tokens} tokens, {limit} are read."
            print(f"keras-transformer {command}: {message}", file=sys.stderr)


def about_line(error: ValueError, line: int, file: str = INPUT) -> str:
    """Says which line of a file cannot be answered, and what to do about it."""
    if isinstance(error, LongTextError):
        return (
            f"line {line} of {file} has {error.tokens} tokens, more than the {error.limit} "
            "allowed: use --long-lines cut, or raise --max-text-length where the model allows it."
        )
    index = getattr(error, "index", 0)
    return str(error).replace(f"the text at index {index}", f"line {line} of {file}")
