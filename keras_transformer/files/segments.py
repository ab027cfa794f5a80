"""Segments: the texts of a document that are translated, and the edits that write a translation."""

import bisect
import dataclasses
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Literal, NamedTuple, Protocol

from keras_transformer.markup.profiles import Profile

# What the file has for a segment: nothing, a translation that someone must look at, or one.
State = Literal["untranslated", "fuzzy", "translated"]


class Translation(NamedTuple):
    """A translation of one text.

    Attributes:
        text: The translation.
        is_doubtful: Whether it should be looked at: confidence in it is low, it lacks spans, or the
            model had no translation, so that it is the text itself.
        is_known: Whether somebody has translated it before.
        hint: What a comment tells of it, such as the translation of a similar text.
    """

    text: str
    is_doubtful: bool = False
    is_known: bool = False
    hint: str = ""


class Copied(NamedTuple):
    """A part of a document that stays, with the edits inside it."""

    start: int
    end: int


class Edit(NamedTuple):
    """What replaces a part of a document.

    Attributes:
        start: Its first character.
        end: The character behind its last one; `start` to insert.
        parts: The new text: texts, and what is copied from inside the part.
    """

    start: int
    end: int
    parts: tuple[str | Copied, ...]


@dataclasses.dataclass(frozen=True)
class Segment:
    """What is translated together.

    Attributes:
        texts: The text; of an entry with plurals that of one thing, and that of several.
        edits: Returns the edits for a translation of each text.
        line: Where it stands in the file, counted from 1: its line, or its paragraph where a file
            has no lines.
        profile: The spans that it may hold.
        state: What the file has for it.
        given: The file's own translation of each text, if it has one for each.
        context: What tells it from others with the same texts, "" for nothing.
        limit: Says what is wrong with the length of a translation; "" for nothing.
    """

    texts: tuple[str, ...]
    edits: Callable[[Sequence[Translation]], list[Edit]]
    line: int
    profile: Profile = "auto"
    state: State = "untranslated"
    given: tuple[str, ...] = ()
    context: str = ""
    limit: Callable[[str], str] = lambda text: ""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Reading:
    """What a format asks for besides the file.

    Attributes:
        language: Code of the language of the translations, "" where the file says it.
        review: Which translations are marked as needing review, where a format can say so.
        most_unpacked: Most bytes that a packed file may hold; if None, what such a file hardly
            ever exceeds.
        most_seconds: Seconds after which a page with tags that have no end is given up; None for
            never.
    """

    language: str = ""
    review: Literal["all", "low"] = "all"
    most_unpacked: int | None = None
    most_seconds: float | None = None

    def needs_review(self, found: Sequence[Translation]) -> bool:
        """Returns whether the translations of a segment are marked."""
        are_known = all(one.is_known for one in found)
        return any(one.is_doubtful for one in found) or (self.review == "all" and not are_known)


def note_of(found: Sequence[Translation]) -> str:
    """Returns what a comment says of the translations of a segment in one line; "" for nothing.

    Example:
        >>> note_of([Translation("Datei", is_doubtful=True, hint="fuzzy match 80 %: Dateien")])
        'low confidence; fuzzy match 80 %: Dateien'
    """
    said = ["low confidence"] if any(one.is_doubtful for one in found) else []
    hints = dict.fromkeys(" ".join(one.hint.split()) for one in found if one.hint)
    # No format's comment ends within.
    return "; ".join([*said, *hints]).replace("--", "- -").replace("*/", "* /")


class Document(Protocol):
    """A file that was read; its class takes the file's bytes and a `Reading`."""

    @property
    def has_choices(self) -> bool:
        """Whether what looks like a choice of ICU in a text is one, and no example of it."""

    @property
    def segments(self) -> Sequence[Segment]:
        """What can be translated, in order."""

    @property
    def warnings(self) -> Sequence[str]:
        """What is wrong with the file, though it can be read; each with its line."""

    def written(self, translations: Mapping[int, Sequence[Translation]]) -> bytes:
        """Returns the file with translations, by the place of their segments.

        Raises:
            ValueError: Its encoding lacks a character.
        """


def line_counter(text: str) -> Callable[[int], int]:
    """Returns what gives the line of a character of a text, counted from 1."""
    breaks = [found.start() for found in re.finditer("\n", text)]
    return lambda place: bisect.bisect_left(breaks, place) + 1


def spliced(text: str, edits: Iterable[Edit]) -> str:
    """Returns a text with parts replaced; of nested edits the inner ones are made in what the
    outer ones copy.

    Example:
        >>> spliced("a bad day", [Edit(2, 5, ("good",))])
        'a good day'
    """
    # What is inserted where another part begins comes before it.
    ordered = sorted(edits, key=lambda one: (one.start, one.start < one.end, -one.end))
    return _rendered(text, ordered, Copied(0, len(text)))


def _rendered(text: str, edits: Sequence[Edit], part: Copied) -> str:
    done, at, place = [], part.start, 0
    while place < len(edits):
        edit, behind = edits[place], place + 1
        while behind < len(edits) and edits[behind].start < edit.end:
            behind += 1
        done.append(text[at : edit.start])
        for new in edit.parts:
            if isinstance(new, str):
                done.append(new)
            else:
                inner = [
                    one for one in edits[place + 1 : behind] if new.start <= one.start < new.end
                ]
                done.append(_rendered(text, inner, new))
        at, place = edit.end, behind
    return "".join([*done, text[at : part.end]])
