"""Markdown: paragraphs, headings, entries of lists and cells of tables."""

import bisect
import dataclasses
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial

from keras_transformer.files.documents.markdown_blocks import Block, Place, blocks_of
from keras_transformer.files.resources.yaml_texts import YamlDocument
from keras_transformer.files.segments import Edit, Reading, Segment, Translation
from keras_transformer.files.text_document import TextDocument
from keras_transformer.markup.tags import TAGS, parts_words

_FRONT_MATTER = re.compile(r"(---|\+\+\+)[ \t]*\r?\n(?P<values>(?:.*\n)*?)\1[ \t]*(?:\r?\n|\Z)")
# Of its values those that readers see.
_FRONT_TEXTS = frozenset(("title", "description"))
_HEADING = re.compile(r"#+(?P<text>.*?)(?:(?<![ \t])[ \t]+#+[ \t]*)?\Z", re.DOTALL)
# What begins a paragraph and is no text: the box of a task; the mark of an alert, whose line may
# hold a title; the name of a link that lacks its target.
_LEAD = re.compile(
    r"\[[ xX]\][ \t]+|(?P<line>\[![\w-]+\][-+]?(?!\S)|\[[^\]\s][^\]]*\]:[ \t]*\r?\Z)"
)
# Bars in code part no cells: where they do, such a row is no row.
_CELL = re.compile(r"(?:[^|\\`]|\\.|(`++)(?:(?!\1).)*\1|`++)+")
_BELOW_HEADER = re.compile(r"\|?[ ]*:?-+:?[ ]*(?:\|[ ]*(?::?-+:?[ ]*)?)+")
_HARD_BREAK = re.compile(r"(?:(?<![ ])[ ]{2,}|\\)\r?\Z")
_TAGS = re.compile(TAGS)
# What readers of HTML do not see as text: code and comments.
_RAW = re.compile(r"<(?:(pre|script|style|textarea)\b|!--)", re.IGNORECASE)
_RAW_END = re.compile(r"</(?:pre|script|style|textarea)\s*>", re.IGNORECASE)
_COMMENT_END = re.compile("-->")


class MarkdownDocument(TextDocument):
    """A text in Markdown. A paragraph is written in one line. Code and the values before the text
    stay, but for title and description.
    """

    # They stand between the marks of code.
    has_choices = False

    def __init__(self, data: bytes, reading: Reading) -> None:
        super().__init__(data)
        front = _FRONT_MATTER.match(self.text, self.begin)
        begin = front.end() if front else self.begin
        blocks = blocks_of(self.text, begin, reading.most_seconds)
        self.segments = [
            *(self._front_segments(front) if front else ()),
            *(
                self._segment(parts)
                for block in _without_raw(self.text, blocks)
                for lines in self._paragraphs(block)
                if self._says_something(parts := [_stripped(self.text, *one) for one in lines])
            ),
        ]

    def _front_segments(self, front: re.Match[str]) -> Iterator[Segment]:
        """Yields the texts among the values before the text, if these are YAML."""
        try:
            values = YamlDocument(front["values"].encode(), Reading()).segments
        except (ValueError, RecursionError):
            return
        for one in values:
            if one.context in _FRONT_TEXTS:
                yield dataclasses.replace(
                    one,
                    edits=partial(_edits_behind, front.start("values"), one.edits),
                    line=self.line(front.start("values")) + one.line - 1,
                )

    def _segment(self, parts: Sequence[Place]) -> Segment:
        start, end = parts[0][0], parts[-1][1]
        return Segment(
            texts=(" ".join(self.text[slice(*part)] for part in parts),),
            edits=lambda found: [Edit(start, end, (" ".join(found[0].text.split("\n")),))],
            line=self.line(start),
            profile="markdown",
        )

    def _paragraphs(self, block: Block) -> Iterator[list[Place]]:
        """Yields the places of the lines of each text."""
        lines, parts = block.lines, list[Place]()
        if block.kind == "heading" and (heading := _HEADING.match(self.text, *lines[0])):
            lines = [heading.span("text")]
        elif lead := _LEAD.match(self.text, *lines[0]):
            rest = (lead.end(), lines[0][1])
            lines = [rest, *([(rest[1], rest[1])] if lead["line"] else []), *lines[1:]]
        is_table = block.kind == "table" or any(map(self._is_below_header, lines))
        quotes = self._quotes(lines[0])
        for line in lines:
            said = self.text[slice(*line)]
            is_table |= said.startswith("|")
            if is_table:
                yield parts
                yield from ([one.span()] for one in _CELL.finditer(self.text, *line))
                parts = []
                continue
            is_empty = not _TAGS.sub("", said).strip()
            before, quotes = quotes, self._quotes(line)
            if is_empty or quotes != before or block.kind == "terms" or _begins_block(said):
                yield parts
                parts = []
            if is_empty:
                continue
            hard = _HARD_BREAK.search(said)
            parts.append((line[0], line[0] + (hard.start() if hard else len(said))))
            if hard or _ends_block(said):
                yield parts
                parts = []
        yield parts

    def _says_something(self, parts: Sequence[Place]) -> bool:
        said = " ".join(self.text[slice(*part)] for part in parts)
        return any(map(str.isalpha, _TAGS.sub("", said)))

    def _quotes(self, line: Place) -> int:
        """Returns how many quotes a line says it stands in; those of a paragraph may say fewer."""
        return self.text.count(">", self.text.rfind("\n", 0, line[0]) + 1, line[0])

    def _is_below_header(self, line: Place) -> bool:
        return _BELOW_HEADER.fullmatch(self.text[slice(*line)].rstrip()) is not None


def _edits_behind(
    start: int, edits: Callable[[Sequence[Translation]], list[Edit]], found: Sequence[Translation]
) -> list[Edit]:
    """Returns the edits of a part of a file by their places in the file."""
    return [Edit(start + one.start, start + one.end, one.parts) for one in edits(found)]


def _without_raw(text: str, blocks: Iterable[Block]) -> Iterator[Block]:
    """Yields blocks without code and comments of HTML, which may hold lines that are none."""
    ends = {one: [found.end() for found in one.finditer(text)] for one in (_RAW_END, _COMMENT_END)}
    behind = 0
    for kind, lines in blocks:
        kept = []
        for start, end in lines:
            at = max(start, behind)
            for found in _RAW.finditer(text, at, end) if kind == "html_block" else ():
                if found.start() < behind:
                    continue
                own = ends[_RAW_END if found[1] else _COMMENT_END]
                place = bisect.bisect(own, found.end())
                behind = own[place] if place < len(own) else lines[-1][1]
                if found[1] or behind > end:
                    # What is behind belongs to another text.
                    kept += [(at, found.start()), (end, end)]
                    at = behind
            if at <= end:
                kept.append((at, end))
        if kept:
            yield Block(kind, kept)


def _begins_block(text: str) -> bool:
    """Returns whether a line begins with a tag of HTML that is not one of words."""
    tag = _TAGS.match(text)
    return tag is not None and parts_words(tag[0])


def _ends_block(text: str) -> bool:
    bare = text.rstrip()
    tags = list(_TAGS.finditer(bare)) if bare.endswith(">") else []
    return bool(tags) and tags[-1].end() == len(bare) and parts_words(tags[-1][0])


def _stripped(text: str, start: int, end: int) -> Place:
    said = text[start:end]
    start += len(said) - len(said.lstrip())
    return start, start + len(said.strip())
