"""Which lines of Markdown are text: not code, comments, scripts and front matter."""

import re
from collections.abc import Iterator

_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_QUOTES = re.compile(r"(?:[ ]{0,3}>[ ]?)*")
# What has a backtick behind it in its line is code in a text.
_FENCE = re.compile(r"[ >]*(`{3,}+(?!.*`)|~{3,})")
_RAW = re.compile(r"[ >]*<(?:(pre|script|style|textarea)\b|!--)", re.IGNORECASE)
_RULE = re.compile(r"[ ]*(?:=+[ ]*|(?:[-*_][ ]*+){3,})")
# A heading, a comment, where the name of a link leads to, or nothing behind a mark.
_NO_PARAGRAPH = re.compile(r"[ >]*(?:#{1,6}(?:[ ]|\Z)|<!--|\[(?!\^)[^\]]+\]:|\Z)")
# Of entries of lists, definitions and footnotes.
_MARK = re.compile(
    r"[ ]*(?:(?:[-*+]|\d{1,9}[.)]|:)(?:[ ]{1,4}(?![ ])|[ ]|\Z)|(?P<footnote>\[\^[^\]\s]+\]:)[ ]*)"
)
_OPENS = re.compile(r"[ ]*(?:(?:[-*+]|\d{1,9}[.)]|:|#{1,6})(?:[ ]|\Z)|`{3}|~{3}|<|\[\^)")
# How far what belongs to a footnote is indented.
_FOOTNOTE = 4
# More than where a text of what is around begins, and it is code.
_INDENT = 4


def text_lines(text: str, begin: int) -> Iterator[tuple[int, str]]:
    """Yields where each line begins, and what it says: "" for one that is no text.

    Args:
        text: The file.
        begin: Where its first line begins.
    """
    lines = _LINE.findall(text[begin:])
    front, blocks, at = _front_matter(lines), _Blocks(), begin
    for number, line in enumerate(lines):
        said = line.rstrip("\r\n")
        yield at, "" if number < front or blocks.is_code(said) else said
        at += len(line)


class _Blocks:
    """The quotes, lists and code that a line stands in.

    Source: CommonMark 0.31, sections 4.4 (indented code), 4.5 (fences), 5.1 and 5.2 (quotes and
    entries of lists), and GitHub's footnotes. Quotes inside lists count as text of the entry.
    """

    def __init__(self) -> None:
        # Where the text of each list that is open begins, by the number of quotes around it.
        self._columns: list[list[int]] = [[]]
        # Whether no paragraph is open, which an indented line would go on with.
        self._is_between = True
        # What ends the code; the quotes around it, those of them around its list, and its column.
        self._end, self._quotes, self._depth, self._column = "", 0, 0, 0

    def is_code(self, said: str) -> bool:
        """Returns whether the next line is code, or a comment or script."""
        quotes = _QUOTES.match(said)
        place = quotes.end() if quotes else 0
        depth, rest = said[:place].count(">"), said[place:].expandtabs(4)
        indent = len(rest) - len(rest.lstrip(" "))
        is_blank = not rest.strip()
        is_outside = depth == self._depth and indent < self._column and not is_blank
        if depth < self._depth or is_outside:
            self._end = ""
        if self._end:
            if self._is_end(said, indent):
                self._end = ""
            self._is_between = True
            return True
        if is_blank:
            self._is_between = True
            return False
        return self._begins_code(depth, indent, rest)

    def _is_end(self, said: str, indent: int) -> bool:
        if self._end[0] in "<-":
            return _closes(said, self._end)
        is_within = said[: len(said) - len(said.lstrip(" \t>"))].count(">") == self._quotes
        return is_within and indent < self._column + _INDENT and _closes(said, self._end)

    def _begins_code(self, depth: int, indent: int, rest: str) -> bool:
        del self._columns[depth + 1 :]
        self._columns += [[] for _ in range(depth + 1 - len(self._columns))]
        columns = self._columns[depth]
        if self._is_between or _OPENS.match(rest):
            while columns and indent < columns[-1]:
                columns.pop()
        if self._is_between and indent >= sum(columns[-1:]) + _INDENT:
            return True
        is_rule = _RULE.fullmatch(rest) is not None
        at = 0 if is_rule else _opened(rest, columns)
        self._end = _end_of(rest[at:])
        self._depth, self._column = depth, sum(columns[-1:])
        self._quotes = depth + rest[at : len(rest) - len(rest[at:].lstrip(" >"))].count(">")
        self._is_between = is_rule or bool(self._end or _NO_PARAGRAPH.match(rest, at))
        return bool(self._end)


def _opened(rest: str, columns: list[int]) -> int:
    """Adds the lists that a line begins entries of; returns where their marks end."""
    at = 0
    while at < len(rest) and (found := _MARK.match(rest, at)):
        at = found.end()
        # A mark alone has its text one space behind.
        text = at if found[0].endswith(" ") else at + 1
        columns.append(sum(columns[-1:]) + _FOOTNOTE if found["footnote"] else text)
    return at


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
