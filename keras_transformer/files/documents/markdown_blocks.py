"""Finds the blocks of Markdown that hold text, and where each of their lines stands."""

import math
import re
import time
from collections.abc import Callable
from typing import NamedTuple

from keras_transformer.distribution import install_command

try:
    from markdown_it import MarkdownIt, rules_block
    from markdown_it.rules_block import StateBlock
except ImportError as error:
    raise ImportError(
        f"reading Markdown needs markdown-it-py: install it with `{install_command('cli')}`."
    ) from error

Place = tuple[int, int]
_Rule = Callable[[StateBlock, int, int, bool], bool]

# The rules of markdown-it that read text, and those whose blocks each of them ends.
_RULES: dict[str, tuple[_Rule, list[str]]] = {
    "table": (rules_block.table, ["paragraph", "reference"]),
    "html_block": (rules_block.html_block, ["paragraph", "reference", "blockquote"]),
    "heading": (rules_block.heading, ["paragraph", "reference", "blockquote"]),
    "lheading": (rules_block.lheading, []),
    "paragraph": (rules_block.paragraph, []),
}
_FOOTNOTE, _DEFINITION = re.compile(r"\[\^[^\]\s]+\]:[ \t]*"), re.compile(r":[ \t]+(?=\S)")
# How far what belongs to a footnote is indented; more spaces behind a colon are code.
_INDENT = 4
# Where more quotes and lists stand in each other, of which a list counts twice, reading ends.
_MOST_NESTED = 100


class Block(NamedTuple):
    """A block that holds text, or HTML.

    Attributes:
        kind: The rule of markdown-it that has read it, such as "paragraph"; "terms" for a paragraph
            that a definition follows.
        lines: Where each of its lines begins, behind the marks and spaces of the quotes, lists and
            footnotes around it, and where it ends.
    """

    kind: str
    lines: list[Place]


def blocks_of(text: str, begin: int, most_seconds: float | None = None) -> list[Block]:
    """Returns the blocks of a text in order: CommonMark with the tables of GitHub, footnotes and
    definitions; neither code nor the targets of links.

    Args:
        text: The file.
        begin: Where its first line begins.
        most_seconds: Seconds after which it is given up; None for never.

    Raises:
        ValueError: It takes longer.
    """
    # Line ends are those that the parser knows, and no place moves.
    source = text[begin:].replace("\r\n", " \n").replace("\r", "\n")
    found: list[Block] = []
    until = math.inf if most_seconds is None else time.monotonic() + most_seconds
    _PARSER.block.parse(source, _PARSER, {"blocks": found, "until": until}, [])
    return [
        Block(kind, [(begin + start, begin + end) for start, end in lines]) for kind, lines in found
    ]


class _Parser(MarkdownIt):
    """A parser of blocks, which notes where the lines of each stand."""

    def __init__(self) -> None:
        super().__init__("commonmark", {"maxNesting": _MOST_NESTED})
        self.enable("table")
        for name, (rule, ends) in _RULES.items():
            self.block.ruler.at(name, _noting(name, rule), {"alt": ends})
        # Before targets of links, which begin as footnotes do.
        ends = ["paragraph", "reference", "blockquote", "list"]
        self.block.ruler.before("reference", "indented", _indented, {"alt": ends})

    def validateLink(self, url: str) -> bool:
        """Returns that a target is one, wherever it leads to."""
        return True


def _noting(name: str, rule: _Rule) -> _Rule:
    def noted(state: StateBlock, start: int, end: int, silent: bool) -> bool:
        if time.monotonic() > state.env["until"]:
            raise ValueError("it takes too long to read: part it.")
        is_found = rule(state, start, end, silent)
        if is_found and not silent:
            # The last line of such a heading is what underlines it.
            lines = range(start, state.line - (name == "lheading"))
            places = [(state.bMarks[one] + state.tShift[one], state.eMarks[one]) for one in lines]
            state.env["blocks"].append(Block(name, places))
        return is_found

    return noted


def _indented(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Reads a footnote or definition: blocks that are indented as the first of them.

    Source: PHP Markdown Extra, and GitHub's footnotes. markdown-it has neither.
    """
    at, last = state.bMarks[start] + state.tShift[start], state.eMarks[start]
    note, definition = (one.match(state.src, at, last) for one in (_FOOTNOTE, _DEFINITION))
    found = note or (definition if _is_defined(state, silent) else None)
    if found is None or state.is_code_block(start):
        return False
    if silent:
        return True
    if definition and state.tokens[-1].type == "paragraph_close":
        state.env["blocks"].append(state.env["blocks"].pop()._replace(kind="terms"))
    width = len(found[0].expandtabs(4)) if definition else _INDENT
    saved = state.bMarks[start], state.tShift[start], state.sCount[start]
    parent, indent = state.parentType, state.blkIndent
    state.push("indented_open", "dd", 1)
    state.blkIndent = state.sCount[start] + (width if width <= _INDENT + 1 else 2)
    state.bMarks[start], state.tShift[start] = found.end(), 0
    state.sCount[start] = state.blkIndent
    state.parentType = "root"
    state.md.block.tokenize(state, start, end)
    state.push("indented_close", "dd", -1)
    state.bMarks[start], state.tShift[start], state.sCount[start] = saved
    state.parentType, state.blkIndent = parent, indent
    return True


def _is_defined(state: StateBlock, silent: bool) -> bool:
    """Returns whether terms or another definition stand before a colon."""
    if silent:
        return state.parentType == "paragraph"
    before = state.tokens[-1] if state.tokens else None
    return before is not None and before.type in ("paragraph_close", "indented_close")


_PARSER = _Parser()
