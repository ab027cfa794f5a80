"""Java's texts: `.properties`."""

import re
from collections.abc import Iterator

from keras_transformer.files.segments import Edit, Reading, Segment, Translation, note_of
from keras_transformer.files.text_document import TextDocument

_ENTRY = re.compile(
    r"(?P<comment>[ \t\f]*(?:[#!][^\r\n]*)?(?:\r?\n|\Z))"
    r"|[ \t\f]*(?P<key>(?:[^\s\\=:]|\\.)+)[ \t\f]*[=:]?[ \t\f]*"
    r"(?P<value>(?:[^\r\n\\]|\\(?:\r\n|[\s\S]))*)(?:\r?\n|\Z)"
)
_FOLD = re.compile(r"\\\r?\n[ \t\f]*")
_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|([\s\S]))")
_KEPT = re.compile(r"\\(?:[tfr\\]|u[0-9A-Fa-f]{4})|[\\\n\r]")
_WRITTEN = {"\\": r"\\", "\n": r"\n", "\r": r"\r"}
_ARGUMENT = re.compile(r"\{\d+")


class PropertiesDocument(TextDocument):
    """A file of a program's texts by their keys: its values are translated.

    Raises:
        ValueError: A line is no entry.
    """

    def __init__(self, data: bytes, reading: Reading) -> None:
        try:
            super().__init__(data)
        except ValueError:  # what Java took before version 9
            super().__init__(data, lambda text: "iso-8859-1")
        # Such a file may be read as either.
        self._is_ascii = self.text.isascii()
        self.segments = list(self._segments())

    def _segments(self) -> Iterator[Segment]:
        at = self.begin
        while at < len(self.text):
            found = _ENTRY.match(self.text, at)
            if found is None or found.end() == at:
                raise ValueError(f"line {self.line(at)} is no entry: a key, = and a text.")
            at = found.end()
            if found["value"]:
                yield self._segment(found, self.line(found.start()))

    def _segment(self, found: re.Match[str], line: int) -> Segment:
        text = _whole(_ESCAPE.sub(_read, _FOLD.sub("", found["value"])))
        has_arguments = bool(_ARGUMENT.search(text))
        if has_arguments:
            text = text.replace("''", "'")
        return Segment(
            texts=(text,),
            edits=lambda new: self._edits(found, new[0], has_arguments),
            line=line,
            context=found["key"],
        )

    def _edits(self, found: re.Match[str], new: Translation, has_arguments: bool) -> list[Edit]:
        text = new.text.replace("'", "''") if has_arguments else new.text
        text = _KEPT.sub(lambda one: _WRITTEN.get(one[0], one[0]), text)
        text = re.sub(r"^ ", r"\\ ", text)
        if self._is_ascii or self.encoding == "iso-8859-1":
            text = "".join(one if one.isascii() else _as_units(one) for one in text)
        edits = [Edit(*found.span("value"), (text,))]
        if note := note_of([new]):
            place = found.start()
            edits.append(Edit(place, place, (f"# {note}{self.line_break}",)))
        return edits


def _read(found: re.Match[str]) -> str:
    """Returns what an escape stands for; those that no translation should lose stay, as spans."""
    if found[1]:
        return chr(int(found[1], 16))
    return "\n" if found[2] == "n" else found[0] if found[2] in "tfr\\" else found[2]


def _whole(text: str) -> str:
    """Returns a text with the halves of characters put together."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _as_units(character: str) -> str:
    """Returns the escapes of a character's units in UTF-16."""
    units = character.encode("utf-16-be").hex()
    return "".join(f"\\u{units[place : place + 4]}" for place in range(0, len(units), 4))
