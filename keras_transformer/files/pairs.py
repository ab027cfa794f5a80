"""Pairs of texts and their translations in files that hold both, to train and to evaluate on."""

from collections.abc import Iterator
from pathlib import Path

from keras_transformer.files.codes import between_codes
from keras_transformer.files.formats import FormatName, read_document


def translated_pairs(path: Path, name: FormatName | None = None) -> Iterator[tuple[str, str]]:
    """Yields the texts of a file that somebody has translated, each with its translation.

    What needs review, and what has inline elements, is left out. Texts of several lines are pairs
    of lines where both sides have as many, else one pair of joined lines.

    Args:
        path: The file.
        name: Its format; by its name if None.

    Raises:
        OSError: It cannot be read.
        ValueError: It is not of that format, or has no translation.
    """
    found = 0
    for segment in read_document(path, None, name).segments:
        if segment.state != "translated" or not segment.given:
            continue
        pairs = {(segment.texts[0], segment.given[0]), (segment.texts[-1], segment.given[-1])}
        for text, translation in sorted(pairs):
            if len(between_codes(text)) == 1:
                found += 1
                yield from _lines(text, translation)
    if not found:
        raise ValueError(f"{path} holds no translation.")


def _lines(text: str, translation: str) -> Iterator[tuple[str, str]]:
    sides = [one.strip().split("\n") for one in (text, translation)]
    if len(sides[0]) != len(sides[1]):
        sides = [[" ".join(" ".join(one).split())] for one in sides]
    for pair in zip(*sides, strict=True):
        stripped = pair[0].strip(), pair[1].strip()
        if all(stripped):
            yield stripped
