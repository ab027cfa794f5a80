"""`keras-transformer prepare`: writes text as shards of ids, which training streams from disk."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from keras_transformer.cli.flags.text_files import TextFiles
from keras_transformer.cli.parser import CommandParser, flag_of, flags_in_errors, read_fields
from keras_transformer.data.prepared.options import PrepareOptions
from keras_transformer.data.prepared.prepare import prepare
from keras_transformer.data.sources.streams import (
    CatalogueFiles,
    PairStream,
    ParallelFiles,
    SingleFiles,
    TsvFiles,
)


@dataclass(frozen=True, kw_only=True)
class TextsToPrepare(TextFiles):
    """Which text to prepare, and where to write it.

    Args:
        train_text: Single texts, one a line, for masked-lm, permutation-lm, causal-lm and
            denoising, instead of pairs.
        valid_text: Single texts for validation.
        output: Directory to write. A killed preparation continues when called again.
        tokenizer: Existing SentencePiece model or tokenizer.json, or one for the source and one for
            the target; trained on the training pairs if not given.
        workers: Number of processes (default: one for each core that the process may use).
        **file_fields: Fields of `TextFiles`, which name files of parallel text.
    """

    train_text: list[Path] = field(default_factory=list)
    valid_text: list[Path] = field(default_factory=list)
    output: Path
    tokenizer: list[Path] = field(default_factory=list)
    workers: int | None = None

    def __post_init__(self) -> None:
        for split in ("train", "valid"):
            source, target, tsv, files = (
                getattr(self, f"{split}_{kind}") for kind in ("source", "target", "tsv", "files")
            )
            if bool(source) != bool(target):
                raise ValueError(f"--{split}-source and --{split}-target go together: give both.")
            given = {"source": source, "tsv": tsv, "files": files}
            first, *others = [*(kind for kind in given if given[kind]), ""]
            if len(others) > 1:
                raise ValueError(
                    f"--{split}-{others[0]} replaces --{split}-{first}: give one of them."
                )
            if first and (self.train_text or self.valid_text):
                raise ValueError(
                    f"--{split}-{first} gives pairs, but single texts are "
                    "given too: prepare them separately."
                )
        for name in ("source_column", "target_column"):
            if getattr(self, name) != getattr(TextFiles, name) and not self.train_tsv:
                raise ValueError(f"{flag_of(name)} belongs to --train-tsv, which is not given.")
        if not (self.train_source or self.train_tsv or self.train_files or self.train_text):
            raise ValueError(
                "prepare needs --train-source and --train-target, --train-tsv, --train-files or "
                "--train-text."
            )
        if self.train_text and len(self.tokenizer) > 1:
            raise ValueError(
                f"--tokenizer takes one model for single texts, got {len(self.tokenizer)}."
            )
        if len(self.tokenizer) > 2:
            raise ValueError(f"--tokenizer takes one or two models, got {len(self.tokenizer)}.")


def main(arguments: Sequence[str]) -> int:
    """Runs the subcommand; returns the exit code."""
    given = build_parser().parse(arguments)
    text, options = read_fields(given, TextsToPrepare), read_fields(given, PrepareOptions)
    train = open_stream(text, "train")
    if train is None:
        raise ValueError("there is no training text")
    with flags_in_errors(TextsToPrepare, PrepareOptions):
        record = prepare(
            train,
            text.output,
            valid=open_stream(text, "valid"),
            tokenizers=tuple(text.tokenizer),
            options=options,
            workers=text.workers,
            say=lambda line: print(line, flush=True),
        )
    kind = "texts" if record.is_single else "pairs"
    print(f"training {kind}: {record.train.report}")
    if record.valid:
        print(f"validation {kind}: {record.valid.report}")
    print(f"{len(record.train.shards)} shards: train with --data prepared --prepared {text.output}")
    return 0


def build_parser() -> CommandParser:
    """Returns the subcommand's parser, without importing TensorFlow."""
    parser = CommandParser("prepare", "Tokenize a corpus once, for training from disk.")
    parser.add_fields(TextsToPrepare, title="text")
    parser.add_fields(PrepareOptions, title="vocabulary and shards")
    return parser


def open_stream(text: TextsToPrepare, split: str) -> PairStream | None:
    """Returns the pairs or texts of "train" or "valid", or None if no files are given."""
    source, target, tsv, files, single = (
        getattr(text, f"{split}_{kind}") for kind in ("source", "target", "tsv", "files", "text")
    )
    if single:
        return SingleFiles(tuple(single))
    if tsv:
        return TsvFiles(tuple(tsv), text.source_column, text.target_column)
    if files:
        return CatalogueFiles(tuple(files))
    return ParallelFiles(tuple(source), tuple(target)) if source else None
