"""Tables of text: lines whose columns tabs separate (TSV), or rows of CSV, with fields in quotes.

A file is read as CSV, by the csv module, if it is called so (`.csv`, `.csv.gz`), and a TSV file if
its fields are in quotes throughout: quotes that may be part of the text stay.
"""

import csv
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from keras_transformer.data.sources.files import iter_lines

_QUOTE = '"'
# What may separate the columns of CSV; spreadsheets write semicolons where commas are decimal.
_DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs"}
_SNIFFED = 50
_NEEDS_QUOTES = re.compile(r'[\t\n"]')
# A field of a line whose columns tabs separate: in quotes, or as it stands.
_FIELD = re.compile(r'("(?:[^"]|"")*"|[^\t]*)(?:\t|\Z)', re.DOTALL)


@dataclass(frozen=True)
class Table:
    """A file of columns.

    Attributes:
        path: The file, UTF-8, plain or gzip; read twice, unless it is a pipe.
        delimiter: What separates columns.
        is_quoted: Whether fields may be in quotes.
        notes: What was recognised, in lines to show.
        read: The lines of a pipe, which has them only once.
    """

    path: Path
    delimiter: str = "\t"
    is_quoted: bool = False
    notes: tuple[str, ...] = ()
    read: tuple[str, ...] | None = field(default=None, repr=False)

    @property
    def separator(self) -> str:
        """What separates columns, in the plural."""
        return _DELIMITERS[self.delimiter]

    @property
    def remedy(self) -> str:
        """What to do with a text that holds what separates columns."""
        if self.is_quoted:
            return f"a field with {self.separator} must stand in quotes"
        return "a tab inside a text must become a space"

    @classmethod
    def open(cls, path: Path) -> "Table":
        """Looks through a file; errors are those of `iter_lines`, and of `rows` for CSV."""
        read = None if path.is_file() else tuple(iter_lines(path))
        plain = cls(path, read=read)
        if is_csv(path):
            delimiter = plain._delimiter()
            said = f"{path}: read as CSV, with {_DELIMITERS[delimiter]} between columns"
            return cls(path, delimiter, True, (said,), read)
        marked = sum(map(_begins_with_quote, plain._lines()))
        if not marked:
            return plain
        if plain._has_quoted_fields():
            said = f"{path}: fields are in quotes, which are not part of the text"
            return cls(path, "\t", True, (said,), read)
        said = (
            f"{path}: {marked:,} lines have a field that begins with a quote mark; the marks "
            "stay, since not all of a column is in quotes"
        )
        return cls(path, notes=(said,), read=read)

    def rows(self) -> Iterator[tuple[int, list[str]]]:
        """Yields the number of each line, from 1, and its columns; none of a blank line.

        A field in quotes may go on over several lines, of which the number is the last one.

        Raises:
            ValueError: Quotes are not as CSV has them; names file and line.
        """
        if not self.is_quoted:
            for number, line in enumerate(self._lines(), start=1):
                yield number, line.split("\t") if line.strip() else []
            return
        reader = self._reader((f"{line}\n" for line in self._lines()), self.delimiter)
        try:
            for row in reader:
                yield reader.line_num, row if any(map(str.strip, row)) else []
        except csv.Error as error:
            raise ValueError(
                f"{self.path}, line {reader.line_num}: not CSV ({error}); a field with a quote "
                'mark is written in quotes, with each mark inside doubled ("")'
            ) from error

    def _lines(self) -> Iterable[str]:
        return iter_lines(self.path) if self.read is None else self.read

    @staticmethod
    def _reader(lines: Iterable[str], delimiter: str) -> Any:
        return csv.reader(lines, delimiter=delimiter, strict=True)

    def _delimiter(self) -> str:
        """Returns what separates the columns of CSV: what makes the first rows equally wide."""
        for delimiter in _DELIMITERS:
            lines = (f"{line}\n" for line in self._lines())
            rows = self._reader(lines, delimiter)
            try:
                widths = {len(row) for row in islice(rows, _SNIFFED) if row}
            except csv.Error:
                continue
            if len(widths) == 1 and widths != {1}:
                return delimiter
        return ","

    def _has_quoted_fields(self) -> bool:
        """Returns whether quotes are no part of a TSV file's text.

        Either all fields that begin with one need quotes, for a tab, a line end or a quote mark
        inside, or all of a column are in quotes: writers of CSV do one or the other.
        """
        quoted: Counter[int] = Counter()
        filled: Counter[int] = Counter()
        all_need_them, joins_lines = True, False
        widths: set[int] = set()
        try:
            for row, raw in self._rows_with_lines():
                widths.add(len(row))
                found = [one.startswith(_QUOTE) for one in _FIELD.findall(raw)[: len(row)]]
                joins_lines |= "\n" in raw
                for place, (value, is_quoted) in enumerate(zip(row, found, strict=False)):
                    all_need_them &= not is_quoted or bool(_NEEDS_QUOTES.search(value))
                    # The names of columns may be without quotes.
                    if value and (filled or any(found)):
                        filled[place] += 1
                        quoted[place] += is_quoted
        except csv.Error:
            return False
        # A quote mark that opens and one that closes may be of two texts.
        whole_lines = {len(line.split("\t")) for line in self._lines() if line.strip()}
        if len(widths) > 1 or (joins_lines and len(whole_lines) == 1):
            return False
        used = [place for place in filled if quoted[place]]
        is_whole = any(filled[place] > 1 for place in used)
        return all_need_them or (is_whole and all(quoted[one] == filled[one] for one in used))

    def _rows_with_lines(self) -> Iterator[tuple[list[str], str]]:
        """Yields the columns of each row as CSV has them, and its lines as they stand."""
        taken: list[str] = []

        def lines() -> Iterator[str]:
            for line in self._lines():
                taken.append(line)
                yield f"{line}\n"

        for row in self._reader(lines(), self.delimiter):
            raw = "\n".join(taken)
            taken.clear()
            if raw.strip():
                yield row, raw


def is_csv(path: Path) -> bool:
    """Returns whether a file is called CSV, packed or not."""
    return path.name.lower().endswith((".csv", ".csv.gz"))


def _begins_with_quote(line: str) -> bool:
    return line.startswith(_QUOTE) or f"\t{_QUOTE}" in line
