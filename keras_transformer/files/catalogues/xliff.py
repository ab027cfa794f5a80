"""XLIFF 1.2 and 2: `.xlf` and `.xliff`."""

from collections.abc import Iterator

from keras_transformer.files.codes import CodedText
from keras_transformer.files.segments import Edit, Reading, Segment, State, Translation, note_of
from keras_transformer.files.xml_elements import Element, Roles, XmlDocument, escaped

# What inline elements are; the others are codes as a whole.
_INLINE: Roles = {
    "g": "inside",
    "mrk": "inside",
    "bpt": "opens",
    "ept": "closes",
    "pc": "inside",
    "sc": "opens",
    "ec": "closes",
}


class XliffDocument(XmlDocument):
    """A file of XLIFF: its units are translated, or their segments in version 2, but those that
    nobody translates.

    Raises:
        ValueError: It is no XLIFF.
    """

    def __init__(self, data: bytes, reading: Reading) -> None:
        super().__init__(data, "xliff")
        self._reading = reading
        self._is_first = self.root.attributes.get("version", "1.2").startswith("1")
        find = self._units_of_first if self._is_first else self._units_of_second
        self.segments = list(find())

    def _units_of_first(self) -> Iterator[Segment]:
        for unit in _units(self.root, "trans-unit"):
            yield from self._segment(unit, unit)

    def _units_of_second(self) -> Iterator[Segment]:
        for unit in _units(self.root, "unit"):
            for segment in unit.all("segment"):
                yield from self._segment(unit, segment)

    def _segment(self, unit: Element, holder: Element) -> Iterator[Segment]:
        source, target = holder.first("source"), holder.first("target")
        if source is None:
            return
        text = CodedText(self.items(source, _INLINE))
        given = self.plain(target) if target else ""
        yield Segment(
            texts=(text.text,),
            edits=lambda found: self._edits(unit, holder, source, target, text, found[0]),
            line=self.line(source.start),
            state=self._state(holder, target) if target and target.nodes else "untranslated",
            given=(given,) if given and target and not target.elements else (),
            context=unit.attributes.get("id", ""),
        )

    def _state(self, holder: Element, target: Element) -> State:
        if not self._is_first:
            return "fuzzy" if holder.attributes.get("state") == "initial" else "translated"
        said = target.attributes.get("state", "")
        if said in ("new", "needs-translation"):
            return "untranslated"
        return "fuzzy" if said.startswith("needs-") else "translated"

    def _edits(
        self,
        unit: Element,
        holder: Element,
        source: Element,
        target: Element | None,
        text: CodedText,
        found: Translation,
    ) -> list[Edit]:
        name = source.name.replace("source", "target")
        state = self._state_of(found)
        parts = text.parts(found.text, escaped)
        said = f' state="{state}"' if self._is_first else ""
        edits, after = [], target or holder.first("seg-source") or source
        if target is None:
            new = (self.indent(source), f"<{name}{said}>", *parts, f"</{name}>")
            edits.append(Edit(after.end, after.end, new))
        elif target.inner[0] == target.end:
            edits.append(Edit(target.start, target.end, (f"<{name}{said}>", *parts, f"</{name}>")))
        else:
            edits.append(Edit(*target.inner, parts))
            if self._is_first:
                edits.append(self.attribute_edit(target, "state", state))
        if not self._is_first:
            edits.append(self.attribute_edit(holder, "state", state))
        note = escaped(note_of([found]))
        return edits + (self._note_edits(unit, source, after, note) if note else [])

    def _state_of(self, found: Translation) -> str:
        """Returns a translation's state; version 2 has "translated" before a review."""
        is_marked = self._reading.needs_review([found])
        return "needs-review-translation" if self._is_first and is_marked else "translated"

    def _note_edits(self, unit: Element, source: Element, after: Element, said: str) -> list[Edit]:
        prefix = source.name.rpartition(":")[0]
        name = f"{prefix}:note" if prefix else "note"
        note = f"<{name}>{said}</{name}>"
        notes = unit.first("note" if self._is_first else "notes")
        if notes and said in self.text[notes.start : notes.end]:
            return []
        if self._is_first:
            return [Edit(after.end, after.end, (self.indent(source) + note,))]
        if notes and notes.inner[0] < notes.end:
            return [Edit(notes.inner[1], notes.inner[1], (note,))]
        first = unit.elements[0]
        new = f"<{name}s>{note}</{name}s>" + self.indent(first)
        return [Edit(first.start, first.start, (new,))]

    def file_edits(self) -> Iterator[Edit]:
        """Yields what names the language of the translations where the file does not."""
        root = self.root
        name = "target-language" if self._is_first else "trgLang"
        for element in root.all("file") if self._is_first else [root]:
            if self._reading.language and name not in element.attributes:
                yield self.attribute_edit(element, name, self._reading.language)


def _units(element: Element, name: str, translate: str = "yes") -> Iterator[Element]:
    """Yields the units that are translated, as they or what they stand in say."""
    for one in element.elements:
        said = one.attributes.get("translate", translate)
        if one.local == name and said != "no":
            yield one
        yield from _units(one, name, said)
