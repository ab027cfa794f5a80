"""The flags that name text files, for the commands that read a corpus from them."""

from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, kw_only=True)
class TextFiles:
    """Files of sentence pairs, for training and for validation.

    Args:
        train_source: Source text, one sentence a line, plain or .gz, one or many files.
        train_target: Target text, line by line with the source, as many files.
        valid_source: Source text for validation.
        valid_target: Target text for validation.
        train_tsv: Training files with one sentence pair a line, instead of source and target.
        valid_tsv: Validation files with one sentence pair a line.
        train_files: Training files that hold texts beside their translations: .po, XLIFF, TMX.
        valid_files: Validation files of the same kind.
        source_column: Column of the source text in TSV files, counted from 0.
        target_column: Column of the target text in TSV files, counted from 0.
    """

    train_source: list[Path] = field(default_factory=list)
    train_target: list[Path] = field(default_factory=list)
    valid_source: list[Path] = field(default_factory=list)
    valid_target: list[Path] = field(default_factory=list)
    train_tsv: list[Path] = field(default_factory=list)
    valid_tsv: list[Path] = field(default_factory=list)
    train_files: list[Path] = field(default_factory=list)
    valid_files: list[Path] = field(default_factory=list)
    source_column: int = 0
    target_column: int = 1
