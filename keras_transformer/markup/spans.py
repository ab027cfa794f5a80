"""Spans: the parts of a text that its translation must hold as they are."""

from collections.abc import Sequence
from typing import NamedTuple

from keras_transformer.markup.profiles import PART, TAG, TERM, Profile, kind_of, pattern_of
from keras_transformer.markup.terms import Glossary
from keras_transformer.text.subwords.attributes import Attribute, attributes_of


class Span(NamedTuple):
    """A span of a text.

    Attributes:
        text: The span.
        kind: What it is: "printf", "tag", "url" and so on; "own" of a user's pattern, "term" or
            "part" of a glossary.
        start: Its first character in the text.
        written: What the translation holds: the text, or a term's translation.
    """

    text: str
    kind: str
    start: int
    written: str

    @property
    def end(self) -> int:
        """The character behind its last one."""
        return self.start + len(self.text)


def find_spans(
    text: str,
    profile: Profile = "auto",
    own: Sequence[str] = (),
    glossary: Glossary | None = None,
) -> list[Span]:
    """Returns the spans of a text in order; none overlap.

    Args:
        text: Any text.
        profile: Which kinds it may hold.
        own: Regular expressions of further spans.
        glossary: Terms, which are spans, too; None for none.

    Raises:
        ValueError: As for `pattern_of`.

    Example:
        >>> [span.text for span in find_spans("Delete <b>%1$s</b>?")]
        ['<b>', '%1$s', '</b>']
    """
    spans = []
    for found in pattern_of(profile, tuple(own), glossary).finditer(text):
        kind, written = kind_of(found), found[0]
        if glossary and kind == TERM:
            term = glossary.term_of(written)
            # A tag, a placeholder or an address in other letters would be another one.
            is_text = not pattern_of("auto").search(term.target)
            written = term.target_of(written) if is_text else term.target
            kind = PART if term.is_part else TERM
        if found[0]:
            spans.append(Span(found[0], kind, found.start(), written))
    return spans


def read_attributes(spans: Sequence[Span], profile: Profile) -> list[Attribute]:
    """Returns the attributes of tags that people read, where a profile is one of pages, and the
    titles of Markdown's links.
    """
    kind = {"html": TAG, "markdown": "link"}.get(profile)
    tags = (one for one in spans if one.kind == kind)
    return [attribute for one in tags for attribute in attributes_of(one.text, one.start)]


def around(text: str, spans: Sequence[Span]) -> list[str]:
    """Returns the text before each span and behind the last one; in turn they are the text."""
    starts = [0, *(span.end for span in spans)]
    ends = [*(span.start for span in spans), len(text)]
    return [text[start:end] for start, end in zip(starts, ends, strict=True)]
