"""`keras-transformer prepare`: text becomes shards of ids, which training streams from disk."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from keras_transformer.cli.parser import CommandParser, flags_in_errors, read_fields
from keras_transformer.data.prepared.prepare import PrepareOptions, prepare
from keras_transformer.data.sources.streams import PairStream, ParallelFiles, TsvFiles


@dataclass(frozen=True, kw_only=True)
class TextOptions:
    """Which text to prepare, and where it goes.

    Args:
        output: Directory to write. A killed preparation goes on when called again.
        train_source: Source text, one sentence a line, plain or .gz, one or many files.
        train_target: Target text, line by line with the source, as many files.
        valid_source: Source text for validation.
        valid_target: Target text for validation.
        train_tsv: Training files with one sentence pair a line, in place of source and target.
        valid_tsv: Validation files with one sentence pair a line.
        source_column: Column of the source text in TSV files, counted from 0.
        target_column: Column of the target text in TSV files, counted from 0.
        tokenizer: Existing SentencePiece model, or one for the source and one for the target;
            trained on the training pairs where not given.
        workers: Processes that work at once (default: as many as processors).
    """

    output: Path
    train_source: list[Path] = field(default_factory=list)
    train_target: list[Path] = field(default_factory=list)
    valid_source: list[Path] = field(default_factory=list)
    valid_target: list[Path] = field(default_factory=list)
    train_tsv: list[Path] = field(default_factory=list)
    valid_tsv: list[Path] = field(default_factory=list)
    source_column: int = 0
    target_column: int = 1
    tokenizer: list[Path] = field(default_factory=list)
    workers: int | None = None

    def __post_init__(self) -> None:
        for split in ("train", "valid"):
            source, target, tsv = (
                getattr(self, f"{split}_{kind}") for kind in ("source", "target", "tsv")
            )
            if bool(source) != bool(target):
                raise ValueError(f"--{split}-source and --{split}-target go together: give both.")
            if source and tsv:
                raise ValueError(f"--{split}-tsv stands in place of --{split}-source: give one.")
        if not self.train_source and not self.train_tsv:
            raise ValueError("prepare needs --train-source and --train-target, or --train-tsv.")
        if len(self.tokenizer) > 2:
            raise ValueError(f"--tokenizer takes one or two models, got {len(self.tokenizer)}.")


def main(arguments: Sequence[str]) -> int:
    """Runs the subcommand; returns the exit code."""
    given = build_parser().parse(arguments)
    text, options = read_fields(given, TextOptions), read_fields(given, PrepareOptions)
    train = open_stream(text, "train")
    if train is None:
        raise ValueError("there is no training text")
    with flags_in_errors(TextOptions, PrepareOptions):
        record = prepare(
            train,
            text.output,
            valid=open_stream(text, "valid"),
            tokenizers=tuple(text.tokenizer),
            options=options,
            workers=text.workers,
            say=lambda line: print(line, flush=True),
        )
    print(f"training pairs: {record.train.report}")
    if record.valid:
        print(f"validation pairs: {record.valid.report}")
    print(f"{len(record.train.shards)} shards: train with --data prepared --prepared {text.output}")
    return 0


def build_parser() -> CommandParser:
    """Returns the subcommand's parser, without importing TensorFlow."""
    parser = CommandParser("prepare", "Tokenize a corpus once, for training from disk.")
    parser.add_fields(TextOptions, title="text")
    parser.add_fields(PrepareOptions, title="vocabulary and shards")
    return parser


def open_stream(text: TextOptions, split: str) -> PairStream | None:
    """Returns the pairs of "train" or "valid", or None where no files are given."""
    source, target, tsv = (getattr(text, f"{split}_{kind}") for kind in ("source", "target", "tsv"))
    if tsv:
        return TsvFiles(tuple(tsv), text.source_column, text.target_column)
    return ParallelFiles(tuple(source), tuple(target)) if source else None
