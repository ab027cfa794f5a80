"""TMX, files of translation memories: `.tmx`."""

from collections.abc import Iterator

from keras_transformer.files.codes import CodedText
from keras_transformer.files.segments import Edit, Reading, Segment, Translation, note_of
from keras_transformer.files.xml_elements import Element, Roles, XmlDocument, escaped

_INLINE: Roles = {"hi": "inside", "bpt": "opens", "ept": "closes"}


class TmxDocument(XmlDocument):
    """A translation memory, whose units get a variant in the language of the translations: that of
    the reading, or the other one of a file that has just two.

    Raises:
        ValueError: It is no TMX, or the language of the translations is unknown.
    """

    def __init__(self, data: bytes, reading: Reading) -> None:
        super().__init__(data, "tmx")
        root, header = self.root, self.root.first("header")
        languages = dict.fromkeys(_language(one) for one in root.all("tuv"))
        source = header.attributes.get("srclang", "*all*") if header else "*all*"
        self._source = next(iter(languages), "") if source == "*all*" else source
        others = [one for one in languages if not _is_same(one, self._source)]
        if not reading.language and len(others) != 1:
            raise ValueError(
                f"it has translations into {', '.join(others) or 'no language'}: name the language "
                "that its texts are translated into (--to)."
            )
        self._target = reading.language or others[0]
        self.segments = [segment for unit in root.all("tu") for segment in self._segment(unit)]

    def _segment(self, unit: Element) -> Iterator[Segment]:
        source, target = (self._variant(unit, one) for one in (self._source, self._target))
        if source is None or (said := source.first("seg")) is None:
            return
        own = target.first("seg") if target else None
        given = self.plain(own) if own else ""
        text = CodedText(self.items(said, _INLINE))
        yield Segment(
            texts=(text.text,),
            edits=lambda found: self._edits(source, target, text, found[0]),
            line=self.line(said.start),
            state="translated" if own and own.nodes else "untranslated",
            given=(given,) if given and own and not own.elements else (),
        )

    def _variant(self, unit: Element, language: str) -> Element | None:
        return next((one for one in unit.all("tuv") if _is_same(_language(one), language)), None)

    def _edits(
        self, source: Element, target: Element | None, text: CodedText, found: Translation
    ) -> list[Edit]:
        said = note_of([found])
        note = f"<note>{escaped(said)}</note>" if said else ""
        new = (note, "<seg>", *text.parts(found.text, escaped), "</seg>")
        if target and (seg := target.first("seg")):
            return [Edit(seg.start, seg.end, new)]
        whole = (f'<tuv xml:lang="{self._target}">', *new, "</tuv>")
        if target:
            return [Edit(target.start, target.end, whole)]
        return [Edit(source.end, source.end, (self.indent(source), *whole))]


def _language(variant: Element) -> str:
    return variant.attributes.get("xml:lang") or variant.attributes.get("lang", "")


def _is_same(one: str, other: str) -> bool:
    """Returns whether two codes are of one language, with a region or without."""
    short, long = sorted((one.lower().replace("_", "-"), other.lower().replace("_", "-")), key=len)
    return long == short or long.startswith(short + "-")
