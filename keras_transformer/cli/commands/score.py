"""`keras-transformer score`: prints the log-probability of each given translation."""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tqdm import tqdm

from keras_transformer.cli.artefact import RuntimeOptions, open_whole_text_translator
from keras_transformer.cli.long_lines import LineOptions
from keras_transformer.cli.parser import CommandParser, read_fields
from keras_transformer.data.sources.corpus import Pairs
from keras_transformer.data.sources.files import read_parallel
from keras_transformer.search.confidence import token_score
from keras_transformer.search.inputs import MAX_SOURCE_LENGTH, TooLongError
from keras_transformer.search.model_limits import PositionsError
from keras_transformer.translation.translator import TextTranslator

_BLOCK_LINES = 256


@dataclass(frozen=True, kw_only=True)
class ScoreOptions:
    """Which translations are scored, and how.

    Args:
        source: Source text, one sentence a line, plain or .gz.
        target: A translation of each line, line by line.
        per_token: Write the mean over the tokens of each translation, its end token counted,
            rather than the sum.
        max_source_length: Most tokens of a source line.
    """

    source: Path
    target: Path
    per_token: bool = False
    max_source_length: int = MAX_SOURCE_LENGTH


def main(arguments: Sequence[str]) -> int:
    """Runs the subcommand; returns the exit code."""
    given = build_parser().parse(arguments)
    options = read_fields(given, ScoreOptions)
    pairs = read_parallel(options.source, options.target)
    whole = LineOptions(long_lines="refuse", max_source_length=options.max_source_length)
    runtime = read_fields(given, RuntimeOptions)
    translator = open_whole_text_translator(given.model, runtime, whole)
    for score in _score(translator, pairs, options):
        print(f"{score:.6f}")
    return 0


def build_parser() -> CommandParser:
    """Returns the subcommand's parser, without importing TensorFlow."""
    parser = CommandParser(
        "score",
        "Score given translations: one log-probability a line, in nats, as the model sees it.",
    )
    parser.add_positional("model", "Exported directory, or training run.")
    parser.add_fields(ScoreOptions, title="translations")
    parser.add_fields(RuntimeOptions, title="runtime")
    return parser


def _score(translator: TextTranslator, pairs: Pairs, options: ScoreOptions) -> Iterator[float]:
    """Yields the score of each pair, with a progress bar at a terminal."""
    hidden = sys.stdout.isatty() or not sys.stderr.isatty()
    with tqdm(total=len(pairs.source), unit="line", desc="score", disable=hidden) as progress:
        for start in range(0, len(pairs.source), _BLOCK_LINES):
            block = slice(start, start + _BLOCK_LINES)
            try:
                found = translator.score(pairs.source[block], pairs.target[block])
            except (TooLongError, PositionsError) as error:
                raise ValueError(_about_line(error, start, options)) from error
            for one in found:
                total = one.log_probability
                yield token_score(one.ids, total) if options.per_token else total
            progress.update(len(found))


def _about_line(error: TooLongError | PositionsError, done: int, options: ScoreOptions) -> str:
    """Says which of the lines after the first `done` is too long, and what to do about it."""
    line = done + error.index + 1
    if isinstance(error, TooLongError):
        return (
            f"line {line} of {options.source} has {error.tokens} tokens, more than the "
            f"{error.limit} allowed: raise --max-source-length where the model allows it."
        )
    file = options.source if error.side == "source" else options.target
    return (
        f"line {line} of {file} has {error.tokens} tokens with its end token, more than the "
        f"model's {error.limit} positions: shorten it."
    )
