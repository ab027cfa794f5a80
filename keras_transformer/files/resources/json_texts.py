"""Texts in JSON, as programs and pages have them: `.json`, `.arb`."""

import json
import re
from collections.abc import Iterator, Sequence

from keras_transformer.files.segments import Edit, Reading, Segment, Translation
from keras_transformer.files.text_document import TextDocument

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]')


class JsonDocument(TextDocument):
    """Texts in JSON, by their keys: strings that are values are translated, but those under keys
    that begin with "@", which say something about others.

    Raises:
        ValueError: It is not JSON.
    """

    def __init__(self, data: bytes, reading: Reading) -> None:
        super().__init__(data)
        try:
            json.loads(self.text.removeprefix("\ufeff"))
        except ValueError as error:
            raise ValueError(f"it is not JSON: {error}.") from error
        self._is_ascii = self.text.isascii() and "\\u" in self.text
        self.segments = list(self._segments())

    def _segments(self) -> Iterator[Segment]:
        # The key of each object around, None of each list; and whether a key comes next.
        keys: list[str | None] = []
        is_key = False
        for found in _TOKEN.finditer(self.text):
            token = found[0]
            if token in "{[":
                keys.append("" if token == "{" else None)
                is_key = token == "{"
            elif token in "}]":
                keys.pop()
                is_key = False
            elif token == ",":
                is_key = keys[-1] is not None
            elif token == ":":
                is_key = False
            elif is_key:
                keys[-1] = json.loads(token)
            elif not any((key or "").startswith("@") for key in keys):
                yield self._segment(found, ".".join(filter(None, keys)), self.line(found.start()))

    def _segment(self, found: re.Match[str], context: str, line: int) -> Segment:
        def edits(new: Sequence[Translation]) -> list[Edit]:
            written = json.dumps(new[0].text, ensure_ascii=self._is_ascii)
            return [Edit(*found.span(), (written,))]

        return Segment(texts=(json.loads(found[0]),), edits=edits, line=line, context=context)
