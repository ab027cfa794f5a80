"""HTML: the texts of blocks, with inline elements as codes, and of attributes that people read."""

import html
import itertools
import math
import re
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping
from html.parser import HTMLParser
from typing import Any, NamedTuple

from keras_transformer.files.codes import Code, CodedText
from keras_transformer.files.segments import Copied, Edit, Reading, Segment
from keras_transformer.files.text_document import TextDocument

# All others begin and end a text.
_INLINE = frozenset(
    "a abbr acronym b bdi bdo big br cite code data del dfn em font i img ins kbd label mark nobr "
    "q ruby rt rp s samp small span strike strong sub sup time tt u var wbr".split()
)
_VOID = frozenset("area base br col embed hr img input link meta source track wbr".split())
_KEPT = frozenset("code kbd math pre samp script style svg template tt var".split())
# What ends them may be left out.
_OPEN_ENDED = frozenset("dd dt li option p td th tr".split())
_ATTRIBUTES = frozenset(("alt", "aria-label", "placeholder", "title"))
_META = frozenset(("description", "og:title", "og:description", "twitter:title"))
_BUTTONS = frozenset(("button", "submit", "reset"))
_ROLES: dict[str, Any] = {"kept": "alone", "alone": "mark", "opens": "opens", "closes": "closes"}
_CHARSET = re.compile(r"<meta(?:(?!<meta)[^>])*?charset\s*=\s*[\"']?([\w.:-]+)", re.IGNORECASE)
# From where a name begins: else each letter of a long one is looked at from all before it.
_VALUE = re.compile(r"(?<![^\s\"'<>/])([^\s=\"'<>/]+)\s*=\s*(\"[^\"]*\"|'[^']*')")
_SPACE = re.compile(r"[ \t\r\n\f]+")


class _Token(NamedTuple):
    """A part of a page: text, a tag that opens or closes an element, or something else."""

    kind: str
    start: int
    end: int
    name: str = ""
    attributes: Mapping[str, str | None] = {}


class HtmlDocument(TextDocument):
    """A page, or a part of one: the texts of its blocks and of some attributes are translated, and
    their language is named in `<html lang>`.
    """

    has_references = True

    def __init__(self, data: bytes, reading: Reading) -> None:
        super().__init__(data, _charset)
        self._language = reading.language
        self._tokens = list(_tokens(self.text, reading.most_seconds))
        found = [*self._attribute_segments(), *self._block_segments()]
        self.segments = [segment for _, segment in sorted(found, key=lambda one: one[0])]

    def file_edits(self) -> list[Edit]:
        """Returns what names the language of the page."""
        pages = (one for one in self._tokens if one.kind == "opens" and one.name == "html")
        return [
            Edit(*found.span(2), (f'"{self._language}"',))
            for one in pages
            for found in _VALUE.finditer(self.text, one.start, one.end)
            if found[1].lower() == "lang" and self._language
        ]

    def _block_segments(self) -> Iterator[tuple[int, Segment]]:
        run: list[_Token] = []
        for one in _joined(self._tokens):
            if one.kind == "text" or one.name in _INLINE:
                run.append(one)
            else:
                yield from self._segment(run)
                run = []
        yield from self._segment(run)

    def _segment(self, run: list[_Token]) -> Iterator[tuple[int, Segment]]:
        """Yields the segment of texts and inline elements in a row, if it says anything."""
        blanks = [not self.text[one.start : one.end].strip() for one in run]
        while blanks and blanks[0]:
            del run[0], blanks[0]
        while blanks and blanks[-1]:
            del run[-1], blanks[-1]
        if not run:
            return
        texts = [self.text[one.start : one.end] for one in run]
        start = run[0].start + len(texts[0]) - len(texts[0].lstrip())
        end = run[-1].end - len(texts[-1]) + len(texts[-1].rstrip())
        texts[0], texts[-1] = (
            texts[0].lstrip(),
            texts[-1].rstrip() if run[1:] else texts[-1].strip(),
        )
        coded = CodedText(
            _SPACE.sub(" ", html.unescape(text))
            if one.kind == "text"
            else Code(Copied(one.start, one.end), _ROLES[one.kind], one.name)
            for one, text in zip(run, texts, strict=True)
        )
        if any(map(str.isalpha, coded.plain)):
            yield (
                start,
                Segment(
                    texts=(coded.text,),
                    edits=lambda found: [Edit(start, end, coded.parts(found[0].text, _escaped))],
                    line=self.line(start),
                    profile="html",
                ),
            )

    def _attribute_segments(self) -> Iterator[tuple[int, Segment]]:
        for one in _joined(self._tokens):
            if one.kind not in ("opens", "alone") or _is_kept(one):
                continue
            names = set(_ATTRIBUTES)
            said = one.attributes.get("name") or one.attributes.get("property")
            if one.name == "meta" and said in _META:
                names.add("content")
            if one.name == "input" and one.attributes.get("type") in _BUTTONS:
                names.add("value")
            for found in _VALUE.finditer(self.text, one.start, one.end):
                if found[1].lower() in names and any(map(str.isalpha, found[2])):
                    yield found.start(), self._attribute(found)

    def _attribute(self, found: re.Match[str]) -> Segment:
        quote = found[2][0]

        def written(text: str) -> str:
            whole = _escaped(text).replace(quote, "&quot;" if quote == '"' else "&#39;")
            return quote + whole + quote

        return Segment(
            texts=(html.unescape(found[2][1:-1]),),
            edits=lambda new: [Edit(*found.span(2), (written(new[0].text),))],
            line=self.line(found.start()),
            profile="html",
            context=found[1].lower(),
        )


class _Parser(HTMLParser):
    """Notes where each part of a page begins."""

    def __init__(self, text: str, most_seconds: float | None) -> None:
        super().__init__(convert_charrefs=True)
        self._until = math.inf if most_seconds is None else time.monotonic() + most_seconds
        self.found: list[tuple[str, int, str, dict[str, str | None]]] = []
        self._lines = [0, *(one.end() for one in re.finditer("\n", text))]
        self.feed(text)
        self.close()

    def _note(
        self, kind: str, name: str = "", attributes: dict[str, str | None] | None = None
    ) -> None:
        # Each tag without an end is looked for to the end of the page.
        if time.monotonic() > self._until:
            raise ValueError("it takes too long to read: close its tags and comments.")
        line, column = self.getpos()
        self.found.append((kind, self._lines[line - 1] + column, name, attributes or {}))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._note("alone" if tag in _VOID else "opens", tag, dict(attrs))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._note("alone", tag, dict(attrs))

    def handle_endtag(self, tag: str) -> None:
        self._note("closes", tag)

    def handle_data(self, data: str) -> None:
        self._note("text")

    def handle_comment(self, data: str) -> None:
        self._note("other")

    def handle_decl(self, decl: str) -> None:
        self._note("other")

    def handle_pi(self, data: str) -> None:
        self._note("other")

    def unknown_decl(self, data: str) -> None:
        self._note("other")


def _tokens(text: str, most_seconds: float | None) -> Iterator[_Token]:
    found = _Parser(text, most_seconds).found
    ends = itertools.chain((one[1] for one in found[1:]), [len(text)])
    for (kind, start, name, attributes), end in zip(found, ends, strict=False):
        if start < end:
            yield _Token(kind, start, end, name, attributes)


def _joined(tokens: list[_Token]) -> Iterator[_Token]:
    """Yields the parts of a page, with elements that nobody translates as a whole."""
    ends, place = _ends(tokens), 0
    while place < len(tokens):
        one, last = tokens[place], place
        if one.kind == "opens" and _is_kept(one):
            last = _last(tokens, place, ends)
            yield _Token("kept", one.start, tokens[last].end, one.name)
        elif one.kind == "other":
            yield one._replace(kind="alone", name="br")
        else:
            yield one
        place = last + 1


def _last(tokens: list[_Token], place: int, ends: Mapping[int, int]) -> int:
    """Returns the place of what ends an element, or of the last part that it has without."""
    last = ends.get(place, len(tokens) - 1)
    if place in ends or tokens[place].name not in _OPEN_ENDED:
        return last
    behind = range(place + 1, len(tokens))
    return next((at - 1 for at in behind if _is_block(tokens[at])), last)


def _is_block(one: _Token) -> bool:
    return one.name != "" and one.name not in _INLINE


def _ends(tokens: list[_Token]) -> dict[int, int]:
    """Returns the place of the tag that closes an element by that of the one that opens it."""
    ends, waiting = {}, defaultdict[str, list[int]](list)
    for place, one in enumerate(tokens):
        if one.kind == "opens":
            waiting[one.name].append(place)
        elif one.kind == "closes" and waiting[one.name]:
            ends[waiting[one.name].pop()] = place
    return ends


def _is_kept(one: _Token) -> bool:
    classes = (one.attributes.get("class") or "").split()
    return one.name in _KEPT or one.attributes.get("translate") == "no" or "notranslate" in classes


def _charset(text: str) -> str | None:
    found = _CHARSET.search(text)
    return found[1] if found else None


def _escaped(text: str) -> str:
    return html.escape(text, quote=False)
