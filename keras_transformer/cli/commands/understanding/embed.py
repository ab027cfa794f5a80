"""`keras-transformer embed`: writes a vector for each line of standard input to a NumPy file."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from keras_transformer.cli.artefact import RuntimeOptions
from keras_transformer.cli.json_answers import JsonAnswers
from keras_transformer.cli.parser import CommandParser, UsageError, read_fields
from keras_transformer.cli.text_lines import (
    CountedLines,
    TextLineOptions,
    answer_lines,
    blocks_of_input,
)
from keras_transformer.cli.text_models import open_encoder
from keras_transformer.config.text_vectors import poolings_of
from keras_transformer.whole_files import check_output, whole_file


@dataclass(frozen=True, kw_only=True)
class EmbedOptions:
    """The vectors to write, and their file.

    Args:
        output: NumPy file (.npy) for the vectors, float32 (lines, width); written whole or not at
            all. Left out with --jsonl, which writes them to standard output.
        pooling: How a line's states become one vector: "first", "max", "mean", "mean_sqrt_length",
            "weighted_mean", "last", or several of them joined by "+"; the model's own if not given.
            If the pooling is not the model's own, the model's linear layers are not applied.
        prompt_name: Which of the model's prompts is put before each line; "" for none, the model's
            default prompt if not given.
    """

    output: Path | None = None
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
    if (options.output is None) != lines.jsonl:
        raise UsageError(
            "--jsonl writes the vectors to standard output: leave out --output."
            if lines.jsonl
            else "missing: --output, a NumPy file for the vectors; or write them with --jsonl."
        )
    if options.output is not None:
        check_output(options.output, is_directory=False)
    encoder = open_encoder(given.model, runtime, **lines.limits)

    def embed(block: list[str]) -> Any:
        return encoder.embed(block, options.pooling, prompt_name=options.prompt_name)

    def vectors(block: list[Any]) -> Iterator[dict[str, Any]]:
        return ({"vector": vector.tolist()} for vector in embed(block))

    def lengths(block: Sequence[str]) -> list[int]:
        return encoder.text_lengths(encoder.prompted(block, options.prompt_name))

    counted = CountedLines(encoder.max_text_length, lengths)
    if options.output is None:
        as_json = JsonAnswers(answer=vectors, writes=("vector",))
        answer_lines(
            "embed", counted, lines, lambda block: block, as_json, blank_lines_are_texts=True
        )
        return 0
    found = blocks_of_input("embed", counted, lines, embed, blank_lines_are_texts=True)
    whole = np.concatenate([embed([]), *found])
    options.output.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(options.output, whole.nbytes) as partial, partial.open("wb") as file:
        np.save(file, whole)
    return 0


def build_parser() -> CommandParser:
    """Returns the subcommand's parser, without importing TensorFlow."""
    return CommandParser.of_model(
        "embed",
        "Embed the lines of standard input: one vector for each, in a NumPy file.",
        vectors=EmbedOptions,
        lines=TextLineOptions,
        runtime=RuntimeOptions,
    )
