"""Pairs in files of columns: tab-separated lines, or rows of CSV, plain or gzip."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from keras_transformer.data.sources.corpus import Pairs
from keras_transformer.data.sources.files import PathLike, WrongLines, as_paths, require_files
from keras_transformer.data.sources.tables.columns import Table
from keras_transformer.data.sources.tables.headers import names_pairs


def read_tsv(
    paths: PathLike | Sequence[PathLike], source_column: int = 0, target_column: int = 1
) -> Pairs:
    """Reads sentence pairs from columns of TSV files, or of CSV if they are called so.

    A blank line is an empty pair, which training drops and counts. A first line that names the
    columns is left out, and quotes around all fields of a column, or where CSV needs them, are
    read as CSV has them: `notes` of the pairs says so.

    Args:
        paths: One path, or the shards in order; UTF-8, plain or gzip.
        source_column: Number of the source's column, from 0.
        target_column: Number of the target's column, from 0.

    Raises:
        FileNotFoundError: A file is missing; all are checked before any is read.
        OSError: A file cannot be read.
        ValueError: The columns are the same or negative, lines have too few columns or not as many
            as the first line of their file (names file and lines), or there is no line at all.
    """
    files = open_tsv(paths, source_column, target_column)
    pairs = [pair for file in files for pair in file.pairs()]
    origin = ", ".join(str(file.table.path) for file in files)
    if not any(map(any, pairs)):
        raise ValueError(f"the corpus is empty: no line in {origin}")
    source, target = zip(*pairs, strict=True)
    return Pairs(source, target, origin, tuple(note for file in files for note in file.notes))


@dataclass(frozen=True)
class PairTable:
    """A file with two columns of text.

    Attributes:
        table: The file.
        source: Number of the source's column, from 0.
        target: Number of the target's column, from 0.
    """

    table: Table
    source: int
    target: int

    @property
    def header(self) -> list[str] | None:
        """The columns of the first line if it names them."""
        for _, columns in self.table.rows():
            if columns:
                is_header = len(columns) > max(self.source, self.target) and names_pairs(
                    columns[self.source], columns[self.target]
                )
                return columns if is_header else None
        return None

    @property
    def notes(self) -> tuple[str, ...]:
        """What was recognised, in lines to show."""
        if self.header is None:
            return self.table.notes
        said = f"{self.table.path}: the first line names the columns: {', '.join(self.header)}"
        return *self.table.notes, said

    def pairs(self) -> Iterator[tuple[str, str]]:
        """Yields the pairs, an empty one for a blank line.

        Raises:
            ValueError: Lines have another number of columns; names file and lines. The pairs before
                the first of them have been yielded.
        """
        wrong, last = WrongLines(), max(self.source, self.target)
        expected, is_header = None, self.header is not None
        for number, columns in self.table.rows():
            if 0 < len(columns) <= last:
                wrong.add(
                    self.table.path,
                    number,
                    f"expected at least {last + 1} columns separated by {self.table.separator}, "
                    f"got {len(columns)}",
                    f"check source_column={self.source} and target_column={self.target}",
                )
            elif columns:
                expected = expected or len(columns)
                if len(columns) != expected:
                    problem = f"expected {expected} columns as in line 1, got {len(columns)}"
                    wrong.add(self.table.path, number, problem, self.table.remedy)
            if not wrong.count and not (columns and is_header):
                yield (columns[self.source], columns[self.target]) if columns else ("", "")
            is_header = is_header and not columns
        wrong.refuse()


def open_tsv(
    paths: PathLike | Sequence[PathLike], source_column: int = 0, target_column: int = 1
) -> list[PairTable]:
    """Looks through the files that `read_tsv` reads; arguments and errors are the same."""
    if min(source_column, target_column) < 0 or source_column == target_column:
        raise ValueError(
            "source_column and target_column must be two different numbers from 0, got "
            f"{source_column} and {target_column}"
        )
    files = as_paths(paths)
    require_files(files)
    return [PairTable(Table.open(path), source_column, target_column) for path in files]
