"""Texts of iOS and macOS: `.strings`."""

import re
from collections.abc import Iterator

from keras_transformer.files.segments import Edit, Reading, Segment, Translation, note_of
from keras_transformer.files.text_document import TextDocument

_STRING = r"\"(?:[^\"\\]|\\[\s\S])*\""
# Never read in another way: two comments are one, too, and a row of slashes is many.
_SKIPPED = r"(?:\s|/\*[\s\S]*?\*/|//[^\r\n]*)*+"
_ENTRY = re.compile(
    rf"(?P<key>{_STRING}|[\w.$-]+){_SKIPPED}(?:={_SKIPPED}(?P<value>{_STRING})?{_SKIPPED})?;"
)
_SPACE = re.compile(_SKIPPED)
# Characters of control and halves of others stay as they are written.
_ESCAPE = re.compile(r"\\(\\|n|[\"']|U(?!00[01]|[dD][89A-Fa-f])[0-9A-Fa-f]{4})")
_KEPT = re.compile(r"\\(?:[tr\\0]|U[0-9A-Fa-f]{4})|[\\\"\n]")


class IosDocument(TextDocument):
    """A file of a program's texts by their keys: its values are translated.

    Raises:
        ValueError: Something in it is no entry.
    """

    def __init__(self, data: bytes, reading: Reading) -> None:
        super().__init__(data)
        self.segments = list(self._segments())

    def _segments(self) -> Iterator[Segment]:
        at = _behind_space(self.text, self.begin)
        while at < len(self.text):
            found = _ENTRY.match(self.text, at)
            if found is None:
                raise ValueError(f'line {self.line(at)} is no entry such as "key" = "text";.')
            at = _behind_space(self.text, found.end())
            if found["value"]:
                yield self._segment(found, self.line(found.start()))

    def _segment(self, found: re.Match[str], line: int) -> Segment:
        raw = found["value"][1:-1]
        text = _ESCAPE.sub(_read, raw)
        return Segment(
            texts=(text,),
            edits=lambda new: self._edits(found, new[0]),
            line=line,
            context=found["key"],
        )

    def _edits(self, found: re.Match[str], new: Translation) -> list[Edit]:
        start, end = found.span("value")
        edits = [Edit(start + 1, end - 1, (_KEPT.sub(_write, new.text),))]
        if note := note_of([new]):
            place = found.start()
            edits.append(Edit(place, place, (f"/* {note} */{self.line_break}",)))
        return edits


def _behind_space(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at


def _read(found: re.Match[str]) -> str:
    if found[1].startswith("U"):
        return chr(int(found[1][1:], 16))
    return {"n": "\n", "\\": found[0]}.get(found[1], found[1])


def _write(found: re.Match[str]) -> str:
    return {"\\": r"\\", '"': r"\"", "\n": r"\n"}.get(found[0], found[0])
