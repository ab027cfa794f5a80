"""Markdown: paragraphs, headings, entries of lists and cells of tables."""

import itertools
import re
from collections.abc import Iterator

from keras_transformer.files.documents.markdown_code import text_lines
from keras_transformer.files.segments import Edit, Reading, Segment
from keras_transformer.files.text_document import TextDocument
from keras_transformer.markup.tags import TAGS, parts_words

# Marks of quotes and alerts, lists, tasks, definitions, footnotes and headings before a text.
_MARKS = re.compile(
    r"[ \t]*(?:(?:>(?:[ \t]*\[![\w-]+\][-+]?(?!\S))?|(?:[-*+:]|\d{1,9}[.)])(?=[ \t])"
    r"|\[\^[^\]\s]+\]:)[ \t]*(?:\[[ xX]\][ \t]+)?)*(?:#{1,6}(?=[ \t])[ \t]*)?"
)
# Where the name of a link leads to, and the link's title.
_TARGET = r"(?:<[^<>]*>|[^\s<]\S*+)(?:[ \t]++(?:\"[^\"]*\"|'[^']*'|\([^()]*\)))?"
# Underlines of headings, rules, marks alone, and names of links.
_NO_TEXT = re.compile(
    r"[ \t>]*+(?:=+|-+|(?:[-*_][ \t]*+){3,}|[-*+]|\d{1,9}[.)]"
    rf"|\[(?!\^)[^\]]+\]:[ \t]*+(?:{_TARGET})?)"
)
# Where the name leads to may stand in the next line.
_NAME_ALONE, _TARGET_ALONE = re.compile(r"[ \t>]*+\[(?!\^)[^\]]+\]:\s*"), re.compile(_TARGET)
_BELOW_HEADER = re.compile(r"[ \t>]*+\|?[ ]*:?-+:?[ ]*(?:\|[ ]*(?::?-+:?[ ]*)?)*")
_TAGS = re.compile(TAGS)
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
        quoted, defines, is_table = 0, False, False
        lines, leads_on = list(text_lines(self.text, self.begin)), False
        for (start, said), (_, following) in itertools.pairwise([*lines, (0, "")]):
            marks = _MARKS.match(said)
            first = marks.end() if marks else 0
            text, mark = said[first:], said[:first].strip("> \t")
            is_quote = said[:first].count(">") != quoted
            quoted = said[:first].count(">")
            is_target = leads_on and _TARGET_ALONE.fullmatch(text.rstrip())
            is_empty = not text.strip() or is_target or _is_no_text(said)
            leads_on = _NAME_ALONE.fullmatch(said) is not None
            is_table = is_table and not (is_quote or mark or not text.strip())
            is_table |= text.startswith("|") or (
                "|" in text and "|" in following and _is_below_header(following)
            )
            if mark.startswith(":") and not defines:
                # Each line before a definition is a term.
                yield from ([part] for part in parts)
                parts = []
            if mark or is_quote or is_empty or is_table or _begins_block(text):
                yield parts
                parts, defines = [], mark.startswith(":")
            if is_empty:
                continue
            if is_table:
                for cell in _CELL.finditer(said, first):
                    yield [_stripped(said, *cell.span(), start)]
                continue
            last = len(said)
            is_heading = mark.endswith("#")
            if is_heading and (closing := _END_OF_HEADING.search(said)):
                last = closing.start()
            hard = _HARD_BREAK.search(said)
            parts.append(_stripped(said, first, hard.start() if hard else last, start))
            if is_heading or "[!" in mark or hard or _ends_block(text):
                yield parts
                parts = []
        yield parts


def _is_no_text(said: str) -> bool:
    bare = said.rstrip()
    is_tags = bare.lstrip("> \t").startswith("<") and not _TAGS.sub("", bare).strip("> \t")
    return is_tags or bool(_NO_TEXT.fullmatch(bare)) or _is_below_header(bare)


def _is_below_header(said: str) -> bool:
    return _BELOW_HEADER.fullmatch(said.rstrip()) is not None


def _begins_block(text: str) -> bool:
    """Returns whether a line begins with a tag of HTML that is not one of words."""
    tag = _TAGS.match(text)
    return tag is not None and parts_words(tag[0])


def _ends_block(text: str) -> bool:
    bare = text.rstrip()
    tags = list(_TAGS.finditer(bare)) if bare.endswith(">") else []
    return bool(tags) and tags[-1].end() == len(bare) and parts_words(tags[-1][0])


def _stripped(said: str, first: int, last: int, start: int) -> tuple[int, int]:
    text = said[first:last]
    first += len(text) - len(text.lstrip())
    return start + first, start + first + len(text.strip())


def _says_something(text: str, parts: list[tuple[int, int]]) -> bool:
    said = " ".join(text[slice(*part)] for part in parts)
    return any(map(str.isalpha, _TAGS.sub("", said)))
