"""JSON lines, an object a line, as plain, labelled, tagged or paired texts.

Fields that no reader names are ignored.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from keras_transformer.data.sources.corpus import Pairs
from keras_transformer.data.sources.files import (
    PathLike,
    WrongLines,
    as_paths,
    iter_lines,
    require_files,
)
from keras_transformer.data.sources.json_objects import (
    LineError,
    check_whole_characters,
    read_object,
)
from keras_transformer.data.sources.tagged import TaggedTexts
from keras_transformer.data.sources.texts import LabelledTexts, Texts

Rows = list[tuple[Any, ...]]
Files = list[tuple[str, list[int]]]
TEXT, SECOND_TEXT, LABEL, WORDS, TAGS = "text", "second_text", "label", "words", "tags"


def read_json_texts(paths: PathLike | Sequence[PathLike]) -> Texts:
    """Reads the field `text` of each object; an empty text ends a document.

    Args:
        paths: One path, or several in order; UTF-8, plain or gzip. A blank line is an
            empty text, which training drops and counts.

    Raises:
        FileNotFoundError: A file is missing; all are checked before any is read.
        OSError: A file cannot be read.
        ValueError: Lines are no JSON objects, or a field is missing or of another type (names the
            first of them by file and line, and counts the others), or there is no text at all.
    """
    rows, _ = _read(paths, lambda record: (_text(record, TEXT, may_be_empty=True),))
    return Texts([text for (text,) in rows], _origin(paths))


def read_json_labelled(paths: PathLike | Sequence[PathLike]) -> LabelledTexts:
    """Reads `label`, a string or an integer, `text` and, in all objects or none, `second_text`.

    Arguments and errors are those of `read_json_texts`.
    """
    rows, files = _read(
        paths,
        lambda record: (
            _label(record),
            _text(record, TEXT),
            *([_text(record, SECOND_TEXT)] if SECOND_TEXT in record else []),
        ),
        as_first=f"{SECOND_TEXT!r} must be in all lines or in none",
    )
    labels, first, *second = zip(*rows, strict=True)
    seconds = second[0] if second else None
    return LabelledTexts(labels, first, seconds, _origin(paths), files=files)


def read_json_tagged(paths: PathLike | Sequence[PathLike]) -> TaggedTexts:
    """Reads `words` and `tags`, two lists of strings of one length.

    Arguments and errors are those of `read_json_texts`.
    """

    def row(record: dict[str, Any]) -> tuple[tuple[str, ...], tuple[str, ...]]:
        words, tags = _strings(record, WORDS), _strings(record, TAGS)
        if len(words) != len(tags):
            raise LineError(f"expected a tag for each word, got {len(words)} and {len(tags)}")
        return words, tags

    rows, files = _read(paths, row, blank=())
    words, tags = zip(*rows, strict=True)
    return TaggedTexts(words, tags, _origin(paths), files)


def read_json_pairs(paths: PathLike | Sequence[PathLike]) -> Pairs:
    """Reads `text` and `second_text`.

    Arguments and errors are those of `read_json_texts`.
    """
    rows, _ = _read(paths, lambda record: (_text(record, TEXT), _text(record, SECOND_TEXT)))
    first, second = zip(*rows, strict=True)
    return Pairs(first, second, _origin(paths))


def _read(paths: Any, row_of: Any, as_first: str = "", blank: Any = "") -> tuple[Rows, Files]:
    """Returns `row_of` each object and its line; raises what is wrong by file and line.

    Args:
        paths: The files.
        row_of: Takes an object and returns a row.
        as_first: What is wrong with a row that is not as long as the first; empty if rows may be.
        blank: What a row of a blank line consists of.
    """
    rows: Rows = []
    files: Files = []
    wrong, width = WrongLines(), 0
    for path, number, line in _lines(paths):
        if number == 1:
            files.append((str(path), []))
        files[-1][1].append(number)
        try:
            rows.append(row_of(read_object(line)) if line.strip() else ())
            width = width or len(rows[-1])
            if as_first and rows[-1] and len(rows[-1]) != width:
                raise LineError(as_first)
        except LineError as error:
            wrong.add(path, number, error)
    wrong.refuse()
    if not width:
        raise ValueError(f"the corpus is empty: no line in {_origin(paths)}")
    return [row or (blank,) * width for row in rows], files


def _lines(paths: Any) -> Iterator[tuple[Path, int, str]]:
    files = as_paths(paths)
    require_files(files)
    for path in files:
        for number, line in enumerate(iter_lines(path), start=1):
            yield path, number, line


def _origin(paths: Any) -> str:
    return ", ".join(map(str, as_paths(paths)))


def _field(record: dict[str, Any], name: str) -> Any:
    if name not in record:
        raise LineError(f"the field {name!r} is missing, only {', '.join(record) or 'none'} given")
    return record[name]


def _text(record: dict[str, Any], name: str, *, may_be_empty: bool = False) -> str:
    text = _field(record, name)
    if not isinstance(text, str):
        raise LineError(f"{name!r} must be a text, got {text!r}")
    if not may_be_empty and not text.strip():
        raise LineError(f"{name!r} is empty")
    return _whole(name, text)


def _label(record: dict[str, Any]) -> str:
    """Returns the label, cleaned as those of lines with tabs are."""
    label = _field(record, LABEL)
    if isinstance(label, bool) or not isinstance(label, str | int):
        raise LineError(f"{LABEL!r} must be a text or an integer, got {label!r}")
    label = str(label).strip()
    if not label or "\t" in label or "\n" in label:
        raise LineError(f"{LABEL!r} must hold text, without tabs and line feeds, got {label!r}")
    return _whole(LABEL, label)


def _strings(record: dict[str, Any], name: str) -> tuple[str, ...]:
    values = _field(record, name)
    if not isinstance(values, list) or not all(
        value and isinstance(value, str) for value in values
    ):
        raise LineError(f"{name!r} must be a list of texts, got {values!r}")
    return tuple(_whole(name, value) for value in values)


def _whole(name: str, text: str) -> str:
    check_whole_characters(name, text)
    return text
