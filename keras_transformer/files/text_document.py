"""A document that is one text: its edits are made in it."""

from collections.abc import Callable, Iterable, Mapping, Sequence

from keras_transformer.files.encodings import MARK, decoded, encoded
from keras_transformer.files.segments import Edit, Segment, Translation, line_counter, spliced


class TextDocument:
    """The base of documents that are one text.

    Args:
        data: The file.
        declared: Finds the encoding that the text of a file names.

    Attributes:
        segments: What can be translated, in order.
        warnings: What is wrong with the file, though it can be read; each with its line.
        text: The text of the file, a byte order mark included.
        encoding: Its encoding.
        begin: Where the text begins behind the mark.
        line_break: How its lines end.
        line: Returns the line of a character, counted from 1.

    Raises:
        ValueError: It is not in its encoding.
    """

    # Whether the format has escapes of XML for characters that the encoding lacks.
    has_references = False
    has_choices = True

    def __init__(self, data: bytes, declared: Callable[[str], str | None] | None = None) -> None:
        self.text, self.encoding = decoded(data, declared)
        self.begin = int(self.text.startswith(MARK))
        self.line_break = "\r\n" if "\r\n" in self.text else "\n"
        self.line = line_counter(self.text)
        self.segments: list[Segment] = []
        self.warnings: list[str] = []

    def written(self, translations: Mapping[int, Sequence[Translation]]) -> bytes:
        """Returns the file with translations, by the place of their segments."""
        edits = [
            edit
            for place, found in translations.items()
            for edit in self.segments[place].edits(found)
        ]
        if edits:
            edits += self.file_edits()
        text = spliced(self.text, edits)
        return encoded(text, self.encoding, escapes=self.has_references)

    def file_edits(self) -> Iterable[Edit]:
        """Returns the edits that any translation needs, such as the name of its language."""
        return ()
