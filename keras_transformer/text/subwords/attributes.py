"""Attributes of HTML that people read, such as `alt`, and titles of Markdown's links: texts within
tags, which are translated apart from the text around these.
"""

import html
import re
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

_READ = frozenset(("alt", "aria-label", "placeholder", "title"))
# All attributes are read in turn, as the value of one may hold what looks like another.
_ATTRIBUTE = re.compile(r"\s([\w:.@-]+)\s*=\s*(\"[^\"]*\"|'[^']*'|[^\s\"'<>=]+)")
# The title of a link in Markdown, and where the link ends behind it.
TITLE = r"\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'|\((?:\\.|[^()\\])*\)"
_LAST_TITLE = re.compile(rf"\s({TITLE})\s*\)\Z", re.DOTALL)
_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")
# What could end a title, or be read as an escape, as the page shows it.
_IN_TITLES = str.maketrans({one: f"&#{ord(one)};" for one in "\"'()\\"})


class Attribute(NamedTuple):
    """The value of an attribute that is translated.

    Attributes:
        tag: The tag that it stands in, or the end of a link in Markdown.
        start: Where it begins in the tag, behind the quotation mark.
        end: Where it ends there.
        place: Where it begins in the text.
    """

    tag: str
    start: int
    end: int
    place: int

    @property
    def value(self) -> str:
        """What is translated."""
        value = self.tag[self.start : self.end]
        return html.unescape(_ESCAPED.sub(r"\1", value) if self._is_title else value)

    @property
    def _is_title(self) -> bool:
        return self.tag.startswith("]")

    def written(self, translation: str) -> str:
        """Returns a translation as a value within the same quotation marks."""
        quote = self.tag[self.end]
        escaped = html.escape(translation, quote=False)
        if self._is_title:
            return escaped.translate(_IN_TITLES)
        return escaped.replace(quote, "&quot;" if quote == '"' else "&#39;")


def attributes_of(tag: str, place: int) -> list[Attribute]:
    """Returns the attributes of a tag that are translated, or the title of a link.

    Args:
        tag: The tag, or the end of a link in Markdown from `]` on.
        place: Where it begins in its text.

    Example:
        >>> [one.value for one in attributes_of('<img src="a.png" alt="A red &amp; white cat">', 0)]
        ['A red & white cat']
        >>> [one.value for one in attributes_of('](a.html "A cat")', 0)]
        ['A cat']
    """
    if tag.startswith("]"):
        found = _LAST_TITLE.search(tag)
        values = [(found.start(1) + 1, found.end(1) - 1)] if found else []
    else:
        values = [
            (found.start(2) + 1, found.end(2) - 1)
            for found in _ATTRIBUTE.finditer(tag)
            if found[1].lower() in _READ and found[2][0] in "\"'"
        ]
    return [
        Attribute(tag, start, end, place + start)
        for start, end in values
        if any(map(str.isalpha, html.unescape(tag[start:end])))
    ]


def that_fit(
    attributes: Sequence[Attribute],
    lengths_of: Callable[[Sequence[str]], Sequence[int]],
    most_tokens: int | None,
) -> tuple[Attribute, ...]:
    """Returns the attributes whose values are no longer than a model reads.

    Args:
        attributes: The attributes.
        lengths_of: Gives the number of tokens of each of several texts.
        most_tokens: Longest value; no limit if None.
    """
    if not attributes or most_tokens is None:
        return tuple(attributes)
    lengths = lengths_of([one.value for one in attributes])
    return tuple(
        one for one, length in zip(attributes, lengths, strict=True) if length <= most_tokens
    )


def with_values(text: str, attributes: Iterable[Attribute], values: Sequence[str]) -> str:
    """Returns a text whose tags have other values.

    Args:
        text: The text, with the tags as they were.
        attributes: Attributes of these, in order.
        values: The new value of each.

    Example:
        >>> tag = '<img alt="a cat">'
        >>> with_values(f"Da: {tag}", attributes_of(tag, 7), ["eine Katze"])
        'Da: <img alt="eine Katze">'
    """
    by_tag: dict[str, dict[tuple[int, int], str]] = {}
    for one, value in zip(attributes, values, strict=True):
        by_tag.setdefault(one.tag, {}).setdefault((one.start, one.end), one.written(value))
    news = {tag: _replaced(tag, own) for tag, own in by_tag.items()}
    tags = "|".join(map(re.escape, sorted(news, key=len, reverse=True)))
    return re.sub(tags, lambda found: news[found[0]], text) if tags else text


def without_values(tag: str) -> str:
    """Returns a tag without the values that are translated."""
    return _replaced(tag, {(one.start, one.end): "" for one in attributes_of(tag, 0)})


def _replaced(tag: str, values: dict[tuple[int, int], str]) -> str:
    for (start, end), value in sorted(values.items(), reverse=True):
        tag = tag[:start] + value + tag[end:]
    return tag
