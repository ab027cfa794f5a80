"""Tab-separated files, plain or gzip, as `Pairs`.

There is no quoting: a tab always separates columns and a line feed always ends a line.
"""

from collections.abc import Iterator, Sequence

from keras_transformer.data.sources.corpus import Pairs
from keras_transformer.data.sources.files import PathLike, as_paths, iter_lines, require_files


def read_tsv(
    paths: PathLike | Sequence[PathLike], source_column: int = 0, target_column: int = 1
) -> Pairs:
    """Reads sentence pairs from columns of TSV files.

    Args:
        paths: One path, or the shards in order; UTF-8, plain or gzip.
        source_column: Number of the source's column, from 0.
        target_column: Number of the target's column, from 0.

    Raises:
        FileNotFoundError: A file is missing; all are checked before any is read.
        OSError: A file cannot be read.
        ValueError: The columns are the same or negative, a line has too few columns or not as many
            as the first line of its file (names file and line), or there is no line at all.
    """
    pairs = list(iter_tsv(paths, source_column, target_column))
    origin = ", ".join(map(str, as_paths(paths)))
    if not pairs:
        raise ValueError(f"the corpus is empty: no line in {origin}")
    source, target = zip(*pairs, strict=True)
    return Pairs(source, target, origin)


def iter_tsv(
    paths: PathLike | Sequence[PathLike], source_column: int = 0, target_column: int = 1
) -> Iterator[tuple[str, str]]:
    """Yields the pairs that `read_tsv` reads, one at a time; arguments and errors are the same."""
    if min(source_column, target_column) < 0 or source_column == target_column:
        raise ValueError(
            "source_column and target_column must be two different numbers from 0, got "
            f"{source_column} and {target_column}"
        )
    files = as_paths(paths)
    require_files(files)
    for path in files:
        expected: int | None = None
        for number, line in enumerate(iter_lines(path), start=1):
            columns = line.split("\t")
            if len(columns) <= max(source_column, target_column):
                raise ValueError(
                    f"{path}, line {number}: expected at least "
                    f"{max(source_column, target_column) + 1} columns separated by tabs, got "
                    f"{len(columns)}; check the line, or source_column={source_column} and "
                    f"target_column={target_column}"
                )
            expected = expected or len(columns)
            if len(columns) != expected:
                raise ValueError(
                    f"{path}, line {number}: expected {expected} columns as in line 1, got "
                    f"{len(columns)}; a tab inside a sentence must become a space"
                )
            yield columns[source_column], columns[target_column]
