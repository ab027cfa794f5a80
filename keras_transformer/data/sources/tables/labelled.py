"""Labelled texts in files of columns: lines of `label<TAB>text`, or rows of CSV."""

from collections.abc import Sequence
from dataclasses import dataclass

from keras_transformer.data.sources.files import PathLike, WrongLines, as_paths, require_files
from keras_transformer.data.sources.json_objects import LineError
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
        ValueError: Lines have one column, no label, an empty text or another number of columns than
            the first line; names the first of them by file and line, and counts the others.
    """
    files = as_paths(paths)
    require_files(files)
    found: list[list[str]] = []
    notes: list[str] = []
    wrong, width = WrongLines(), 0
    lines: list[tuple[str, list[int]]] = []
    for path in files:
        lines.append((str(path), []))
        table = Table.open(path)
        rows, columns = _rows_and_columns(table)
        notes += [*table.notes, *columns.notes]
        for number, row in rows:
            try:
                found.append(columns.read(row, width, multi_label) if row else [])
                lines[-1][1].append(number)
                width = width or len(found[-1])
            except LineError as error:
                wrong.add(path, number, error)
    wrong.refuse()
    origin = ", ".join(map(str, files))
    if not width:
        raise ValueError(f"the corpus is empty: no line in {origin}")
    filled = (columns or [""] * width for columns in found)
    labels, first, *second = map(tuple, zip(*filled, strict=True))
    seconds = second[0] if second else None
    return LabelledTexts(labels, first, seconds, origin, tuple(notes), multi_label, lines)


@dataclass(frozen=True)
class _Columns:
    """The columns of a file that hold labels and texts.

    Attributes:
        table: The file.
        names: The names of all columns; none without a first line that names them.
        order: Which of these columns are read, that of the label first.
        notes: What the first line was taken for.
    """

    table: Table
    names: Sequence[str] = ()
    order: tuple[int, ...] = ()
    notes: tuple[str, ...] = ()

    def read(self, row: list[str], expected: int, multi_label: bool) -> list[str]:
        """Returns label and texts of a row; raises `LineError` if it is not as `expected`.

        Args:
            row: All columns; not a blank line.
            expected: How many of them are read; 0 if the row is the first.
            multi_label: Whether there may be no label.
        """
        if self.names:
            if len(row) != len(self.names):
                raise LineError(
                    f"expected {len(self.names)} columns as the first line names, got {len(row)}"
                )
            row = [row[place] for place in self.order]
        between = {"\t": "<TAB>"}.get(self.table.delimiter, self.table.delimiter)
        if len(row) == 1:
            raise LineError(f"expected label{between}text, got no {self._separator}")
        if not row[0] and not multi_label:
            raise LineError(f"the label {self._where(0)} is empty")
        if len(row) > 3:
            raise LineError(
                f"expected label{between}text or label{between}text{between}second text, got "
                f"{len(row)} columns; {self.table.remedy}"
            )
        if expected not in (0, len(row)):
            raise LineError(f"expected {expected} columns as in the first line, got {len(row)}")
        if "" in row[1:]:
            raise LineError(f"the text {self._where(row.index('', 1))} is empty")
        return row

    @property
    def _separator(self) -> str:
        return self.table.separator.removesuffix("s")

    def _where(self, place: int) -> str:
        """Returns where the label (0), the text or the second text stands."""
        if self.names:
            return f"in column {self.names[self.order[place]]!r}"
        return (f"before the {self._separator}", "after the label", "after the first text")[place]


def _rows_and_columns(table: Table) -> tuple[Rows, _Columns]:
    """Returns the rows of a file without a first one that names columns, and what they hold."""
    rows = [(number, [column.strip() for column in row]) for number, row in table.rows()]
    first = next((place for place, (_, row) in enumerate(rows) if row), None)
    if first is None:
        return rows, _Columns(table)
    number, names = rows[first]
    shown = f"{table.path}, line {number} ({', '.join(names)})"
    try:
        order = label_columns(names)
    except ValueError as error:
        raise ValueError(f"{table.path}, line {number}: {error}") from error
    label = 0 if order is None else order[0]
    is_class = any(names[label] == row[label] for _, row in rows[first + 1 :] if row[label:])
    if order is None or is_class:
        is_odd = may_name_columns(names) and not is_class
        said = f"{shown} is read as a text: remove it if it names columns"
        return rows, _Columns(table, notes=(said,) * is_odd)
    del rows[first]
    left_out = [name or "one" for place, name in enumerate(names) if place not in order]
    taken = ", ".join(names[place] for place in order)
    said = f"{shown} names the columns, of which {taken} are read"
    if left_out:
        said += f", and {', '.join(left_out)} not"
    return rows, _Columns(table, names, order, (said,))
