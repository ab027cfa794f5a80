"""Single texts in memory, plain (`Texts`) or labelled (`LabelledTexts`); nothing here tokenizes or
needs TensorFlow.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from keras_transformer.data.sources.files import PathLike, as_paths, iter_lines, require_files


@dataclass(frozen=True)
class Texts:
    """Texts, one a line.

    Attributes:
        lines: The texts; empty ones may end a document.
        origin: Where they come from, for messages.

    Raises:
        TypeError: `lines` is one string.
        ValueError: No line holds text.

    Example:
        >>> len(Texts(["a dog", "a cat"], origin="example"))
        2
    """

    lines: Sequence[str]
    origin: str

    def __post_init__(self) -> None:
        if isinstance(self.lines, str):
            raise TypeError(
                f"Texts.lines must be a sequence of texts, got one string: {self.lines[:40]!r}. "
                "Put it into a list."
            )
        object.__setattr__(self, "lines", tuple(self.lines))
        if not any(line.strip() for line in self.lines):
            raise ValueError(f"the corpus is empty: no text in {self.origin}")

    @property
    def num_documents(self) -> int:
        """Number of documents, which empty lines separate."""
        has_text = [bool(line.strip()) for line in self.lines]
        begins = zip(has_text, [False, *has_text], strict=False)
        return sum(now and not before for now, before in begins)

    def __len__(self) -> int:
        """Returns the number of lines."""
        return len(self.lines)


@dataclass(frozen=True)
class LabelledTexts:
    """Texts, or pairs of texts, each with a label.

    Attributes:
        labels: The label of each.
        first: The texts, or the first of each pair.
        second: The second of each pair; None for single texts.
        origin: Where they come from, for messages.

    Raises:
        ValueError: The parts differ in length, or are empty.

    Example:
        >>> LabelledTexts(["pet", "food"], ["a dog", "a pie"], None, origin="example").classes
        ('food', 'pet')
    """

    labels: Sequence[str]
    first: Sequence[str]
    second: Sequence[str] | None
    origin: str

    def __post_init__(self) -> None:
        counts = {len(part) for part in (self.labels, self.first, self.second) if part is not None}
        if len(counts) != 1:
            raise ValueError(
                f"labels and texts of {self.origin} must be equally many, got "
                f"{' and '.join(map(str, sorted(counts)))}"
            )
        if not self.labels:
            raise ValueError(f"the corpus is empty: no line in {self.origin}")

    @property
    def classes(self) -> tuple[str, ...]:
        """The different labels, sorted."""
        return tuple(sorted(set(self.labels)))

    def __len__(self) -> int:
        """Returns the number of texts or pairs."""
        return len(self.labels)


@dataclass(frozen=True)
class TextCorpus:
    """What a run on plain texts reads: texts to train on and, optionally, to validate on."""

    train: Texts
    valid: Texts | None = None


@dataclass(frozen=True)
class LabelledCorpus:
    """What a classifier's run reads.

    Attributes:
        train: Texts to train on, of two or more classes.
        valid: Texts to validate on, or None.

    Raises:
        ValueError: `train` has one class only, `valid` has a label that `train` lacks, or one has
            pairs and the other has not.
    """

    train: LabelledTexts
    valid: LabelledTexts | None = None

    def __post_init__(self) -> None:
        classes = self.train.classes
        if len(classes) < 2:
            raise ValueError(
                f"a classifier needs two or more labels, and {self.train.origin} has only "
                f"{classes[0]!r}"
            )
        if self.valid is None:
            return
        for number, label in enumerate(self.valid.labels, start=1):
            if label not in classes:
                raise ValueError(
                    f"{self.valid.origin}: the label {label!r} of text {number} is not in the "
                    f"training texts, which have {_listed(classes)}"
                )
        if (self.train.second is None) != (self.valid.second is None):
            raise ValueError(
                f"{self.train.origin} and {self.valid.origin} must both hold single texts or both "
                "hold pairs"
            )


def read_texts(paths: PathLike | Sequence[PathLike]) -> Texts:
    """Reads plain text, one text a line.

    Args:
        paths: One path, or several in order; UTF-8, plain or gzip.

    Raises:
        FileNotFoundError: A file is missing; all are checked before any is read.
        OSError: A file cannot be read.
        ValueError: Broken text (names file and line), or no text at all.
    """
    files = as_paths(paths)
    require_files(files)
    lines = [line for path in files for line in iter_lines(path)]
    return Texts(lines, ", ".join(map(str, files)))


def read_labelled(
    paths: PathLike | Sequence[PathLike], *, multi_label: bool = False
) -> LabelledTexts:
    """Reads lines of `label<TAB>text` or `label<TAB>text<TAB>second text`.

    Args:
        paths: One path, or several in order; UTF-8, plain or gzip.
        multi_label: Whether a text may have no label; several are one string, as they stand.

    Raises:
        FileNotFoundError: A file is missing; all are checked before any is read.
        OSError: A file cannot be read.
        ValueError: A line has no tab, no label, an empty text or another number of columns than the
            first line; names file and line.
    """
    files = as_paths(paths)
    require_files(files)
    rows: list[list[str]] = []
    for path in files:
        for number, line in enumerate(iter_lines(path), start=1):
            columns = [column.strip() for column in line.split("\t")]
            problem = _problem(columns, len(rows[0]) if rows else None, multi_label)
            if problem:
                raise ValueError(f"{path}, line {number}: {problem}")
            rows.append(columns)
    origin = ", ".join(map(str, files))
    if not rows:
        raise ValueError(f"the corpus is empty: no line in {origin}")
    labels, first, *second = map(tuple, zip(*rows, strict=True))
    return LabelledTexts(labels, first, second[0] if second else None, origin)


def _problem(columns: list[str], expected: int | None, multi_label: bool) -> str | None:
    """Returns what is wrong with a line of labelled text, or None."""
    if len(columns) == 1:
        return "expected label<TAB>text, got no tab"
    if not columns[0] and not multi_label:
        return "the label before the tab is empty"
    if len(columns) > 3:
        return (
            f"expected label<TAB>text or label<TAB>text<TAB>second text, got {len(columns)} "
            "columns; a tab inside a text must become a space"
        )
    if expected not in (None, len(columns)):
        return f"expected {expected} columns as in the first line, got {len(columns)}"
    if not all(columns[1:]):
        return "the text after the label is empty"
    return None


def _listed(classes: Sequence[str], most: int = 10) -> str:
    shown = ", ".join(map(repr, classes[:most]))
    return shown if len(classes) <= most else f"{shown} and {len(classes) - most} more"
