"""What the systems of the lineage read: text without labels, and the tasks on which they are told
apart. No text of a task is among the text without labels.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from small.corpora import captions, messages

Kind = Literal["classify", "tag", "language model"]

_CAPTIONS, _MESSAGES = 24_000, 12_000
_TESTED = 1000
# What a translation must keep, by kind; the first that begins a word names it.
_SPANS = (
    ("MARKUP", re.compile(r"[(\"']*(?:</?\w[^>]*>?|&\w+;|`[^`]+`)")),
    ("PLACEHOLDER", re.compile(r"[(\"'<]*(?:%[-+ #0]*\d*\.?\d*l?\w|%\(\w+\)\w|\{\w*\}|\$\{?\w+)")),
    ("OPTION", re.compile(r"[(\"'\[]*--?[A-Za-z][\w-]*")),
    ("NUMBER", re.compile(r"[(\"']*\d[\d.,:]*\b")),
)


@dataclass(frozen=True)
class Task:
    """A task and its texts.

    Attributes:
        name: What the table calls it.
        kind: What is learnt: a label of a text or pair, tags of words, or to continue texts.
        train: Lines of training: (label, text …), (words, tags), or (text,).
        valid: Those of validation.
        test: Those that are measured.
    """

    name: str
    kind: Kind
    train: list[Any]
    valid: list[Any]
    test: list[Any]

    @property
    def has_pairs(self) -> bool:
        """Whether a label is one of two texts."""
        return self.kind == "classify" and len(self.test[0]) > 2


def pairs_without_labels(data: Path) -> list[tuple[str, str]]:
    """Returns English and German lines: captions, and messages of programs."""
    lines = captions(data)["train"][:_CAPTIONS] + messages(data, "train")[:_MESSAGES]
    # A few messages hold a control character.
    return [(line[0], line[1]) for line in lines if "".join(line[:2]).isprintable()]


def tasks(data: Path) -> Iterator[Task]:
    """Yields the tasks of the table, of captions and of messages.

    Args:
        data: Folder that holds `multi30k_en_de` and `localisation_en_de`.
    """
    parts = captions(data)
    learnt = parts["train"][_CAPTIONS:]
    sides = [("en", "de")[number % 2] for number in range(len(learnt))]

    def labelled(lines: Sequence[Any]) -> list[tuple[str, str]]:
        return [(side, line[side == "de"]) for side, line in zip(sides, lines, strict=False)]

    for count in (60, 600):
        yield Task(
            f"language, {count}",
            "classify",
            labelled(learnt[:count]),
            labelled(parts["valid"][: max(20, count // 5)]),
            labelled(parts["test"][:_TESTED]),
        )
    yield Task(
        "same picture, 3,000",
        "classify",
        _same_picture(learnt[:3000]),
        _same_picture(parts["valid"][:500]),
        _same_picture(parts["test"][:_TESTED]),
    )
    tagged = [
        found for line in messages(data, "train")[_MESSAGES:] if (found := tagged_words(line[0]))
    ]
    yield Task("spans, 600", "tag", tagged[:600], tagged[600:700], tagged[700 : 700 + _TESTED])
    yield Task(
        "captions",
        "language model",
        [],
        [(line[0],) for line in parts["valid"][:500]],
        [(line[0],) for line in parts["test"][:_TESTED]],
    )


def _same_picture(lines: Sequence[Any]) -> list[tuple[str, str, str]]:
    """English and German captions, half of them of the picture beside it."""
    return [
        ("same", line[0], line[1])
        if number % 2
        else ("other", line[0], lines[(number + 1) % len(lines)][1])
        for number, line in enumerate(lines)
    ]


def tagged_words(text: str) -> tuple[list[str], list[str]] | None:
    """Returns words and tags of a message if one at least is no plain word."""
    words = text.split()
    tags = [next((name for name, form in _SPANS if form.match(word)), "O") for word in words]
    return (words, tags) if 3 <= len(words) <= 60 and set(tags) - {"O"} else None
