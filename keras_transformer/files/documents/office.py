"""Files of office programs: `.docx`, `.pptx`, and OpenDocument's `.odt`, `.odp` and `.ods`."""

import dataclasses
import io
import re
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from keras_transformer.files.codes import Code, CodedText, Role
from keras_transformer.files.segments import Copied, Edit, Reading, Segment, Translation
from keras_transformer.files.xml_elements import Element, Roles, XmlDocument, escaped

# XML is packed to a tenth, and hardly ever to a hundredth, of its size.
_MOST_BYTES, _MOST_TIMES = 100_000_000, 100
# The files inside that hold texts.
_MICROSOFT = re.compile(
    r"word/(?:document|header\d*|footer\d*|footnotes|endnotes)\.xml"
    r"|ppt/(?:slides|notesSlides)/\w+\.xml"
)
_OPEN = re.compile(r"(?:content|styles)\.xml")
_STYLES = "styles.xml"
# Of OpenDocument's styles, what is printed at the edges of each page.
_EDGES = ("header", "header-left", "header-first", "footer", "footer-left", "footer-first")
# What begins with these stands for no text: a change of format, what a file has as it is, a text.
_FORMAT, _RAW, _TEXT = "\0", "\1", "\2"
_SPELLING = frozenset(("proofErr", "lastRenderedPageBreak"))
_AROUND = frozenset(("hyperlink", "ins", "moveTo", "sdt", "smartTag"))


class OfficeDocument:
    """A file of an office program, whose paragraphs are translated.

    Raises:
        ValueError: It is no such file.
    """

    warnings = ()
    has_choices = True

    def __init__(self, data: bytes, reading: Reading) -> None:
        self._data = data
        try:
            with zipfile.ZipFile(io.BytesIO(data)) as archive:
                _check(archive, reading.most_unpacked or max(_MOST_BYTES, _MOST_TIMES * len(data)))
                self._parts = {
                    info.filename: kind(archive.read(info))
                    # Headers and footers come last.
                    for info in sorted(archive.infolist(), key=lambda one: one.filename == _STYLES)
                    for pattern, kind in ((_MICROSOFT, _MicrosoftPart), (_OPEN, _OpenPart))
                    if pattern.fullmatch(info.filename)
                }
        except (
            zipfile.BadZipFile,
            EOFError,
            NotImplementedError,
            RuntimeError,
            zlib.error,
        ) as error:
            raise ValueError(f"it is no archive of an office program: {error}.") from error
        if not self._parts:
            raise ValueError("it is an archive without a text, a slide or a sheet.")
        found = [segment for part in self._parts.values() for segment in part.segments]
        self.segments: list[Segment] = [
            dataclasses.replace(one, line=number) for number, one in enumerate(found, start=1)
        ]

    def written(self, translations: Mapping[int, Sequence[Translation]]) -> bytes:
        """Returns the file with translations, and whatever else it holds as it is."""
        if not translations:
            return self._data
        new, first = {}, 0
        for name, part in self._parts.items():
            places = range(first, first + len(part.segments))
            own = {place - first: translations[place] for place in places if place in translations}
            new[name] = part.written(own)
            first += len(part.segments)
        written = io.BytesIO()
        with (
            zipfile.ZipFile(io.BytesIO(self._data)) as archive,
            zipfile.ZipFile(written, "w") as output,
        ):
            for info in archive.infolist():
                output.writestr(info, new.get(info.filename, archive.read(info)))
        return written.getvalue()


def _check(archive: zipfile.ZipFile, most: int) -> None:
    """Raises `ValueError` if an archive is damaged, or holds more bytes than it may."""
    unpacked = sum(info.file_size for info in archive.infolist())
    if unpacked > most:
        raise ValueError(
            f"it holds {unpacked:,} bytes once unpacked, more than {most:,}: take pictures out of "
            "it, or part it."
        )
    if damaged := archive.testzip():
        raise ValueError(f"{damaged} in it is damaged: open it in an office program to repair it.")


class _OpenPart(XmlDocument):
    """The content of a file of OpenDocument, or its styles, which hold headers and footers."""

    _INLINE: Roles = {
        "span": "inside",
        "a": "inside",
        "tab": "mark",
        "line-break": "mark",
        "s": "mark",
    }

    def __init__(self, data: bytes) -> None:
        super().__init__(data)
        has_styles = self.root.local == "document-styles"
        deleted = list(self.root.all("tracked-changes"))
        self.segments = [
            self._segment(one, text)
            for part in (self.root.all(*_EDGES) if has_styles else [self.root])
            for one in part.all("p", "h")
            if not any(other.start < one.start < other.end for other in deleted)
            and any(map(str.isalpha, (text := self._text(one)).plain))
        ]

    def _text(self, paragraph: Element) -> CodedText:
        return CodedText(
            one if isinstance(one, Code) else re.sub(r"\s+", " ", one)
            for one in self.items(paragraph, self._INLINE)
        )

    def _segment(self, paragraph: Element, text: CodedText) -> Segment:
        return Segment(
            texts=(text.text,),
            edits=lambda found: [Edit(*paragraph.inner, text.parts(found[0].text, escaped))],
            line=1,
        )


class _MicrosoftPart(XmlDocument):
    """A text, a slide or the like of Microsoft's programs.

    Letters of one format make up a run, so that a translation's runs are written anew: in the
    format of most letters, and in the others between codes.
    """

    def __init__(self, data: bytes) -> None:
        super().__init__(data)
        self.segments = [segment for one in self.root.all("p") for segment in self._segment(one)]

    def _segment(self, paragraph: Element) -> Iterator[Segment]:
        content = [one for one in paragraph.elements if one.local not in ("pPr", "endParaRPr")]
        if not content:
            return
        atoms = list(self._atoms(content))
        lengths: Counter[str] = Counter()
        for one in atoms:
            if not isinstance(one, Code):
                lengths[one[0]] += len(one[1])
        if not lengths:
            return
        [(usual, _)] = lengths.most_common(1)
        text = CodedText(_items(atoms, usual))
        prefix = paragraph.name.rpartition(":")[0]
        if any(map(str.isalpha, text.plain)):
            yield Segment(
                texts=(text.text,),
                edits=lambda found: [
                    Edit(
                        content[0].start,
                        content[-1].end,
                        tuple(_runs(text.parts(found[0].text, _TEXT.__add__), usual, f"{prefix}:")),
                    )
                ],
                line=1,
            )

    def _atoms(self, content: Sequence[Element]) -> Iterator[Code | tuple[str, str]]:
        """Yields texts, each behind its format, and codes for all else in a paragraph."""
        place = 0
        while place < len(content):
            one, last = content[place], place
            mark = _field_mark(one)
            while mark == "begin" and last + 1 < len(content):
                last += 1
                if _field_mark(content[last]) in ("separate", "end"):
                    break
            here = Copied(one.start, content[last].end)
            # A control holds its text one element further in.
            inside = one.first("sdtContent") or one
            if one.local in _AROUND and inside.inner[0] < inside.end:
                yield Code(Copied(one.start, inside.inner[0]), "opens", one.local)
                yield from self._atoms(inside.elements)
                yield Code(Copied(inside.inner[1], one.end), "closes", one.local)
            elif mark:
                is_whole = mark == "begin" and _field_mark(content[last]) == "end"
                role: Role = "alone" if is_whole else "opens" if mark == "begin" else "closes"
                yield Code(here, role, "field")
            elif one.local == "r" and any(part.local == "t" for part in one.elements):
                yield from self._run(one)
            elif one.local not in _SPELLING:
                yield Code(here, "alone" if one.local in ("r", "fld") else "mark")
            place = last + 1

    def _run(self, run: Element) -> Iterator[Code | tuple[str, str]]:
        properties = run.first("rPr")
        format = self.text[properties.start : properties.end] if properties else ""
        for part in run.elements:
            if part.local == "t":
                yield format, self.plain(part)
            elif part.local != "rPr" and part.local not in _SPELLING:
                said = self.text[part.start : part.end]
                yield Code(f"{_RAW}<{run.name}>{format}{said}</{run.name}>", "mark")


def _field_mark(run: Element) -> str:
    """Returns whether a run begins, parts or ends a field, such as a page's number."""
    mark = run.first("fldChar")
    return mark.attributes.get("w:fldCharType", "") if mark else ""


def _items(atoms: Sequence[Code | tuple[str, str]], usual: str) -> Iterator[str | Code]:
    """Yields texts, with codes around those of an unusual format."""
    now = usual
    for one in [*atoms, (usual, "")]:
        own = now if isinstance(one, Code) and one.role in ("alone", "mark") else usual
        format = own if isinstance(one, Code) else one[0]
        if format != now:
            if now != usual:
                yield Code(_FORMAT, "closes", "format")
            if format != usual:
                yield Code(_FORMAT + format, "opens", "format")
            now = format
        yield one if isinstance(one, Code) else one[1]


def _runs(parts: Sequence[str | Copied], usual: str, prefix: str) -> Iterator[str | Copied]:
    """Yields a paragraph's runs for a translation's parts."""
    format = usual
    for part in parts:
        if isinstance(part, Copied):
            yield part
        elif part.startswith(_FORMAT):
            format = part[1:] or usual
        elif part.startswith(_RAW):
            yield part[1:]
        elif text := part.removeprefix(_TEXT):
            space = ' xml:space="preserve"' if prefix == "w:" else ""
            said = f"<{prefix}t{space}>{escaped(text)}</{prefix}t>"
            yield f"<{prefix}r>{format}{said}</{prefix}r>"
