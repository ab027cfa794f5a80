"""Labelled texts in files of columns: lines of `label<TAB>text`, or rows of CSV."""

from collections.abc import Sequence
from pathlib import Path

from keras_transformer.data.sources.files import PathLike, as_paths, require_files
from keras_transformer.data.sources.tables.columns import Table
from keras_transformer.data.sources.tables.headers import label_columns, may_name_columns
from keras_transformer.data.sources.texts import LabelledTexts

Rows = list[tuple[int, list[str]]]


def read_labelled(
    paths: PathLike | Sequence[PathLike], *, multi_label: bool = False
) -> LabelledTexts:
    """Reads lines of `label<TAB>text` or `label<TAB>text<TAB>second text`, or rows of CSV.

    A blank line has no label and no text. A first line that names label and text is left out and
    says which columns hold them; quotes around all fields of a column, or where CSV needs them, are
    read as CSV has them. `notes` of the texts says so.

    Args:
        paths: One path, or several in order; UTF-8, plain or gzip; CSV if they are called so.
        multi_label: Whether a text has any number of labels, with commas between them.

    Raises:
        FileNotFoundError: A file is missing; all are checked before any is read.
        OSError: A file cannot be read.
        ValueError: A line has one column, no label, an empty text or another number of columns than
            the first line; names file and line.
    """
    files = as_paths(paths)
    require_files(files)
    found: list[list[str]] = []
    notes: list[str] = []
    width = 0
    for path in files:
        table = Table.open(path)
        rows, said = _named_rows(table)
        notes += [*table.notes, *said]
        for number, columns in rows:
            if problem := columns and _problem(table, columns, width, multi_label):
                raise ValueError(f"{path}, line {number}: {problem}")
            width = width or len(columns)
            found.append(columns)
    origin = ", ".join(map(str, files))
    if not width:
        raise ValueError(f"the corpus is empty: no line in {origin}")
    filled = (columns or [""] * width for columns in found)
    labels, first, *second = map(tuple, zip(*filled, strict=True))
    seconds = second[0] if second else None
    return LabelledTexts(labels, first, seconds, origin, tuple(notes), multi_label)


def _named_rows(table: Table) -> tuple[Rows, list[str]]:
    """Returns label and texts of each row, in this order, and what the first one was taken for."""
    rows = [(number, [column.strip() for column in columns]) for number, columns in table.rows()]
    first = next((place for place, (_, columns) in enumerate(rows) if columns), None)
    if first is None:
        return rows, []
    number, names = rows[first]
    shown = f"{table.path}, line {number} ({', '.join(names)})"
    try:
        order = label_columns(names)
    except ValueError as error:
        raise ValueError(f"{table.path}, line {number}: {error}") from error
    label = 0 if order is None else order[0]
    is_class = any(names[label] == columns[label] for _, columns in rows[first + 1 :] if columns)
    if order is None or is_class:
        is_odd = may_name_columns(names) and not is_class
        return rows, [f"{shown} is read as a text: remove it if it names columns"] * is_odd
    del rows[first]
    left_out = [name or "one" for place, name in enumerate(names) if place not in order]
    taken = ", ".join(names[place] for place in order)
    said = f"{shown} names the columns, of which {taken} are read"
    if left_out:
        said += f", and {', '.join(left_out)} not"
    return [(line, _in_order(table.path, line, one, names, order)) for line, one in rows], [said]


def _in_order(
    path: Path, line: int, columns: list[str], names: list[str], order: tuple[int, ...]
) -> list[str]:
    if columns and len(columns) != len(names):
        raise ValueError(
            f"{path}, line {line}: expected {len(names)} columns as the first line names, got "
            f"{len(columns)}"
        )
    return [columns[place] for place in order] if columns else []


def _problem(table: Table, columns: list[str], expected: int, multi_label: bool) -> str | None:
    """Returns what is wrong with a row of labelled text, or None."""
    between = {"\t": "<TAB>"}.get(table.delimiter, table.delimiter)
    if len(columns) == 1:
        return f"expected label{between}text, got no {table.separator.removesuffix('s')}"
    if not columns[0] and not multi_label:
        return f"the label before the {table.separator.removesuffix('s')} is empty"
    if len(columns) > 3:
        return (
            f"expected label{between}text or label{between}text{between}second text, got "
            f"{len(columns)} columns; {table.remedy}"
        )
    if expected not in (0, len(columns)):
        return f"expected {expected} columns as in the first line, got {len(columns)}"
    if not all(columns[1:]):
        return "the text after the label is empty"
    return None
