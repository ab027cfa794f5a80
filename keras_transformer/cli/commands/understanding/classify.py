"""`keras-transformer classify`: writes the class of each line of standard input."""

from collections.abc import Iterator, Sequence

from keras_transformer.cli.artefact import RuntimeOptions
from keras_transformer.cli.parser import CommandParser, read_fields
from keras_transformer.cli.text_lines import TextLineOptions, answer_lines
from keras_transformer.cli.text_models import open_encoder


def main(arguments: Sequence[str]) -> int:
    """Runs the subcommand; returns the exit code."""
    given = build_parser().parse(arguments)
    lines, runtime = read_fields(given, TextLineOptions), read_fields(given, RuntimeOptions)
    encoder = open_encoder(given.model, runtime, "classification", **lines.limits)

    def answer(block: list[str]) -> Iterator[str]:
        return (f"{one.label}\t{one.probability:.6f}" for one in encoder.classify(block))

    answer_lines("classify", encoder, lines, answer)
    return 0


def build_parser() -> CommandParser:
    """Returns the subcommand's parser, without importing TensorFlow."""
    parser = CommandParser(
        "classify",
        "Classify the lines of standard input: for each its label, a tab and the label's "
        "probability.",
    )
    parser.add_positional("model", "Exported directory, or training run.")
    parser.add_fields(TextLineOptions, title="lines")
    parser.add_fields(RuntimeOptions, title="runtime")
    return parser
