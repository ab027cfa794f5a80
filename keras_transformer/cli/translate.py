"""`keras-transformer translate`: lines in, translated lines out, block by block, in order."""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import BinaryIO

from tqdm import tqdm

from keras_transformer.cli.artefact import TextTranslator, open_translator
from keras_transformer.cli.parser import CommandParser, read_fields
from keras_transformer.decoding.options import SearchOptions


@dataclass(frozen=True, kw_only=True)
class TranslateOptions:
    """How lines are read and written.

    Args:
        block_lines: Lines read and translated at once: more is faster, fewer answer sooner. At a
            terminal every line is answered at once.
        scores: Put the score (sum of log-probabilities over the length penalty) and a tab before
            each translation.
    """

    block_lines: int = 256
    scores: bool = False

    def __post_init__(self) -> None:
        if self.block_lines < 1:
            raise ValueError(f"block_lines must be at least 1, got {self.block_lines}.")


def main(arguments: Sequence[str]) -> int:
    """Runs the subcommand; returns the exit code."""
    given = build_parser().parse(arguments)
    options, search = read_fields(given, TranslateOptions), read_fields(given, SearchOptions)
    translator = open_translator(given.model)
    block_lines = 1 if sys.stdin.isatty() else options.block_lines
    # Where translations appear on the same terminal, they are the progress.
    hidden = sys.stdout.isatty() or not sys.stderr.isatty()
    with tqdm(unit="line", desc="translate", disable=hidden) as progress:
        for block in read_blocks(sys.stdin.buffer, block_lines):
            for line in translate_block(translator, block, search, scores=options.scores):
                sys.stdout.buffer.write(line.encode("utf-8") + b"\n")
            sys.stdout.buffer.flush()
            progress.update(len(block))
    return 0


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
    translator: TextTranslator, lines: Sequence[str], search: SearchOptions, *, scores: bool = False
) -> Iterator[str]:
    """Yields `num_hypotheses` output lines for every input line, in order, best first."""
    if search.num_hypotheses == 1 and not scores:
        # Where no score is wanted, greedy search spares the softmax.
        yield from map(_one_line, translator.translate(lines, **asdict(search)))
        return
    best = translator.translate_n_best(lines, **asdict(search))
    for hypotheses in best:
        for rank in range(search.num_hypotheses):
            # An empty line has one candidate only; empty lines keep the count of lines even.
            if rank < len(hypotheses):
                text, score = _one_line(hypotheses[rank].text), hypotheses[rank].score
            else:
                text, score = "", float("-inf")
            yield f"{score:.6f}\t{text}" if scores else text


def _one_line(text: str) -> str:
    return text.replace("\r", " ").replace("\n", " ")
