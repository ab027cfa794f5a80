"""Android's texts: `strings.xml`."""

import re
from collections.abc import Iterator, Mapping, Sequence

from keras_transformer.files.codes import Code, CodedText
from keras_transformer.files.plurals import CATEGORIES, plurals_of
from keras_transformer.files.segments import Edit, Reading, Segment, Translation, note_of
from keras_transformer.files.xml_elements import Element, Roles, XmlDocument, escaped

_INLINE: Roles = dict.fromkeys(
    "a annotation b big em font i li marquee p small span strike strong sub sup tt u ul".split(),
    "inside",
)
_REFERENCE = re.compile(r"[@?][\w:.+]*/?\w[\w.]*")
_ESCAPE = re.compile(r"\\(['\"n@?])")
_QUOTES = re.compile(r"(?<!\\)\"")
# Spaces that Android drops outside of quotes; it takes the escape everywhere.
_DROPPED = re.compile(r"\A[ ]|(?<=[ ])[ ]|[ ]\Z")
_SPACE = r"\u0020"


class AndroidDocument(XmlDocument):
    """A file of Android's texts: its strings, items of arrays, and plurals are translated.

    Raises:
        ValueError: It is no such file.
    """

    def __init__(self, data: bytes, reading: Reading) -> None:
        super().__init__(data, "resources")
        self._plurals = plurals_of(reading.language)
        self.segments = list(self._segments())

    def _segments(self) -> Iterator[Segment]:
        for one in self.root.elements:
            if one.attributes.get("translatable") == "false":
                continue
            if one.local == "string":
                yield from self._segment(one, one)
            elif one.local == "string-array":
                for item in one.elements:
                    yield from self._segment(item, item)
            elif one.local == "plurals":
                yield from self._plural(one)

    def _segment(self, element: Element, marked: Element) -> Iterator[Segment]:
        text = self._text(element)
        if not _REFERENCE.fullmatch(text.text):
            yield Segment(
                texts=(text.text,),
                edits=lambda found: [
                    Edit(*element.inner, text.parts(found[0].text, _written)),
                    *self._mark(marked, found),
                ],
                line=self.line(element.start),
                context=marked.attributes.get("name", ""),
            )

    def _plural(self, plurals: Element) -> Iterator[Segment]:
        items = {one.attributes.get("quantity", ""): one for one in plurals.elements}
        if "other" not in items:
            return
        one, other = items.get("one", items["other"]), items["other"]
        texts = self._text(one), self._text(other)
        yield Segment(
            texts=(texts[0].text, texts[1].text),
            edits=lambda found: self._plural_edits(plurals, items, texts, found),
            line=self.line(plurals.start),
            context=plurals.attributes.get("name", ""),
        )

    def _plural_edits(
        self,
        plurals: Element,
        items: Mapping[str, Element],
        texts: Sequence[CodedText],
        found: Sequence[Translation],
    ) -> list[Edit]:
        """Returns edits that leave just the items of the language's categories."""
        # A memory may have more forms.
        own = found[0], found[-1]
        parts = [text.parts(one.text, _written) for text, one in zip(texts, own, strict=True)]
        is_alone = self._plurals.singular is not None
        new: list = []
        indent = self.indent(items["other"])
        for category in CATEGORIES:
            if category in self._plurals.categories:
                form = parts[0] if category == "one" and is_alone else parts[1]
                new += [indent, f'<item quantity="{category}">', *form, "</item>"]
        first, last = plurals.elements[0], plurals.elements[-1]
        start = first.start - len(self.indent(first))
        return [Edit(start, last.end, tuple(new)), *self._mark(plurals, found)]

    def _mark(self, element: Element, found: Sequence[Translation]) -> list[Edit]:
        if not (note := note_of(found)):
            return []
        mark = f"<!-- {note} -->{self.indent(element)}"
        return [Edit(element.start, element.start, (mark,))]

    def _text(self, element: Element) -> CodedText:
        return CodedText(
            one if isinstance(one, Code) else _read(one) for one in self.items(element, _INLINE)
        )


def _read(text: str) -> str:
    """Returns a text without its escapes of marks; line breaks of the file are spaces, and spaces
    that quotes keep are escapes.
    """
    folded = "".join(
        _kept(part) if place % 2 else re.sub(r"\s+", " ", part)
        for place, part in enumerate(_QUOTES.split(text))
    )
    return _ESCAPE.sub(lambda one: "\n" if one[1] == "n" else one[1], folded)


def _kept(quoted: str) -> str:
    return _DROPPED.sub(lambda _: _SPACE, re.sub(r"\r?\n", r"\\n", quoted))


def _written(text: str) -> str:
    marked = re.sub(r"(['\"])", r"\\\1", text).replace("\n", r"\n")
    return escaped(re.sub(r"^([@?])", r"\\\1", marked))
