"""`keras-transformer embed`: writes a vector for each line of standard input to a NumPy file."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from keras_transformer.cli.artefact import RuntimeOptions
from keras_transformer.cli.parser import CommandParser, read_fields
from keras_transformer.cli.text_lines import TextLineOptions, blocks_of_input
from keras_transformer.cli.text_models import open_encoder
from keras_transformer.config.encoder_only import Pooling
from keras_transformer.whole_files import check_output, whole_file


@dataclass(frozen=True, kw_only=True)
class EmbedOptions:
    """What is written, and where.

    Args:
        output: NumPy file (.npy) for the vectors, float32 (lines, model_dim); written whole or not
            at all.
        pooling: "mean" of a line's states or the "first" of them; the model's own if not given.
    """

    output: Path
    pooling: Pooling | None = None


def main(arguments: Sequence[str]) -> int:
    """Runs the subcommand; returns the exit code."""
    given = build_parser().parse(arguments)
    options = read_fields(given, EmbedOptions)
    lines, runtime = read_fields(given, TextLineOptions), read_fields(given, RuntimeOptions)
    check_output(options.output, is_directory=False)
    encoder = open_encoder(given.model, runtime, **lines.limits)
    vectors = [np.zeros((0, encoder.config.model_dim), np.float32)]
    vectors += blocks_of_input(
        "embed", encoder, lines, lambda block: encoder.embed(block, options.pooling)
    )
    whole = np.concatenate(vectors)
    options.output.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(options.output, whole.nbytes) as partial, partial.open("wb") as file:
        np.save(file, whole)
    return 0


def build_parser() -> CommandParser:
    """Returns the subcommand's parser, without importing TensorFlow."""
    parser = CommandParser(
        "embed", "Embed the lines of standard input: one vector for each, in a NumPy file."
    )
    parser.add_positional("model", "Exported directory, or training run.")
    parser.add_fields(EmbedOptions, title="vectors")
    parser.add_fields(TextLineOptions, title="lines")
    parser.add_fields(RuntimeOptions, title="runtime")
    return parser
