"""Parallel text as streams, one pair at a time, for corpora that are larger than memory."""

import hashlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import ClassVar, Protocol

from keras_transformer.data.sources.files import (
    as_paths,
    iter_lines,
    iter_raw_lines,
    parallel_paths,
    require_as_many_lines,
    require_files,
)
from keras_transformer.data.sources.tsv import PairTable, open_tsv
from keras_transformer.files.pairs import translated_pairs


@dataclass(frozen=True)
class TextFile:
    """The number of lines of a file and a hash of its text, to tell whether it has changed.

    The hash of a compressed file is that of its decompressed text.
    """

    lines: int
    sha256: str


class PairStream(Protocol):
    """Sentence pairs on disk, which can be read repeatedly and are never held as a whole.

    Attributes:
        is_single: Whether they are single texts, sources without a target.
    """

    is_single: ClassVar[bool]

    @property
    def files(self) -> list[Path]:
        """Every file that is read."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What was recognised of them, such as a header, in lines to show."""

    def pairs(self) -> Iterator[tuple[str, str]]:
        """Yields source and target, pair after pair."""

    def sentences(self, side: int) -> Iterator[str]:
        """Yields the source sentences (side 0) or the target sentences (side 1)."""

    def count(self, files: dict[Path, TextFile]) -> int:
        """Returns the number of pairs; `ValueError` if the sides differ in number of lines."""


@dataclass(frozen=True)
class ParallelFiles:
    """Two lists of text files, as `read_parallel` takes them.

    Raises:
        FileNotFoundError: A file is missing.
        ValueError: The sides differ in number of files.
    """

    is_single: ClassVar[bool] = False
    notes: ClassVar[tuple[str, ...]] = ()

    source: tuple[Path, ...]
    target: tuple[Path, ...]

    def __post_init__(self) -> None:
        source, target = parallel_paths(self.source, self.target)
        object.__setattr__(self, "source", tuple(source))
        object.__setattr__(self, "target", tuple(target))

    @property
    def files(self) -> list[Path]:
        """Every file that is read."""
        return [*self.source, *self.target]

    def pairs(self) -> Iterator[tuple[str, str]]:
        """Yields source and target, pair after pair."""
        for source, target in zip(self.source, self.target, strict=True):
            yield from zip(iter_lines(source), iter_lines(target), strict=True)

    def sentences(self, side: int) -> Iterator[str]:
        """Yields the source sentences (side 0) or the target sentences (side 1)."""
        return chain.from_iterable(map(iter_lines, (self.source, self.target)[side]))

    def count(self, files: dict[Path, TextFile]) -> int:
        """Returns the number of pairs; `ValueError` if the sides differ in number of lines."""
        for source, target in zip(self.source, self.target, strict=True):
            require_as_many_lines(source, files[source].lines, target, files[target].lines)
        return sum(files[path].lines for path in self.source)


@dataclass(frozen=True)
class _LineFiles:
    """Files with everything of a pair or a text in one line."""

    paths: tuple[Path, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "paths", tuple(as_paths(self.paths)))
        require_files(self.paths)

    @property
    def files(self) -> list[Path]:
        """Every file that is read."""
        return list(self.paths)

    def count(self, files: dict[Path, TextFile]) -> int:
        """Returns the number of pairs or texts."""
        return sum(files[path].lines for path in self.paths)


@dataclass(frozen=True)
class TsvFiles(_LineFiles):
    """Files with one pair per line, as `read_tsv` takes them.

    Raises:
        FileNotFoundError: A file is missing.
    """

    is_single: ClassVar[bool] = False

    source_column: int = 0
    target_column: int = 1

    def pairs(self) -> Iterator[tuple[str, str]]:
        """Yields source and target, pair after pair."""
        return chain.from_iterable(table.pairs() for table in self._tables)

    def sentences(self, side: int) -> Iterator[str]:
        """Yields the source sentences (side 0) or the target sentences (side 1)."""
        return (pair[side] for pair in self.pairs())

    def count(self, files: dict[Path, TextFile]) -> int:
        """Returns the number of pairs, blank lines included."""
        if any(table.header or table.table.is_quoted for table in self._tables):
            return sum(1 for _ in self.pairs())
        return super().count(files)

    @property
    def notes(self) -> tuple[str, ...]:
        """What was recognised, in lines to show."""
        return tuple(note for table in self._tables for note in table.notes)

    @cached_property
    def _tables(self) -> list[PairTable]:
        return open_tsv(self.paths, self.source_column, self.target_column)


@dataclass(frozen=True)
class CatalogueFiles(_LineFiles):
    """Files that hold texts beside their translations, as `translated_pairs` reads them.

    Raises:
        FileNotFoundError: A file is missing.
    """

    is_single: ClassVar[bool] = False
    notes: ClassVar[tuple[str, ...]] = ()

    def pairs(self) -> Iterator[tuple[str, str]]:
        """Yields source and target, pair after pair."""
        return chain.from_iterable(map(translated_pairs, self.paths))

    def sentences(self, side: int) -> Iterator[str]:
        """Yields the source sentences (side 0) or the target sentences (side 1)."""
        return (pair[side] for pair in self.pairs())

    def count(self, files: dict[Path, TextFile]) -> int:
        """Returns the number of pairs."""
        return sum(1 for _ in self.pairs())


@dataclass(frozen=True)
class ChangedPairs:
    """The pairs of a stream as training is to read them, such as with noise.

    Attributes:
        stream: The pairs as they are.
        change: Yields them changed, as many, the same ones whenever they are read.
    """

    is_single: ClassVar[bool] = False

    stream: PairStream
    change: Callable[[Iterable[tuple[str, str]]], Iterator[tuple[str, str]]]

    @property
    def files(self) -> list[Path]:
        """Every file that is read."""
        return self.stream.files

    @property
    def notes(self) -> tuple[str, ...]:
        """What was recognised of them, in lines to show."""
        return self.stream.notes

    def pairs(self) -> Iterator[tuple[str, str]]:
        """Yields source and target, pair after pair."""
        return self.change(self.stream.pairs())

    def sentences(self, side: int) -> Iterator[str]:
        """Yields the source sentences (side 0) or the target sentences (side 1)."""
        return (pair[side] for pair in self.pairs())

    def count(self, files: dict[Path, TextFile]) -> int:
        """Returns the number of pairs; `ValueError` if the sides differ in number of lines."""
        return self.stream.count(files)


@dataclass(frozen=True)
class SingleFiles(_LineFiles):
    """Files with one text per line, as `read_texts` takes them: pairs whose targets are empty.

    Raises:
        FileNotFoundError: A file is missing.
    """

    is_single: ClassVar[bool] = True
    notes: ClassVar[tuple[str, ...]] = ()

    def pairs(self) -> Iterator[tuple[str, str]]:
        """Yields each text with an empty target."""
        return ((text, "") for text in self.sentences(0))

    def sentences(self, side: int) -> Iterator[str]:
        """Yields the texts (side 0) or nothing (side 1)."""
        return chain.from_iterable(map(iter_lines, self.paths if side == 0 else ()))


def describe_text(path: Path) -> TextFile:
    """Counts and hashes a file's lines in one pass."""
    digest = hashlib.sha256()
    lines = 0
    for raw in iter_raw_lines(path):
        digest.update(raw)
        lines += 1
    return TextFile(lines, digest.hexdigest())
