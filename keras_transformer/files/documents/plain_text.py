"""Plain text, line by line."""

import re

from keras_transformer.files.segments import Edit, Reading, Segment
from keras_transformer.files.text_document import TextDocument

_TEXT = re.compile(r"[^\s](?:[^\r\n]*[^\s])?")


class PlainTextDocument(TextDocument):
    """A text whose lines are translated one by one."""

    def __init__(self, data: bytes, reading: Reading) -> None:
        super().__init__(data)
        self.segments = [
            self._segment(found)
            for found in _TEXT.finditer(self.text, self.begin)
            if any(map(str.isalpha, found[0]))
        ]

    def _segment(self, found: re.Match[str]) -> Segment:
        return Segment(
            texts=(found[0],),
            edits=lambda new: [Edit(*found.span(), (new[0].text,))],
            line=self.line(found.start()),
        )
