"""Gettext's catalogues: `.po` and `.pot`."""

import dataclasses
import re
from collections.abc import Iterator, Sequence

from keras_transformer.files.encodings import MARK
from keras_transformer.files.plurals import Plurals, plurals_of, read_plurals
from keras_transformer.files.segments import Edit, Reading, Segment, State, Translation, note_of
from keras_transformer.files.text_document import TextDocument

_KEYWORD = re.compile(r'[ \t]*(msgctxt|msgid_plural|msgid|msgstr)(?:\[(\d+)\])?[ \t]*(?=")')
_QUOTED = re.compile(r'[ \t]*"((?:[^"\\\r\n]|\\.)*)"[ \t]*')
_CHARSET = re.compile(r"charset=([\w.:-]+)")
_FORMS = re.compile(r"Plural-Forms:\s*nplurals\s*=\s*(\d+)\s*;\s*plural\s*=\s*([^;\\\n]+)")
_LANGUAGE = re.compile(r"Language:[ ]*([\w@-]+)")
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
# An escape that msgfmt knows stays; any other backslash is one of the text.
_SPECIAL = re.compile(r'\\(?:[abfnrtv\\"0-7]|x[0-9A-Fa-f])|[\\"\r\n]')
_WRITTEN = {"\\": "\\\\", '"': '\\"', "\r": "", "\n": "\\n"}
# Where gettext's tools break lines.
_WIDTH = 79


@dataclasses.dataclass
class _Field:
    """`msgid "..."` and the lines that go on with it: its text as it is escaped, and its place."""

    start: int
    end: int
    text: str = ""


@dataclasses.dataclass
class _Entry:
    """An entry, and where its comments and it begin."""

    start: int
    line: int
    fields: dict[str, _Field] = dataclasses.field(default_factory=dict)
    flags: tuple[int, int, list[str]] | None = None

    def text(self, name: str) -> str:
        return self.fields[name].text if name in self.fields else ""

    @property
    def forms(self) -> list[_Field]:
        return [field for name, field in self.fields.items() if name.startswith("msgstr")]


class PoDocument(TextDocument):
    """A catalogue: its entries are translated, without the header and those that are obsolete.

    Raises:
        ValueError: It is no catalogue; the message says what is wrong in which line.
    """

    def __init__(self, data: bytes, reading: Reading) -> None:
        super().__init__(data, _charset)
        self._reading = reading
        longest = max(map(len, self.text.split("\n")))
        self._width = _WIDTH if longest <= _WIDTH + 1 else None
        entries = list(_entries(self.text))
        if not entries:
            raise ValueError('it has no entry: a catalogue has lines that begin with msgid "...".')
        self._header = next((one for one in entries if _is_header(one)), None)
        self._plurals = self._find_plurals()
        # Else the form of one is for other numbers, too.
        self._is_one_first = self._plurals.number == 1 or self._plurals.singular == 0
        self.segments = [self._segment(one) for one in entries if not _is_header(one)]
        self.warnings = list(_duplicates(entries))

    def _find_plurals(self) -> Plurals:
        header = _unescaped(self._header.text("msgstr")) if self._header else ""
        said = _FORMS.search(header)
        if said:
            return read_plurals(int(said[1]), said[2].strip())
        language = _LANGUAGE.search(header)
        return plurals_of(self._reading.language or (language[1] if language else ""))

    def _segment(self, entry: _Entry) -> Segment:
        forms = [_unescaped(field.text) for field in entry.forms]
        texts = [_unescaped(entry.text("msgid"))]
        if "msgid_plural" in entry.fields:
            texts.append(_unescaped(entry.text("msgid_plural")))
        is_done = all(forms) and len(forms) >= (self._plurals.number if len(texts) > 1 else 1)
        is_fuzzy = entry.flags is not None and "fuzzy" in entry.flags[2]
        state: State = "translated" if is_done else "untranslated"
        if is_fuzzy and any(forms):
            state = "fuzzy"
        given: tuple[str, ...] = ()
        if is_done and len(texts) == 1:
            given = (forms[0],)
        elif is_done and len(forms) == self._plurals.number > 2:
            given = tuple(forms)
        elif is_done and len(forms) == self._plurals.number and self._is_one_first:
            given = (forms[0], forms[-1])
        return Segment(
            texts=tuple(texts),
            edits=lambda found: self._edits(entry, found),
            line=entry.line,
            state=state,
            given=given,
            context=_unescaped(entry.text("msgctxt")),
        )

    def _edits(self, entry: _Entry, found: Sequence[Translation]) -> list[Edit]:
        forms = entry.forms
        written = self.line_break.join(self._forms(entry, [one.text for one in found]))
        edits = [Edit(forms[0].start, forms[-1].end, (written,))]
        note = note_of(found)
        if note and f"# {note}" not in self.text[entry.start : forms[0].start]:
            edits.append(Edit(entry.start, entry.start, (f"# {note}{self.line_break}",)))
        # Forms of a memory with another rule.
        are_others = len(found) not in (1, 2, self._plurals.number)
        is_fuzzy = are_others or self._reading.needs_review(found)
        return edits + self._flag_edits(entry, is_fuzzy=is_fuzzy)

    def _forms(self, entry: _Entry, found: Sequence[str]) -> Iterator[str]:
        if "msgid_plural" not in entry.fields:
            yield self._quoted("msgstr", found[0])
            return
        one, many = found[0], found[-1]
        for form in range(self._plurals.number):
            usual = one if form == self._plurals.singular else many
            is_own = len(found) == self._plurals.number > 2
            yield self._quoted(f"msgstr[{form}]", found[form] if is_own else usual)

    def _flag_edits(self, entry: _Entry, *, is_fuzzy: bool) -> list[Edit]:
        if entry.flags is None:
            first = min(field.start for field in entry.fields.values())
            return [Edit(first, first, ("#, fuzzy" + self.line_break,))] if is_fuzzy else []
        start, end, flags = entry.flags
        if is_fuzzy == ("fuzzy" in flags):
            return []
        kept = ["fuzzy", *flags] if is_fuzzy else [one for one in flags if one != "fuzzy"]
        if kept:
            return [Edit(start, end, ("#, " + ", ".join(kept),))]
        return [Edit(start, end + len(self.line_break), ())]

    def file_edits(self) -> list[Edit]:
        """Returns what makes the header of a template that of a catalogue."""
        if self._header is None:
            return []
        start, end = self._header.forms[0].start, self._header.forms[-1].end
        language = self._reading.language
        news = [("charset=CHARSET", "charset=UTF-8")]
        if language:
            news.append(("Language: \\n", f"Language: {language}\\n"))
            news.append(("nplurals=INTEGER; plural=EXPRESSION;", self._plurals.header))
        places = [(self.text.find(old, start, end), old, new) for old, new in news]
        return [Edit(at, at + len(old), (new,)) for at, old, new in places if at >= 0]

    def _quoted(self, name: str, text: str) -> str:
        """Returns a field in the lines that gettext's tools write."""
        lines = [_escaped(line) for line in _LINE.findall(text)] or [""]
        if len(lines) == 1 and (
            self._width is None or len(name) + 3 + len(lines[0]) <= self._width
        ):
            return f'{name} "{lines[0]}"'
        wrapped = [part for line in lines for part in _wrapped(line, self._width)]
        return self.line_break.join([f'{name} ""', *(f'"{part}"' for part in wrapped)])


def _entries(text: str) -> Iterator[_Entry]:
    """Yields the entries of a catalogue that are not obsolete."""
    at = int(text.startswith(MARK))
    entry, last = None, ""
    for number, line in enumerate(_LINE.findall(text[at:]), start=1):
        start, at = at, at + len(line)
        said = line.rstrip("\r\n")
        bare = said.strip()
        keyword, quoted = _KEYWORD.match(said), _QUOTED.fullmatch(said)
        if entry is not None and entry.forms and not quoted:
            is_form = keyword is not None and keyword[1] == "msgstr" and keyword[2] is not None
            if not is_form:
                yield entry
                entry, last = None, ""
        if bare.startswith("#~"):
            # The comments before it, which may say "fuzzy", are its own.
            entry, last = entry if entry and entry.fields else None, ""
        elif not bare:
            last = ""
        elif bare.startswith("#"):
            entry = entry or _Entry(start, number)
            flags = [one.strip() for one in bare[2:].split(",")]
            if bare.startswith("#,") and (entry.flags is None or "fuzzy" in flags):
                entry.flags = start, start + len(said), flags
            last = ""
        elif keyword:
            entry = entry or _Entry(start, number)
            last = keyword[1] + (f"[{keyword[2]}]" if keyword[2] else "")
            if last == "msgid":
                entry.line = number
            rest = _QUOTED.fullmatch(said, keyword.end())
            if rest is None or last in entry.fields:
                raise ValueError(f"line {number} is no line of a catalogue: {said!r}.")
            entry.fields[last] = _Field(start, start + len(said), rest[1])
        elif quoted and last and entry is not None:
            entry.fields[last].text += quoted[1]
            entry.fields[last].end = start + len(said)
        else:
            raise ValueError(f"line {number} is no line of a catalogue: {said!r}.")
    if entry is not None and entry.fields:
        if not entry.forms:
            raise ValueError(f"the entry in line {entry.line} has no msgstr.")
        yield entry


def _duplicates(entries: Sequence[_Entry]) -> Iterator[str]:
    """Yields a warning of each entry whose message an earlier one has."""
    lines: dict[tuple[str | None, str], int] = {}
    for entry in entries:
        context = _unescaped(entry.text("msgctxt")) if "msgctxt" in entry.fields else None
        first = lines.setdefault((context, _unescaped(entry.text("msgid"))), entry.line)
        if first != entry.line:
            yield (
                f"line {entry.line}: duplicate message definition, the first one is in line "
                f"{first}; msgfmt refuses the file. Remove one, or join them with msguniq."
            )


def _is_header(entry: _Entry) -> bool:
    return not entry.text("msgid") and "msgctxt" not in entry.fields


def _charset(text: str) -> str | None:
    said = _CHARSET.search(text)
    return said[1] if said and said[1] != "CHARSET" else None


def _unescaped(text: str) -> str:
    """Returns a text with its line breaks and quotes; the other escapes stay, as spans."""
    return re.sub(r'\\(\\|n|")', lambda one: {"n": "\n", '"': '"'}.get(one[1], one[0]), text)


def _escaped(text: str) -> str:
    return _SPECIAL.sub(lambda one: _WRITTEN.get(one[0], one[0]), text)


def _wrapped(line: str, width: int | None) -> Iterator[str]:
    """Yields a line in parts that end behind spaces, as long as their quotes allow."""
    rest, most = line, len(line) if width is None else width - 2
    while len(rest) > most:
        cut = rest.rfind(" ", 0, most) + 1 or rest.find(" ", most) + 1
        if not cut:
            break
        yield rest[:cut]
        rest = rest[cut:]
    if rest:
        yield rest
