"""`keras-transformer prepare`: writes text as shards of ids, which training streams from disk."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from keras_transformer.cli.parser import CommandParser, flags_in_errors, read_fields
from keras_transformer.cli.text_files import TextFiles
from keras_transformer.data.prepared.prepare import PrepareOptions, prepare
from keras_transformer.data.sources.streams import PairStream, ParallelFiles, TsvFiles


@dataclass(frozen=True, kw_only=True)
class TextOptions(TextFiles):
    """Which text to prepare, and where to write it.

    Args:
        output: Directory to write. A killed preparation continues when called again.
        tokenizer: Existing SentencePiece model, or one for the source and one for the target;
            trained on the training pairs if not given.
        workers: Processes that work at once (default: as many as processors).
        **file_fields: As for `TextFiles`.
    """

    output: Path
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
                raise ValueError(f"--{split}-tsv replaces --{split}-source: give one of them.")
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
    """Returns the pairs of "train" or "valid", or None if no files are given."""
    source, target, tsv = (getattr(text, f"{split}_{kind}") for kind in ("source", "target", "tsv"))
    if tsv:
        return TsvFiles(tuple(tsv), text.source_column, text.target_column)
    return ParallelFiles(tuple(source), tuple(target)) if source else None
