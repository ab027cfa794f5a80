"""Patterns of HTML and XML: tags, comments, entities, and elements that nobody translates."""

import re
from typing import Literal

Role = Literal["opens", "closes", "alone"]

_ATTRIBUTES = r"(?:\s+[\w:.@-]+(?:\s*=\s*(?:\"[^\"]*\"|'[^']*'|[^\s\"'<>=]+))?)*"
# Nothing that is looked for to an end goes beyond where it begins again: a text with many
# beginnings and no end would take minutes.
_COMMENTS = r"<!--(?:(?!<!--).)*?-->"
TAGS = (
    rf"{_COMMENTS}|<!\[CDATA\[(?:(?!<!\[).)*?\]\]>|<\?(?:(?!<\?).)*?\?>|<![A-Za-z][^<>]*>"
    rf"|</?[A-Za-z][\w:.-]*{_ATTRIBUTES}\s*/?>"
)
ENTITIES = r"&(?:[A-Za-z][A-Za-z0-9]{1,30}|#\d{1,7}|#[xX][0-9A-Fa-f]{1,6});"
# With all that stands in them: code, and what says that it is not to be translated, which may hold
# elements of the same name that hold none.
_NO_KEPT = r"(?:(?!</?(?P=kept)\b).)"
KEPT_ELEMENTS = (
    rf"<(?P<code>code|kbd|samp|var|tt|script|style)\b{_ATTRIBUTES}\s*>"
    r"(?:(?!<(?P=code)\b).)*?</(?P=code)\s*>"
    rf"|<(?P<kept>[A-Za-z][\w:.-]*)(?={_ATTRIBUTES}\s+(?:translate\s*=\s*[\"']?no\b"
    rf"|class\s*=\s*[\"'][^\"']*\bnotranslate\b)){_ATTRIBUTES}\s*>"
    rf"(?:{_NO_KEPT}|<(?P=kept)\b{_ATTRIBUTES}\s*>{_NO_KEPT}*</(?P=kept)\s*>)*</(?P=kept)\s*>"
)
# Elements that texts of programs hold; `<file>` stands for a word there.
_KNOWN = (
    "a abbr acronym address applet area article aside b base big blockquote body br button caption "
    "center cite code col dd del details dfn div dl dt em fieldset figure font footer form h1 h2 "
    "h3 h4 h5 h6 head header hr html i iframe img input ins kbd label legend li link main map mark "
    "meta nav nobr ol option p pre q s samp section select small span strike strong style sub "
    "summary sup table tbody td textarea tfoot th thead tr tt u ul var video"
)
KNOWN_TAGS = rf"</?(?:{'|'.join(_KNOWN.split())})\b{_ATTRIBUTES}\s*/?>|{_COMMENTS}"
# Never closed in HTML, with a slash or without.
_VOID = frozenset("area base br col hr img input link meta param source track wbr".split())
# Those between which words are no part of one word.
_PARTS_WORDS = frozenset(
    "address article aside blockquote body br button caption center dd details div dl dt fieldset "
    "figcaption figure footer form h1 h2 h3 h4 h5 h6 head header hr html iframe img input legend "
    "li link main meta nav ol option p pre section select summary table tbody td textarea tfoot "
    "th thead tr ul video".split()
)
_NAME = re.compile(r"</?\s*([A-Za-z][\w:.-]*)")


def role_of(tag: str) -> tuple[Role, str]:
    """Returns whether a tag opens or closes an element or stands alone, and the element's name.

    Example:
        >>> role_of('<a href="x">'), role_of("</a>"), role_of("<br>")
        (('opens', 'a'), ('closes', 'a'), ('alone', 'br'))
    """
    found = _NAME.match(tag)
    name = found[1].lower() if found else ""
    if tag.startswith("</"):
        return "closes", name
    is_alone = not found or tag.endswith("/>") or tag.count("<") > 1 or name in _VOID
    return ("alone" if is_alone else "opens"), name


def parts_words(tag: str) -> bool:
    """Returns whether words before and behind a tag are apart without a space, as around `<br>`."""
    return role_of(tag)[1] in _PARTS_WORDS
