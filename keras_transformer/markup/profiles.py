"""Profiles: which kinds of spans a text may hold, by the format that it comes from."""

import functools
import re
from collections.abc import Sequence
from typing import Literal, get_args

from keras_transformer.config.checks import check_choice
from keras_transformer.markup import addresses, markdown, placeholders, tags
from keras_transformer.markup.backtracking import bounded, may_take_for_ever, may_take_very_long
from keras_transformer.markup.terms import Glossary
from keras_transformer.text.subwords.slots import SLOTS

Profile = Literal["auto", "html", "xml", "markdown", "printf", "qt", "icu", "units", "plain"]
PROFILES: tuple[Profile, ...] = get_args(Profile)

# Kinds whose spans open and close, or part lines: the spaces beside them mean something.
TAG, BREAK, OWN = "tag", "escape", "own"
ADDRESSES = ("url", "email")
# Terms are words of a text, or parts of one.
TERM, PART = "term", "part"
# Characters that are slots already must be kept as any other span.
_SLOT = ("slot", f"[{SLOTS[0]}-{SLOTS[-1]}]")
_PRINTF, _QT = ("printf", placeholders.PRINTF), ("qt", placeholders.QT)
_BRACES, _VARIABLES = ("braces", placeholders.BRACES), ("variable", placeholders.VARIABLES)
_OPTIONS, _ESCAPES = ("option", placeholders.OPTIONS), (BREAK, placeholders.ESCAPES)
_ELEMENTS, _TAGS = ("element", tags.KEPT_ELEMENTS), (TAG, tags.TAGS)
_KNOWN_TAGS, _ENTITIES = (TAG, tags.KNOWN_TAGS), ("entity", tags.ENTITIES)
_ADDRESSES = tuple(zip(ADDRESSES, (addresses.URLS, addresses.EMAIL), strict=True))
_PATHS = ("path", addresses.PATHS)
_MARKDOWN = (
    ("code", markdown.CODE),
    ("footnote", markdown.FOOTNOTES),
    ("link", markdown.LINKS),
    ("emphasis", markdown.EMPHASIS),
    ("heading", markdown.HEADINGS),
)
_AUTO = (
    _KNOWN_TAGS,
    *_ADDRESSES,
    _VARIABLES,
    _PRINTF,
    _QT,
    _BRACES,
    _ENTITIES,
    _ESCAPES,
    _OPTIONS,
    _PATHS,
)
# Where two kinds match at one place the first is meant.
_KINDS: dict[Profile, tuple[tuple[str, str], ...]] = {
    "auto": _AUTO,
    "units": (*_AUTO, ("measure", placeholders.MEASURES)),
    "html": (_ELEMENTS, _TAGS, _ENTITIES, *_ADDRESSES),
    "xml": (_TAGS, _ENTITIES, *_ADDRESSES),
    "markdown": (*_MARKDOWN, _KNOWN_TAGS, _ENTITIES, *_ADDRESSES),
    "printf": (_PRINTF, _ESCAPES),
    "qt": (_QT, _KNOWN_TAGS, _ENTITIES, _ESCAPES),
    "icu": (_BRACES, _ESCAPES),
    "plain": (),
}
# Kinds that a program or a parser acts on, and that none writes into a text by itself.
MADE_UP = frozenset({TAG, "printf", "qt", "braces", "variable"})
# What marks a keyboard accelerator in the labels of programs.
ACCELERATORS: dict[Profile, str] = {"auto": "_&", "printf": "_&", "qt": "&", "units": "_&"}
# Groups have other numbers in the pattern of a whole profile.
_NUMBERED = re.compile(r"(?<!\\)(?:\\\\)*(?:\\[1-9]|\(\?\(\d)")


# Requests to a server have lists of their own, which must not stay for ever.
@functools.lru_cache(maxsize=64)
def pattern_of(
    profile: Profile, own: Sequence[str] = (), glossary: Glossary | None = None
) -> re.Pattern[str]:
    """Returns the pattern of a profile's spans, with the kind of each as the name of its group.

    Args:
        profile: The profile's name.
        own: Regular expressions of further spans, which come first.
        glossary: Terms, which come last.

    Raises:
        ValueError: The profile is unknown, or an expression is not valid, matches nothing at all,
            or may take very long or for ever.
    """
    check_choice("markup", profile, PROFILES)
    for one in own:
        _check_own(one)
    kinds = [(OWN, bounded(one)) for one in own] + [_SLOT, *_KINDS[profile]]
    if glossary is not None:
        kinds.append((TERM, glossary.pattern))
    parts = [f"(?P<{kind}_{place}>{one})" for place, (kind, one) in enumerate(kinds)]
    return re.compile("|".join(parts), re.DOTALL | re.MULTILINE)


def kind_of(found: re.Match[str]) -> str:
    """Returns the kind of a span that a profile's pattern has found."""
    return str(found.lastgroup).rpartition("_")[0]


def _check_own(expression: str) -> None:
    try:
        # Behind a beginning, as among the others: flags of the whole, as in "(?i)a", cannot be.
        found = re.compile(f"|(?:{expression})")
        found = re.compile(expression)
    except re.error as error:
        raise ValueError(
            f"span_pattern must be a regular expression, got {expression!r}: {error}."
        ) from error
    if found.fullmatch("") or found.groupindex or _NUMBERED.search(expression):
        raise ValueError(
            "span_pattern must match some text, and neither name a group nor refer to one by its "
            f"number, got {expression!r}."
        )
    if may_take_for_ever(expression):
        raise ValueError(
            f"span_pattern must not repeat what can be read in several ways, got {expression!r}: "
            "a search would take for ever on some texts. Make inner repetitions possessive, as in "
            "(?:a++)+, and let alternatives that are repeated begin with different characters."
        )
    if may_take_very_long(expression):
        raise ValueError(
            "span_pattern must not have two unlimited repetitions that can read the same "
            f"characters, as .* can, got {expression!r}: a search would take minutes on a long "
            "text. Repeat only what does not end the span, as in <a [^<>]*>[^<>]*</a>, or limit "
            "one of them, as in .{0,20}."
        )
