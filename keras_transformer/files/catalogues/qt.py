"""Qt's catalogues: `.ts`."""

from collections.abc import Iterator, Sequence

from keras_transformer.files.codes import CodedText
from keras_transformer.files.plurals import plurals_of
from keras_transformer.files.segments import Edit, Reading, Segment, State, Translation, note_of
from keras_transformer.files.xml_elements import Element, XmlDocument, escaped


class QtDocument(XmlDocument):
    """A catalogue of Qt: its messages are translated, but those that the program has no longer.

    Raises:
        ValueError: It is no such catalogue.
    """

    def __init__(self, data: bytes, reading: Reading) -> None:
        super().__init__(data, "TS")
        self._reading = reading
        self._language = self.root.attributes.get("language") or reading.language
        self.segments = [
            segment for message in self.root.all("message") for segment in self._segment(message)
        ]

    def file_edits(self) -> list[Edit]:
        """Returns what names the language of the translations where the file does not."""
        if not self._language or "language" in self.root.attributes:
            return []
        return [self.attribute_edit(self.root, "language", self._language)]

    def _segment(self, message: Element) -> Iterator[Segment]:
        source, target = message.first("source"), message.first("translation")
        kind = target.attributes.get("type") if target else None
        if source is None or kind in ("vanished", "obsolete"):
            return
        forms = [self.plain(one) for one in target.all("numerusform")] if target else []
        given = forms or ([self.plain(target)] if target else [])
        state: State = "untranslated"
        if given and all(one.strip() for one in given):
            state = "fuzzy" if kind == "unfinished" else "translated"
        text = CodedText(self.items(source, {}))
        comment = message.first("comment")
        yield Segment(
            texts=(text.text,),
            edits=lambda found: self._edits(message, source, target, text, found),
            line=self.line(source.start),
            profile="qt",
            state=state,
            # Forms that are all the same are one translation.
            given=(tuple(given) if len(set(given)) > 1 else tuple(given[:1])) if all(given) else (),
            context=self.plain(comment) if comment else "",
        )

    def _edits(
        self,
        message: Element,
        source: Element,
        target: Element | None,
        text: CodedText,
        found: Sequence[Translation],
    ) -> list[Edit]:
        number = plurals_of(self._language).number
        # Of a memory, the forms of one thing and of more, or just one of them.
        are_forms = message.attributes.get("numerus") == "yes" and len(found) == number
        needs_review = self._reading.needs_review(found) or (len(found) > 1 and not are_forms)
        kind = ' type="unfinished"' if needs_review else ""
        new: list = [f"<translation{kind}>"]
        indent = self.indent(source)
        if message.attributes.get("numerus") == "yes":
            for form in range(number):
                parts = text.parts(found[form if are_forms else -1].text, escaped)
                new += [indent, "    " if indent else "", "<numerusform>", *parts, "</numerusform>"]
            new.append(indent)
        else:
            new += text.parts(found[-1].text, escaped)
        new.append("</translation>")
        if (note := note_of(found)) and not message.first("translatorcomment"):
            new = [f"<translatorcomment>{escaped(note)}</translatorcomment>", indent, *new]
        if target is None:
            return [Edit(source.end, source.end, (indent, *new))]
        return [Edit(target.start, target.end, tuple(new))]
