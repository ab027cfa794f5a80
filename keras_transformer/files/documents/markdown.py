"""Markdown: paragraphs, headings, entries of lists and cells of tables."""

import re
from collections.abc import Iterator

from keras_transformer.files.segments import Edit, Reading, Segment
from keras_transformer.files.text_document import TextDocument

_LINE = re.compile(r"[^\n]*\n|[^\n]+")
# Behind marks of lists; what has a backtick behind it in its line is code in a text.
_FENCE = re.compile(r"[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*(`{3,}+(?!.*`)|~{3,})")
_RAW = re.compile(r"[ \t>]*<(?:(pre|script|style|textarea)\b|!--)", re.IGNORECASE)
# Marks of quotes, lists, tasks and headings before a text.
_MARKS = re.compile(
    r"[ \t]*(?:(?:>|[-*+](?=[ \t])|\d{1,9}[.)](?=[ \t]))[ \t]*(?:\[[ xX]\][ \t]+)?)*"
    r"(?:#{1,6}(?=[ \t])[ \t]*)?"
)
_NO_TEXT = re.compile(
    r"[ >]*+(?:[-=]{2,}|(?:[-*_][ ]*){3,}|\[[^\]]+\]:.*|<!--.*"
    r"|\|?[ ]*:?-+:?[ ]*(?:\|[ ]*(?::?-+:?[ ]*)?)*)"
)
_HARD_BREAK = re.compile(r"(?:(?<![ ])[ ]{2,}|\\)\Z")
_CELL = re.compile(r"(?:[^|\\`]|\\.|(`++)(?:(?!\1).)*\1|`++)+")
_END_OF_HEADING = re.compile(r"(?<![ \t])[ \t]+#+[ \t]*\Z")


class MarkdownDocument(TextDocument):
    """A text in Markdown. A paragraph is written in one line, code and front matter stay."""

    def __init__(self, data: bytes, reading: Reading) -> None:
        super().__init__(data)
        self.segments = [
            self._segment(parts)
            for parts in self._paragraphs()
            if _says_something(self.text, parts)
        ]

    def _segment(self, parts: list[tuple[int, int]]) -> Segment:
        start, end = parts[0][0], parts[-1][1]
        return Segment(
            texts=(" ".join(self.text[slice(*part)] for part in parts),),
            edits=lambda found: [Edit(start, end, (" ".join(found[0].text.split("\n")),))],
            line=self.line(start),
            profile="markdown",
        )

    def _paragraphs(self) -> Iterator[list[tuple[int, int]]]:
        """Yields the places of the lines of each text, without marks and spaces around it."""
        parts: list[tuple[int, int]] = []
        quoted = 0
        for start, said in self._lines():
            marks = _MARKS.match(said)
            first = marks.end() if marks else 0
            text = said[first:]
            opens = bool(said[:first].strip("> \t")) or said[:first].count(">") != quoted
            quoted = said[:first].count(">")
            is_heading = "#" in said[:first]
            if opens or not text.strip() or _NO_TEXT.fullmatch(said) or "|" in text:
                yield parts
                parts = []
            if not text.strip() or _NO_TEXT.fullmatch(said):
                continue
            if text.count("|") > 1 or text.startswith("|"):
                for cell in _CELL.finditer(said, first):
                    yield [_stripped(said, *cell.span(), start)]
                continue
            last = len(said)
            if is_heading and (closing := _END_OF_HEADING.search(said)):
                last = closing.start()
            hard = _HARD_BREAK.search(said)
            parts.append(_stripped(said, first, hard.start() if hard else last, start))
            if is_heading or hard:
                yield parts
                parts = []
        yield parts

    def _lines(self) -> Iterator[tuple[int, str]]:
        """Yields where each line begins, and what it says; code is "", as is front matter."""
        at, ending, is_blank = self.begin, "", True
        lines = _LINE.findall(self.text[at:])
        front = _front_matter(lines)
        for number, line in enumerate(lines):
            said = line.rstrip("\r\n")
            is_code = bool(ending) or number < front
            if ending and _closes(said, ending):
                ending = ""
            elif not is_code:
                ending = _end_of(said)
                is_code = bool(ending)
            is_indented = is_blank and re.match(
                r"(?: {4}|\t)(?![ \t]*(?:[-*+]|\d+[.)])[ \t])", said
            )
            if is_code or is_indented:
                yield at, ""
            else:
                yield at, said
            is_blank = not said.strip() or bool(is_indented)
            at += len(line)


def _end_of(said: str) -> str:
    """Returns what ends the code, the comment or the like that a line begins; "" if none."""
    fence, raw = _FENCE.match(said), _RAW.match(said)
    if fence or raw is None:
        return fence[1] if fence else ""
    end = f"</{raw[1].lower()}" if raw[1] else "-->"
    return "" if _closes(said, end) else end


def _closes(said: str, end: str) -> bool:
    if end[0] == "<" or end == "-->":
        return end in said.lower()
    bare = said.strip(" \t>")
    return bare.startswith(end) and not bare.strip(end[0])


def _front_matter(lines: list[str]) -> int:
    """Returns how many lines the values have that stand before the text between "---"."""
    if lines and lines[0].rstrip() in ("---", "+++"):
        for number, line in enumerate(lines[1:], start=2):
            if line.rstrip() == lines[0].rstrip():
                return number
    return 0


def _stripped(said: str, first: int, last: int, start: int) -> tuple[int, int]:
    text = said[first:last]
    first += len(text) - len(text.lstrip())
    return start + first, start + first + len(text.strip())


def _says_something(text: str, parts: list[tuple[int, int]]) -> bool:
    return any(any(map(str.isalpha, text[slice(*part)])) for part in parts)
