"""`keras-transformer vectors`: trains word vectors on text files."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from keras_transformer.cli.keras_side import ThreadOptions, limit_threads, load_training
from keras_transformer.cli.parser import CommandParser, flags_in_errors, read_fields
from keras_transformer.vectors.options import VectorOptions
from keras_transformer.vectors.train import train_vectors


@dataclass(frozen=True, kw_only=True)
class FileOptions:
    """What is read and written.

    Args:
        train_text: Files of sentences, or for poincare of relations, one a line, plain or gzip.
        output: File to write: .txt, .vec, .txt.gz or .vec.gz as text, .bin in word2vec's binary
            format, or as fastText's model.
    """

    output: Path
    train_text: list[Path] = field(default_factory=list)

    def __post_init__(self) -> None:
        if not self.train_text:
            raise ValueError("vectors needs --train-text.")


def main(arguments: Sequence[str]) -> int:
    """Runs the subcommand; returns the exit code."""
    given = build_parser().parse(arguments)
    files = read_fields(given, FileOptions)
    options = read_fields(given, VectorOptions)
    limit_threads(read_fields(given, ThreadOptions).threads)
    if options.method == "glove":
        load_training()
    with flags_in_errors(FileOptions, VectorOptions):
        train_vectors(files.train_text, files.output, options)
    return 0


def build_parser() -> CommandParser:
    """Returns the subcommand's parser, without importing TensorFlow."""
    parser = CommandParser(
        "vectors",
        "Train a vector of each word of text files, for `train --init-vectors`, `neighbours` and "
        "`plot vectors`.",
    )
    parser.add_fields(FileOptions, title="files")
    parser.add_fields(VectorOptions, title="vectors")
    parser.add_fields(ThreadOptions, title="machine")
    return parser
