"""Annotated sources, in which a term's translation stands behind it between two marks, and what
counts as a form of that translation.
"""

import functools
import re
import unicodedata
from collections.abc import Iterable, Sequence
from os.path import commonprefix

from keras_transformer.text.subwords.slots import TERM_MARKS

_OPENING, _CLOSING = TERM_MARKS
_ANNOTATION = re.compile(f"{_OPENING}[^{_CLOSING}]*{_CLOSING}")
# A part of a text may begin or end within an annotation.
_PARTS = re.compile(rf"\A[^{_OPENING}{_CLOSING}]*{_CLOSING}|{_OPENING}[^{_CLOSING}]*\Z")
_WORD = re.compile(r"\w+")
# Endings that inflect are short, and at most half as long as what they stand behind.
_LONGEST_ENDING = 3


def annotated(text: str, terms: Iterable[tuple[int, str]]) -> str:
    """Returns a text with translations between marks.

    Args:
        text: A text without marks.
        terms: The place behind each term, in order, and the term's translation.

    Example:
        >>> without_annotations(annotated("Open the file", [(13, "Datei")]))
        'Open the file'
    """
    parts, begin = [], 0
    for end, target in terms:
        # The space makes it the same tokens as in a translation.
        parts.append(f"{text[begin:end]}{_OPENING} {target}{_CLOSING}")
        begin = end
    return "".join([*parts, text[begin:]])


def without_annotations(text: str) -> str:
    """Returns an annotated text, or a part of one, as it was."""
    return _PARTS.sub("", _ANNOTATION.sub("", text))


def annotations_of(text: str) -> list[tuple[int, int]]:
    """Returns where each annotation of a text begins and ends."""
    return [found.span() for found in _ANNOTATION.finditer(text)]


def folded_words(text: str) -> list[str]:
    """Returns the words of a text without capitals and accents."""
    return [_folded(word) for word in _WORD.findall(text)]


def holds_form(words: Sequence[str], target: str) -> bool:
    """Returns whether a text holds a term's translation, inflected or not: as many words beside
    each other, each of them a form of one, in order.

    Args:
        words: The text's `folded_words`.
        target: The translation.

    Example:
        >>> holds_form(folded_words("In den lokalen Netzwerken"), "lokales Netzwerk")
        True
    """
    wanted = folded_words(target)
    places = range(len(words) - len(wanted) + 1) if wanted else ()
    return any(all(map(is_form, words[place:], wanted)) for place in places)


def is_form(word: str, other: str) -> bool:
    """Returns whether two folded words differ in a short ending at most.

    Example:
        >>> [is_form("datei", other) for other in ("dateien", "dateiname", "dame")]
        [True, False, False]
    """
    if word == other:
        return True
    stem = len(commonprefix([word, other]))
    ending = max(len(word), len(other)) - stem
    return ending <= min(_LONGEST_ENDING, stem // 2)


@functools.lru_cache(maxsize=1 << 16)
def _folded(word: str) -> str:
    plain = unicodedata.normalize("NFKD", word.casefold())
    return "".join(one for one in plain if not unicodedata.combining(one))
