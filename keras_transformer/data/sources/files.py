"""Text files, plain or gzip: parallel ones as `Pairs`, phrases, and their lines.

Only a line feed ends a line (a carriage return before it is dropped), so line n of one side matches
line n of the other, whatever Unicode separators the text contains.
"""

import gzip
import os
import zlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TypeAlias

from keras_transformer.data.sources.corpus import Pairs

PathLike: TypeAlias = str | os.PathLike[str]

_GZIP_MAGIC = b"\x1f\x8b"
_BYTE_ORDER_MARK = "\ufeff"
# Wrong lines that an error names one by one.
_NAMED = 10


def iter_lines(path: PathLike) -> Iterator[str]:
    """Yields the lines of a UTF-8 file, plain or gzip (detected by content, not by name).

    Args:
        path: The file; a byte order mark at its start is dropped.

    Raises:
        FileNotFoundError: There is no such file.
        OSError: The file cannot be read (a directory, no permission).
        ValueError: Lines are not UTF-8 or the gzip data is broken; names file and lines. The lines
            before the first of them have been yielded.
    """
    wrong = WrongLines()
    for number, raw in enumerate(iter_raw_lines(path), start=1):
        try:
            line = raw.decode("utf-8")
        except UnicodeDecodeError as error:
            problem = f"not UTF-8 (byte {error.start + 1} is 0x{raw[error.start]:02x})"
            wrong.add(path, number, problem, remedy="convert the file to UTF-8")
        if wrong.count:
            continue
        if number == 1:
            line = line.removeprefix(_BYTE_ORDER_MARK)
        yield line.removesuffix("\n").removesuffix("\r")
    wrong.refuse()


def read_lines(path: PathLike) -> list[str]:
    """Returns all lines that `iter_lines` yields."""
    return list(iter_lines(path))


def read_parallel(
    source_paths: PathLike | Sequence[PathLike], target_paths: PathLike | Sequence[PathLike]
) -> Pairs:
    """Reads parallel files: line n of a target shard translates line n of its source shard.

    Args:
        source_paths: One path, or the shards in order.
        target_paths: As many, in the same order.

    Raises:
        FileNotFoundError: A file is missing; all are checked before any is read.
        OSError: A file cannot be read.
        ValueError: Unequal numbers of shards or of lines, broken text, or no line at all; names
            the files.
    """
    sources, targets = parallel_paths(source_paths, target_paths)
    source: list[str] = []
    target: list[str] = []
    for source_path, target_path in zip(sources, targets, strict=True):
        source_lines, target_lines = read_lines(source_path), read_lines(target_path)
        require_as_many_lines(source_path, len(source_lines), target_path, len(target_lines))
        source += source_lines
        target += target_lines
    origin = f"{', '.join(map(str, sources))} and {', '.join(map(str, targets))}"
    if not source:
        raise ValueError(f"the corpus is empty: no line in {origin}")
    return Pairs(source, target, origin)


def as_paths(paths: PathLike | Sequence[PathLike]) -> list[Path]:
    """Returns one path or several as a list; raises `ValueError` if there is none."""
    listed = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
    if not listed:
        raise ValueError("expected at least one path, got none")
    return [Path(path) for path in listed]


def parallel_paths(
    source_paths: PathLike | Sequence[PathLike], target_paths: PathLike | Sequence[PathLike]
) -> tuple[list[Path], list[Path]]:
    """Returns both sides as equally long lists of existing files; raises as `read_parallel`."""
    sources, targets = as_paths(source_paths), as_paths(target_paths)
    if len(sources) != len(targets):
        raise ValueError(
            "source_paths and target_paths must name equally many files, got "
            f"{len(sources)} and {len(targets)}"
        )
    require_files([*sources, *targets])
    return sources, targets


def require_as_many_lines(source: Path, source_lines: int, target: Path, target_lines: int) -> None:
    """Raises `ValueError` if two parallel files differ in number of lines."""
    if source_lines != target_lines:
        shorter, line = min((source, source_lines), (target, target_lines), key=_count)
        raise ValueError(
            f"{source} has {source_lines} lines but {target} has {target_lines}: {shorter} ends "
            f"after line {line}; parallel files need equally many lines"
        )


def require_files(paths: Sequence[Path]) -> None:
    """Raises one `FileNotFoundError` that names every missing file."""
    missing = [str(path) for path in paths if not path.exists()]
    if missing:
        raise FileNotFoundError(f"no such file: {', '.join(missing)}")


def require_rereadable(paths: Sequence[Path]) -> None:
    """Raises `ValueError` if a file can be read only once, such as a pipe or `<(command)`."""
    for path in paths:
        if path.exists() and not path.is_file() and not path.is_dir():
            raise ValueError(
                f"{path} is a pipe, and this text is read more than once: write it to a file "
                "(.gz is read as it is) and give that."
            )


def _count(named: tuple[Path, int]) -> int:
    return named[1]


def read_phrases(path: PathLike) -> tuple[str, ...]:
    """Reads phrases, one a line, in order and each once; empty lines are left out.

    Args:
        path: UTF-8, plain or gzip.

    Raises:
        FileNotFoundError: The file is missing.
        ValueError: Broken text (names file and line), no phrase at all, or the file is a pipe: a
            run reads its phrases several times.
    """
    require_files(as_paths(path))
    require_rereadable(as_paths(path))
    phrases = dict.fromkeys(" ".join(line.split()) for line in iter_lines(path))
    phrases.pop("", None)
    if not phrases:
        raise ValueError(f"{path} has no phrase: write one a line.")
    return tuple(phrases)


def iter_raw_lines(path: PathLike) -> Iterator[bytes]:
    """Yields lines as bytes, with line feeds; errors name the file and the line."""
    number = 0
    try:
        with open(path, "rb") as plain:
            # Not read and sought back: a pipe can only go on.
            packed = plain.peek(len(_GZIP_MAGIC)).startswith(_GZIP_MAGIC)
            stream: Iterable[bytes] = gzip.open(plain) if packed else plain
            # Iterating a binary stream splits on line feeds only, unlike str.splitlines.
            for line in stream:
                number += 1
                yield line
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ValueError(
            f"{os.fspath(path)}, after line {number}: broken gzip data ({error}); copy the file "
            "again"
        ) from error
    except FileNotFoundError as error:
        raise FileNotFoundError(f"no such file: {os.fspath(path)}") from error
    except OSError as error:
        raise OSError(f"cannot read {os.fspath(path)}: {error.strerror or error}") from error


def text_name(text: int, files: Sequence[tuple[str, Sequence[int]]], origin: str = "") -> str:
    """Returns what messages call a text: its file and line, or its number where they are unknown.

    Args:
        text: Its number, from 0.
        files: For each file its name and the line of each of its texts, from 1.
        origin: Where texts come from whose files are unknown.

    Example:
        >>> text_name(2, [("a.tsv", [1, 4]), ("b.tsv", [3])]), text_name(2, [], "here")
        ('b.tsv, line 3', 'here, text 3')
    """
    line = text
    for file, lines in files:
        if line < len(lines):
            return f"{file}, line {lines[line]}"
        line -= len(lines)
    return f"{origin}, text {text + 1}".removeprefix(", ")


class WrongLines:
    """Lines that cannot be read, for one error about all of them.

    Attributes:
        count: How many there are.
    """

    def __init__(self) -> None:
        self.count = 0
        self._named: list[str] = []
        self._remedies: list[str] = []
        self._path: PathLike = ""

    def add(self, path: PathLike, number: int, problem: object, remedy: str = "") -> None:
        """Adds a line of a file, counted from 1, what is wrong with it, and what to do."""
        self.count += 1
        if remedy and remedy not in self._remedies:
            self._remedies.append(remedy)
        if self.count <= _NAMED:
            file = "" if path == self._path else f"{os.fspath(path)}, "
            self._named.append(f"{file}line {number}: {problem}".removesuffix("."))
            self._path = path

    def refuse(self) -> None:
        """Raises `ValueError` if there are any: the first ten are named, the others counted."""
        if not self.count:
            return
        begin = f"{self.count:,} lines cannot be read: " * (self.count > 1)
        more = [f"and {self.count - _NAMED:,} more"] * (self.count > _NAMED)
        raise ValueError(begin + "; ".join([*self._named, *more, *self._remedies]))
