"""`keras-transformer perplexity`: writes the perplexity of each line of standard input."""

import sys
from collections.abc import Iterator, Sequence
from typing import Any

from keras_transformer.cli.artefact import RuntimeOptions
from keras_transformer.cli.json_answers import JsonAnswers
from keras_transformer.cli.parser import CommandParser, read_fields
from keras_transformer.cli.text_lines import TextLineOptions, answer_lines
from keras_transformer.cli.text_models import open_generator
from keras_transformer.search.confidence import perplexity
from keras_transformer.search.options import Hypothesis


def main(arguments: Sequence[str]) -> int:
    """Runs the subcommand; returns the exit code."""
    given = build_parser().parse(arguments)
    lines, runtime = read_fields(given, TextLineOptions), read_fields(given, RuntimeOptions)
    generator = open_generator(given.model, runtime, **lines.limits)
    totals = _Totals()

    # A model with a memory reads all lines as one text.
    before: Any = None

    def score(block: list[Any]) -> list[Hypothesis]:
        nonlocal before
        if generator.config.memory_length is None:
            return generator.score(block)
        scored, before = generator.read_on(block, before)
        return scored

    def answer(block: list[str]) -> Iterator[str]:
        return (f"{one['perplexity']:.4f}" for one in values(block))

    def values(block: list[Any]) -> Iterator[dict[str, Any]]:
        for one in score(block):
            totals.add(one)
            yield {
                "perplexity": perplexity(one.log_probability, len(one.ids) + 1),
                "log_probability": one.log_probability,
                "ids": list(map(int, one.ids)),
            }

    as_json = JsonAnswers(answer=values, writes=("perplexity", "log_probability", "ids"))
    answer_lines("perplexity", generator, lines, answer, as_json)
    totals.tell()
    return 0


def build_parser() -> CommandParser:
    """Returns the subcommand's parser, without importing TensorFlow."""
    parser = CommandParser.of_model(
        "perplexity",
        "Write the perplexity of each line of standard input (exp of the mean negative "
        "log-probability a token, the end of the line counted), and that of the whole text, "
        "without its blank lines, on standard error. A model with a memory reads all lines as one "
        "text: each goes on where the one before ended, and may have any length.",
    )
    parser.add_fields(TextLineOptions, title="lines", defaults={"long_lines": "refuse"})
    parser.add_fields(RuntimeOptions, title="runtime")
    return parser


class _Totals:
    """Sums over all lines with text: training leaves the others out, too."""

    def __init__(self) -> None:
        self._lines = self._tokens = self._blank = 0
        self._log_probability = 0.0

    def add(self, one: Hypothesis) -> None:
        if not one.ids:
            self._blank += 1
            return
        self._lines += 1
        self._tokens += len(one.ids) + 1
        self._log_probability += one.log_probability

    def tell(self) -> None:
        """Writes the whole text's perplexity to standard error, if there was any text."""
        if self._tokens:
            whole = perplexity(self._log_probability, self._tokens)
            blank = f"; blank lines left out: {self._blank}" if self._blank else ""
            print(
                f"perplexity of the whole text: {whole:.4f} ({self._tokens} tokens with the ends "
                f"of {self._lines} lines{blank})",
                file=sys.stderr,
            )
