"""The parts of a text that go around a model because they are no language: numbers alone, marks of
lists and quotes, runs of symbols such as emoji, characters that only format, and words in letters
that the vocabulary lacks.
"""

import re
from collections.abc import Callable, Collection, Iterator
from collections.abc import Set as AbstractSet
from functools import cache
from typing import Literal, get_args

from keras_transformer.config.checks import check_choice

# "numbers": a line without a letter that has a digit; "marks": of lists, quotes and headings;
# "symbols": emoji, arrows and the like around sentences, and lines without letters and digits.
Kind = Literal["numbers", "marks", "symbols"]
KINDS: tuple[Kind, ...] = get_args(Kind)
Letterless = Literal["auto", "copy", "translate"]

# Letters by their category in Unicode, but no part of a word that could be translated.
_NO_LETTERS = frozenset("ªºℹ")
_CONTROLS = "\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f"
# Joiners are missing, which some scripts write with, and so are signs that are seen.
_FORMAT_INSIDE = (
    "\u00ad\u034f\u061c\u200b\u200e\u200f\u202a-\u202e"
    "\u2060-\u2064\u2066-\u206f\ufeff\ufff9-\ufffb\U000e0001\U000e0020-\U000e007f"
)
_FORMAT = _CONTROLS + _FORMAT_INSIDE
_PICTURES = (
    "\u2190-\u21ff\u2300-\u245f\u2460-\u2bff\u3004\u3012\u3013\u3020\u303d\ue000-\uf8ff\ufffc\ufffd"
    "\U0001d100-\U0001d1ff\U0001f000-\U0001fbff"
    # All private ones but slots and the marks of terms, which a model reads.
    "\U000f0000-\U000fff7f\U000fff9a-\U0010ffff"
)
_MODIFIERS = "\ufe00-\ufe0f\u200d\u20d0-\u20ff\U000e0020-\U000e007f"
# Text that a variation selector makes an emoji, and keys.
_MADE_SYMBOL = (
    r"[0-9#*]\ufe0f?\u20e3|[\u00a9\u00ae\u203c\u2049\u2122\u2139\u3030\u3297\u3299]\ufe0f"
)
_SYMBOL = rf"(?:{_MADE_SYMBOL}|[{_PICTURES}])[{_MODIFIERS}]*"
_SPACED_SYMBOL = r"[\u2200-\u22ff±×÷¬]+(?!\S)"
_BULLET = r"[-\u2010-\u2015\u2043*+•‣·∙●○◦>#|=~_†‡※]+(?!\S)|\[[ xX]\](?!\S)"
_ATTACHED = r"[>•‣●◦▪►]+|\d{1,3}\)(?=[^\W\d_])|[-–—](?=[^\W\d_])"
_LETTER_MARK = r"\(?(?:[A-Za-z]|[ivx]{2,5}|[IVX]{2,5})\)(?!\S)"
_NUMBER_MARK = r"(?:[(\[]?\d{1,3}[)\]]|\d{1,3}\.-)(?!\S)|\d{1,3}[、．）]|（\d{1,3}）"
_DOTTED_MARK = r"\d{1,3}\.(?!\S)"
# Languages that write "the third" as "3.", which may begin a sentence.
_WITH_ORDINAL_DOTS = frozenset(
    "bs cs da de et eu fi fo hr hu is lb lt lv mk nb nn no pl se sk sl sq sr tr".split()
)
# A sentence without letters, such as "?!", before one with some.
_WORDLESS = r"[^\w\s]*[!?…](?=\s)"

# Patterns are compiled when a text first needs them: all at the start would cost 15 milliseconds.
_compiled = cache(re.compile)
_ANY_FORMAT = f"[{_FORMAT}]"
# A space without width parts the words of these scripts, from Thai to Khmer and beyond.
_INSIDE = (
    r"(?<![\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff\u1950-\u1aaf\u1b00-\u1bff\ua980-\uaadf])\u200b"
    f"|[{_FORMAT_INSIDE.replace(chr(0x200B), '')}]"
    # No joint for letters of alphabets that are never joined.
    "|(?<=[A-Za-z\u00c0-\u024f\u0370-\u052f])[\u200c\u200d\ufe0e\ufe0f]+"
)
_IN_TAIL = rf"[\s.!?…{_FORMAT}{_PICTURES}{_MODIFIERS}]|{_MADE_SYMBOL}"
_FIRST_IN_TAIL = rf"\s*(?:{_SYMBOL}|[{_FORMAT}])"
_EMOTICON = r"(?:[:;=][-'’^]?[()\[\]DPp/|\\*]+|<3+)(?!\S)"
# How Markdown marks a whole line as important.
_EMPHASIS = r"(?s)([*_~`]{1,3})[^*_~`\s].*\1\s*"
_RULE_BEHIND = r"(?<=\s)[=#*|~_]+$"
_EMOTICON_BEHIND = rf"(?<=\s){_EMOTICON}$"
# Signs between spaces that part a line, as in the way through a menu or in a table.
_SEPARATOR = (
    r"(?<=\s)(?:[|•‣·∙●○◦►▸]|[\u2190-\u21ff\u2500-\u257f\u27f0-\u27ff\u2900-\u297f\u2b00-\u2b4f]"
    r"\ufe0f?)+\s+"
)
_PICTURE = rf"[(\[（]\s*(?:{_SYMBOL})+\s*[)\]）]|(?:{_SYMBOL})+|(?<=\s){_EMOTICON}"
# Behind these and before those no space is left where a picture was.
_OPENING, _CLOSING = "([{¿¡«“‘", ".,;:!?…)]}»”’"
_WORD = r"\S+"
_SENTENCE_ENDS = ".,;:!?…。，；：！？"
# Of what most sentences consist: nothing of the above.
_NO_PICTURES = rf"[^:;=<{_PICTURES}\ufe0f\u20e3]*"
_NO_SEPARATORS = rf"[^:;=<|•‣·∙●○◦{_PICTURES}\ufe0f\u20e3]*"


def has_letter(text: str) -> bool:
    """Returns whether a text has a letter of any script."""
    return any(one.isalpha() and one not in _NO_LETTERS for one in text)


def without_format(text: str) -> str:
    """Returns a text without the characters that only format it, such as soft hyphens.

    Joiners stay, as scripts and emoji are written with them, and so do spaces without width in
    scripts that part words by them.

    Example:
        >>> without_format("trans\u00adlation")
        'translation'
    """
    return text if text.isascii() else _compiled(_INSIDE).sub("", text)


def core_of(
    text: str, kinds: Collection[Kind] = KINDS, *, has_dots: bool = True, language: str = "en"
) -> tuple[int, int]:
    """Returns where the part of a sentence begins and ends that is for a model.

    The space around it belongs to what goes around the model if there is any, and else to it.

    Args:
        text: A sentence, or a line.
        kinds: What goes around the model.
        has_dots: Whether "1." at the beginning is the mark of a list, unless `language` writes
            ordinal numbers so.
        language: Code of the text's language.

    Returns:
        Two equal numbers if nothing is for a model.

    Example:
        >>> core_of("- Hello! 😀")
        (2, 8)
    """
    if not has_letter(text):
        return (len(text) if is_carried(text, kinds) else 0), len(text)
    start = 0 if _begins_plain(text) else _lead(text, kinds, has_dots, language)
    end = len(text) if _ends_plain(text) else _end(text, start, kinds)
    found = _compiled(_EMPHASIS).fullmatch(text, start, end) if "marks" in kinds else None
    return (start + len(found[1]), text.rindex(found[1], 0, end)) if found else (start, end)


def is_carried(text: str, kinds: Collection[Kind]) -> bool:
    """Returns whether a text without a letter goes around a model, unless it is blank."""
    kind: Kind = "numbers" if any(map(str.isnumeric, text)) else "symbols"
    return kind in kinds and bool(text.strip())


def carve(
    text: str, kinds: Collection[Kind] = KINDS, *, has_dots: bool = True, language: str = "en"
) -> list[tuple[str, bool]]:
    """Takes a sentence apart; arguments as for `core_of`.

    Returns:
        Its pieces, which joined are the sentence, each with whether it is for a model.

    Example:
        >>> carve("* File → Open")
        [('* ', False), ('File', True), (' → ', False), ('Open', True)]
    """
    start, end = core_of(text, kinds, has_dots=has_dots, language=language)
    pieces, last = [(text[:start], False)], start
    for first, behind in _separators(text, start, end) if "symbols" in kinds else ():
        pieces += [(text[last:first], True), (text[first:behind], False)]
        last = behind
    pieces += [(text[last:end], True), (text[end:], False)]
    return [piece for piece in pieces if piece[0]]


def without_pictures(text: str) -> tuple[str, str]:
    """Returns a sentence without the emoji and the like inside it, and these, to stand behind it.

    Example:
        >>> without_pictures("a red 😀 car")
        ('a red car', ' 😀')
    """
    if _compiled(_NO_PICTURES).fullmatch(text):
        return text, ""
    found = list(_compiled(_PICTURE).finditer(text))
    if not found:
        return text, ""
    kept, last = "", 0
    for one in found:
        kept = _joined(kept, text[last : one.start()])
        last = one.end()
    return _joined(kept, text[last:]).strip(), " " + " ".join(one[0] for one in found)


def without_unknown(text: str, unknown: AbstractSet[str]) -> tuple[str, str, str]:
    """Returns a sentence without its words all of whose letters are unknown, and these, to stand
    before it, those that begin it, and behind it.

    Args:
        text: The sentence.
        unknown: Letters that a vocabulary lacks.

    Returns:
        What stands before it, the sentence and what stands behind it; a sentence without another
        letter stands behind it as a whole.

    Example:
        >>> without_unknown("I say Привет!", set("Привет"))
        ('', 'I say!', ' Привет')
    """
    words = list(_compiled(_WORD).finditer(text)) if not unknown.isdisjoint(text) else []
    found = [one for one in words if has_letter(one[0]) and _lacks_letters(one[0], unknown)]
    if not found:
        return "", text, ""
    if not any(has_letter(one[0]) for one in words if one not in found):
        return "", "", text
    first = sum(1 for one, other in zip(words, found, strict=False) if one is other)
    start = words[first].start()
    kept, last, behind = "", start, ""
    for one in found[first:]:
        word = one[0].rstrip(_SENTENCE_ENDS)
        kept = _joined(kept, text[last : one.start()])
        last = one.start() + len(word)
        behind += f" {word}"
    return text[:start], _joined(kept, text[last:]).strip() if behind else text[start:], behind


def kinds_in(line: str) -> set[Kind]:
    """Returns what a line holds that could go around a model."""
    line = without_format(line)
    if not has_letter(line):
        return {kind for kind in KINDS if core_of(line, {kind})[0]}
    found: set[Kind] = set()
    if core_of(line, {"symbols"}) != (0, len(line)) or _compiled(_PICTURE).search(line):
        found.add("symbols")
    if core_of(line, KINDS) != core_of(line, {"symbols"}):
        found.add("marks")
    return found


def carried_kinds(
    letterless: Letterless, known: Collection[Kind] | None, has_letters: Callable[[], bool]
) -> frozenset[Kind]:
    """Returns what goes around a model.

    Args:
        letterless: "copy" for all kinds, "translate" for none, "auto" for those that the model was
            not trained on.
        known: The kinds that it was trained on; None if no record says so.
        has_letters: Whether its vocabulary has any letter: without, its texts have none either.

    Raises:
        ValueError: `letterless` is none of these.
    """
    check_choice("letterless", letterless, get_args(Letterless))
    if letterless != "auto":
        return frozenset(KINDS if letterless == "copy" else ())
    if known is None:
        return frozenset(KINDS if has_letters() else ())
    return frozenset(KINDS) - set(known)


def _begins_plain(text: str) -> bool:
    """Returns whether a text begins as most do, without a mark: what is quick to see."""
    return text[0].isalpha() and ")" not in text[:7]


def _ends_plain(text: str) -> bool:
    """Returns whether a text ends as most do, in a word or in one sign behind a word."""
    last = text[-2:] if text[-1] in ".,!?" else text[-1:]
    return last[0].isalpha() and text[-2:-1] not in ":;=-'’^"


def _lead(text: str, kinds: Collection[Kind], has_dots: bool, language: str) -> int:
    """Returns where a text begins behind what stands before it; spaces alone are no such thing."""
    dots = has_dots and language[:2] not in _WITH_ORDINAL_DOTS
    marks, numbers = "marks" in kinds, "numbers" in kinds
    found = _lead_pattern("symbols" in kinds, marks, numbers, dots).match(text) if kinds else None
    return found.end() if found and found[0].strip() else 0


# When it is asked for: all of them at the start would cost a command 20 milliseconds.
@cache
def _lead_pattern(symbols: bool, marks: bool, numbers: bool, dots: bool) -> re.Pattern[str]:
    forms = [r"\s", f"[{_FORMAT}]"]
    forms += [_SYMBOL, _SPACED_SYMBOL, _WORDLESS] if symbols else []
    if marks:
        forms += [_BULLET, _LETTER_MARK, _ATTACHED]
        # A model of dates may know "31." as a day.
        forms += [_NUMBER_MARK, *([_DOTTED_MARK] if dots else [])] if numbers else []
    return re.compile("(?:" + "|".join(forms) + ")*")


def _end(text: str, start: int, kinds: Collection[Kind]) -> int:
    """Returns where a text ends before what stands behind it."""
    if not kinds:
        return len(text)
    stripped = end = len(text.rstrip())
    for kind, pattern in (("marks", _RULE_BEHIND), ("symbols", _EMOTICON_BEHIND)):
        found = (
            _compiled(pattern).search(text, max(start, end - 80), end) if kind in kinds else None
        )
        end = len(text[: found.start()].rstrip()) if found else end
    first = end
    while first > start and _compiled(_IN_TAIL).match(text, first - 1):
        first -= 1
    for one in _compiled(_FIRST_IN_TAIL).finditer(text, first, end):
        if "symbols" in kinds or _compiled(_ANY_FORMAT).fullmatch(one[0].strip()):
            end = one.start()
            break
    end = len(text[:end].rstrip())
    return len(text) if end == stripped else max(start, end)


def _separators(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yields where the signs that part a sentence begin, with the space before, and end."""
    if _compiled(_NO_SEPARATORS).fullmatch(text, start, end):
        return
    last = start
    for one in sorted(
        [
            *_compiled(_SEPARATOR).finditer(text, start, end),
            *_compiled(_PICTURE).finditer(text, start, end),
        ],
        key=re.Match.start,
    ):
        behind = end - len(text[one.end() : end].lstrip())
        parts = one.re is _compiled(_SEPARATOR) or text[behind : behind + 1].isupper()
        if parts and has_letter(text[last : one.start()]) and has_letter(text[behind:end]):
            yield len(text[: one.start()].rstrip()), behind
            last = behind


def _lacks_letters(word: str, unknown: AbstractSet[str]) -> bool:
    return all(one in unknown for one in word if one.isalpha())


def _joined(before: str, behind: str) -> str:
    """Returns two parts of a sentence between which something stood, with one space if any."""
    had_space = before[-1:].isspace() or behind[:1].isspace()
    are_words = behind[:1].isalnum() and (before[-1:].isalnum() or before[-1:] in set(_CLOSING))
    before, behind = before.rstrip(), behind.lstrip()
    has_space = (had_space or are_words) and before and behind
    if has_space and before[-1] not in _OPENING and behind[0] not in _CLOSING:
        return f"{before} {behind}"
    return before + behind
