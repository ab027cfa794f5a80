"""`keras-transformer translate`: lines in, translated lines out, block by block, in order."""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import BinaryIO

from tqdm import tqdm

from keras_transformer.cli.artefact import RuntimeOptions, TextTranslator, open_translator
from keras_transformer.cli.long_lines import LineOptions, describe
from keras_transformer.cli.parser import CommandParser, read_fields
from keras_transformer.decoding.confidence import check_min_score
from keras_transformer.decoding.inputs import TooLongError
from keras_transformer.decoding.options import SearchOptions


@dataclass(frozen=True, kw_only=True)
class TranslateOptions:
    """How lines are read and written.

    Args:
        block_lines: Lines read and translated at once: more is faster, fewer answer sooner. At a
            terminal every line is answered at once.
        scores: Put the score (sum of log-probabilities over the length penalty) and a tab before
            each translation.
        min_score: Name on standard error the lines whose best translation has less than this
            log-probability a token. With --scores and where None, the threshold that training
            calibrated holds.
    """

    block_lines: int = 256
    scores: bool = False
    min_score: float | None = None

    def __post_init__(self) -> None:
        check_min_score(self.min_score)
        if self.block_lines < 1:
            raise ValueError(f"block_lines must be at least 1, got {self.block_lines}.")


def main(arguments: Sequence[str]) -> int:
    """Runs the subcommand; returns the exit code."""
    given = build_parser().parse(arguments)
    options, search = read_fields(given, TranslateOptions), read_fields(given, SearchOptions)
    lines = read_fields(given, LineOptions)
    if sys.stdin is None:
        raise ValueError("standard input is closed: translate reads the text there, `< input.txt`.")
    runtime = read_fields(given, RuntimeOptions)
    translator = open_translator(given.model, runtime, lines, min_score=options.min_score)
    doubtful = _DoubtfulLines() if options.scores or options.min_score is not None else None
    try:
        _translate_input(translator, search, options, lines, doubtful)
    finally:  # what was written before an error is told all the same
        if doubtful is not None:
            doubtful.tell()
    return 0


@dataclass
class _DoubtfulLines:
    """The lines whose translations have low confidence.

    Attributes:
        numbers: Which lines, counted from 1.
        translated: How many lines were translated so far.
    """

    numbers: list[int] = field(default_factory=list)
    translated: int = 0

    def tell(self) -> None:
        """Names the lines on standard error, if there are any."""
        if self.numbers:
            named = ", ".join(map(str, self.numbers))
            print(
                f"low confidence in {len(self.numbers)} of {self.translated} lines: {named}",
                file=sys.stderr,
            )


def _translate_input(
    translator: TextTranslator,
    search: SearchOptions,
    options: TranslateOptions,
    lines: LineOptions,
    doubtful: _DoubtfulLines | None,
) -> None:
    """Translates standard input block by block."""
    block_lines = 1 if sys.stdin.isatty() else options.block_lines
    # Where translations appear on the same terminal, they are the progress.
    hidden = sys.stdout.isatty() or not sys.stderr.isatty()
    done = 0
    with tqdm(unit="line", desc="translate", disable=hidden) as progress:
        for block in read_blocks(sys.stdin.buffer, block_lines):
            for number, tokens in lines.cut_lines(translator, block, done + 1):
                message = f"line {number} of the input was cut: it has {tokens} tokens."
                print(f"keras-transformer translate: {message}", file=sys.stderr)
            try:
                _write_block(translator, block, search, options, doubtful)
            except TooLongError as error:
                _write_block(translator, block[: error.index], search, options, doubtful)
                raise ValueError(describe(error, done + error.index + 1)) from error
            done += len(block)
            progress.update(len(block))


def _write_block(
    translator: TextTranslator,
    block: Sequence[str],
    search: SearchOptions,
    options: TranslateOptions,
    doubtful: _DoubtfulLines | None,
) -> None:
    low: list[int] | None = None if doubtful is None else []
    for line in translate_block(translator, block, search, scores=options.scores, low=low):
        sys.stdout.buffer.write(line.encode("utf-8") + b"\n")
    sys.stdout.buffer.flush()
    if doubtful is not None:
        doubtful.numbers += [doubtful.translated + place for place in low or ()]
        doubtful.translated += len(block)


def build_parser() -> CommandParser:
    """Returns the subcommand's parser, without importing TensorFlow."""
    parser = CommandParser(
        "translate",
        "Translate standard input line by line: one line out per line in (or one per hypothesis "
        "with --num-hypotheses), empty lines kept.",
    )
    parser.add_positional("model", "Exported directory, or training run.")
    parser.add_fields(SearchOptions, title="search")
    parser.add_fields(TranslateOptions, title="lines")
    parser.add_fields(LineOptions, title="long lines")
    parser.add_fields(RuntimeOptions, title="runtime")
    return parser


def read_blocks(stream: BinaryIO, block_lines: int) -> Iterator[list[str]]:
    """Yields the stream's lines in order, `block_lines` at a time, without their line ends.

    Raises:
        ValueError: A line is no valid UTF-8; the message names it, counted from 1. The lines
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


def translate_block(
    translator: TextTranslator,
    lines: Sequence[str],
    search: SearchOptions,
    *,
    scores: bool = False,
    low: list[int] | None = None,
) -> Iterator[str]:
    """Yields `num_hypotheses` output lines for every input line, in order, best first.

    Adds to `low` which lines, counted from 1, have a best hypothesis of low confidence.
    """
    if search.num_hypotheses == 1 and not scores and low is None:
        # Where no score is wanted, greedy search spares the softmax.
        yield from map(_one_line, translator.translate(lines, **asdict(search)))
        return
    best = translator.translate_n_best(lines, **asdict(search))
    for number, hypotheses in enumerate(best, start=1):
        if low is not None and hypotheses[0].low_confidence:
            low.append(number)
        for rank in range(search.num_hypotheses):
            # An empty line has one candidate only; empty lines keep the count of lines even.
            if rank < len(hypotheses):
                text, score = _one_line(hypotheses[rank].text), hypotheses[rank].score
            else:
                text, score = "", float("-inf")
            yield f"{score:.6f}\t{text}" if scores else text


def _one_line(text: str) -> str:
    return text.replace("\r", " ").replace("\n", " ")
