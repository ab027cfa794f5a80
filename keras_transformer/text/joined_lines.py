"""Joins the lines of paragraphs that were wrapped by hand, as e-mail and plain text have them."""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence

from keras_transformer.text.letterless import core_of, has_letter

# What quotes and indents a line.
_MARGIN = re.compile(r"[ \t]*(?:>[ \t]?)*[ \t]*")
_HEADING = re.compile(r"\s*(?:#+|=+)\s")
# Words that a hyphen may stand before for a part that is left out, as in "pre- and post-war".
_CONJUNCTIONS = frozenset(
    "and or nor to und oder bis sowie e ed o y u et ou en of og och eller i a és vagy ve".split()
)
_SOFT = "\u00ad"
_HYPHENS = f"-\u2010{_SOFT}"


def join_lines(text: str) -> str:
    r"""Returns a text with the lines of each paragraph on one line.

    A paragraph ends before a blank line, an entry of a list, a line without letters that is no
    number, a line that is quoted more or less deeply (">") or indented further, and behind a
    heading ("# "). It keeps its first line's indentation and marks. A word that a hyphen parts at
    the end of a line is joined without it if it goes on in lower case; a hyphen that a conjunction
    follows, or a capital or a digit, stays. Chinese and Japanese lines are joined without a space.

    Example:
        >>> join_lines("> A trans-\n> lation is\n> wrapped.\n\n- One\n- Two\n")
        '> A translation is wrapped.\n\n- One\n- Two\n'
    """
    ends = "\r\n" if "\r\n" in text else "\n"
    lines = text.replace("\r\n", "\n").split("\n")
    return ends.join(joined_lines(lines))


def joined_lines(lines: Iterable[str]) -> Iterator[str]:
    """Yields each paragraph of lines as one line, and the others as they are; see `join_lines`.

    Args:
        lines: Lines without their ends. What they raise is raised behind the lines before it.
    """
    paragraph: list[str] = []
    last = ""
    try:
        for line in lines:
            if paragraph and _goes_on(paragraph, last, line):
                paragraph[-1:] = _joint(paragraph[-1], line[_margin(line) :])
            else:
                if paragraph:
                    yield "".join(paragraph)
                paragraph = [line]
            last = line
    except ValueError:
        if paragraph:
            yield "".join(paragraph)
        raise
    if paragraph:
        yield "".join(paragraph)


def _goes_on(paragraph: Sequence[str], last: str, line: str) -> bool:
    """Returns whether a line belongs to the paragraph whose last line so far is `last`."""
    first, is_text = paragraph[0], has_letter(line)
    if not has_letter(first) or _HEADING.match(first):
        return False
    # A number alone may end a sentence, unless one has just ended.
    is_number = any(map(str.isnumeric, line)) and last.rstrip()[-1:] not in ".!?:"
    margin, before = line[: _margin(line)], last[: _margin(last)]
    if not (is_text or is_number) or margin.count(">") != before.count(">"):
        return False
    if is_text and _is_entry(line):
        return False
    # The entry of a list hangs behind its mark.
    hangs = len(paragraph) == 1 and _is_entry(first)
    return hangs or _width(margin) <= _width(before)


def _is_entry(line: str) -> bool:
    """Returns whether a line begins with the mark of a list's entry."""
    text = line[_margin(line) :]
    mark = text[: core_of(text, ("marks", "numbers"))[0]]
    return mark[-1:].isspace() or mark[-1:] in tuple("、．）")


def _margin(line: str) -> int:
    found = _MARGIN.match(line)
    return found.end() if found else 0


def _width(margin: str) -> int:
    return len(margin.expandtabs().rpartition(">")[2])


def _joint(before: str, line: str) -> tuple[str, str]:
    """Returns two lines such that they can be joined."""
    before, line = before.rstrip(), line.strip()
    last, first = before[-1:], line[:1]
    if last in _HYPHENS and before[-2:-1].isalnum():
        goes_on = before[-2].isalpha() and first.islower()
        if goes_on and last != _SOFT and line.split()[0].strip(".,;:") in _CONJUNCTIONS:
            return before, f" {line}"
        return (before[:-1] if goes_on or last == _SOFT else before), line
    return before, line if _is_wide(last) and _is_wide(first) else f" {line}"


def _is_wide(character: str) -> bool:
    """Returns whether a character is of a script without spaces; Korean has some."""
    is_wide = unicodedata.east_asian_width(character) in ("W", "F") if character else False
    return is_wide and not unicodedata.name(character, "").startswith("HANGUL")
