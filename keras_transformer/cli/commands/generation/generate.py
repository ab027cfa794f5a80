"""`keras-transformer generate`: continues lines of standard input, block by block, in order."""

import itertools
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from keras_transformer.cli.artefact import RuntimeOptions
from keras_transformer.cli.flags.search import TITLE, read_search
from keras_transformer.cli.parser import CommandParser, read_fields
from keras_transformer.cli.text_lines import TextLineOptions, answer_lines, blocks_of_input
from keras_transformer.cli.text_models import open_generator
from keras_transformer.generation.engine import OF_TRANSLATION
from keras_transformer.generation.text_generator import TextGenerator
from keras_transformer.search.options import SearchOptions


@dataclass(frozen=True, kw_only=True)
class GenerateOptions:
    """What is written of each line.

    Args:
        include_prompt: Begin each text with its prompt.
        scores: Put the score (sum of the new tokens' log-probabilities over the length penalty)
            and a tab before each text.
    """

    include_prompt: bool = True
    scores: bool = False


def main(arguments: Sequence[str]) -> int:
    """Runs the subcommand; returns the exit code."""
    parser = build_parser()
    given = parser.parse(arguments)
    options = read_fields(given, GenerateOptions)
    search = read_search(parser, arguments, given.model, skip=OF_TRANSLATION)
    lines, runtime = read_fields(given, TextLineOptions), read_fields(given, RuntimeOptions)
    generator = open_generator(given.model, runtime, **lines.limits)
    settings = {**asdict(search), "include_prompt": options.include_prompt}
    streams = sys.stdout.isatty() and not options.scores
    if streams and search.beam_size == search.num_hypotheses == 1:
        _stream_lines(generator, lines, settings)
        return 0

    def answer(block: list[str]) -> Iterator[str]:
        if search.num_hypotheses == 1 and not options.scores:
            # Where no score is wanted, greedy search spares the softmax.
            yield from generator.generate(block, **settings)
            return
        for found in generator.generate_n_best(block, **settings):
            for one in found:
                yield f"{one.score:.6f}\t{one.text}" if options.scores else one.text
            # Empty lines keep the count of lines even.
            missing = search.num_hypotheses - len(found)
            yield from ["-inf\t" if options.scores else ""] * missing

    answer_lines("generate", generator, lines, answer)
    return 0


def build_parser() -> CommandParser:
    """Returns the subcommand's parser, without importing TensorFlow."""
    parser = CommandParser(
        "generate",
        "Continue the lines of standard input: one line out per line in (or one per hypothesis "
        "with --num-hypotheses). --max-length and --min-length count new tokens. At a terminal a "
        "text appears as it is written.",
    )
    parser.add_positional("model", "Exported directory, or training run.")
    parser.add_fields(SearchOptions, title=TITLE, skip=OF_TRANSLATION)
    parser.add_fields(GenerateOptions, title="texts")
    parser.add_fields(TextLineOptions, title="lines")
    parser.add_fields(RuntimeOptions, title="runtime")
    return parser


def _stream_lines(
    generator: TextGenerator, lines: TextLineOptions, settings: dict[str, Any]
) -> None:
    """Writes each text piece by piece, line by line."""

    def write(block: list[str]) -> None:
        for prompt in block:
            for piece in itertools.chain(generator.stream(prompt, **settings), [None]):
                text = "\n" if piece is None else piece.replace("\r", " ").replace("\n", " ")
                sys.stdout.buffer.write(text.encode())
                sys.stdout.buffer.flush()

    for _ in blocks_of_input("generate", generator, replace(lines, block_lines=1), write):
        pass
