"""`keras-transformer embed`: writes a vector for each line of standard input to a NumPy file."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from keras_transformer.cli.artefact import RuntimeOptions
from keras_transformer.cli.parser import CommandParser, read_fields
from keras_transformer.cli.text_lines import CountedLines, TextLineOptions, blocks_of_input
from keras_transformer.cli.text_models import open_encoder
from keras_transformer.config.text_vectors import poolings_of
from keras_transformer.whole_files import check_output, whole_file


@dataclass(frozen=True, kw_only=True)
class EmbedOptions:
    """What is written, and where.

    Args:
        output: NumPy file (.npy) for the vectors, float32 (lines, width); written whole or not at
            all.
        pooling: How a line's states become one vector: "first", "max", "mean", "mean_sqrt_length",
            "weighted_mean", "last", or several of them joined by "+"; the model's own if not given.
            Vectors that are pooled otherwise than the model's go through none of its linear layers.
        prompt_name: Which of the model's prompts is put before each line; "" for none, the model's
            own choice if not given.
    """

    output: Path
    pooling: str | None = None
    prompt_name: str | None = None

    def __post_init__(self) -> None:
        if self.pooling is not None:
            poolings_of(self.pooling)


def main(arguments: Sequence[str]) -> int:
    """Runs the subcommand; returns the exit code."""
    given = build_parser().parse(arguments)
    options = read_fields(given, EmbedOptions)
    lines, runtime = read_fields(given, TextLineOptions), read_fields(given, RuntimeOptions)
    check_output(options.output, is_directory=False)
    encoder = open_encoder(given.model, runtime, **lines.limits)

    def embed(block: list[str]) -> Any:
        return encoder.embed(block, options.pooling, prompt_name=options.prompt_name)

    def lengths(block: Sequence[str]) -> list[int]:
        return encoder.text_lengths(encoder.prompted(block, options.prompt_name))

    counted = CountedLines(encoder.max_text_length, lengths)
    whole = np.concatenate([embed([]), *blocks_of_input("embed", counted, lines, embed)])
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
