"""The kinds of noise: what each makes of a source and its translation.

Every slot of a text stays where it is: spans are hidden by slots while noise is put in.
"""

import re
import unicodedata
from collections.abc import Callable, Mapping
from random import Random

Kind = Callable[[str, str, Random], tuple[str, str]]

# One word in so many of a text with typos has one.
_WORDS_A_TYPO = 10
_WORD = re.compile(r"[^\W\d_]{3,}")
_FIRST_LETTER = re.compile(r"(?<![\w'’])[^\W\d_]")
_END = re.compile(r"[.!?…。！？]+\s*\Z")
_ROWS = ("qwertyuiop", "asdfghjkl", "zxcvbnm")
# A piece of the vocabulary each, if noise is in the text that this is learnt from.
_EMOJI = "😀😂😉😊😍😎😢😭😡😱🙂🙃🙈🙏🤔🤣🥰👀👋👌👍👎👏💔💕💪💯🔥🎉✅✨❌⚠⚡☀★🚀💡📌📷"
_SYLLABLES = ("ba", "den", "ka", "lo", "mi", "nor", "ra", "so", "ta", "vel", "wi", "zu")


def _neighbours() -> dict[str, str]:
    """Returns the letters beside each one on a keyboard."""
    found: dict[str, str] = {}
    for above, row in zip(("", *_ROWS), _ROWS, strict=False):
        for place, letter in enumerate(row):
            beside = row[max(place - 1, 0) : place] + row[place + 1 : place + 2]
            found[letter] = beside + above[place : place + 2]
            for other in above[place : place + 2]:
                found[other] += letter
    return found


_NEIGHBOURS = _neighbours()


def _capitals(source: str, target: str, draw: Random) -> tuple[str, str]:
    return source.upper(), target.upper()


def _title(source: str, target: str, draw: Random) -> tuple[str, str]:
    return _FIRST_LETTER.sub(_upper, source), _FIRST_LETTER.sub(_upper, target)


def _upper(found: re.Match[str]) -> str:
    return found[0].upper()


def _typos(source: str, target: str, draw: Random) -> tuple[str, str]:
    words = list(_WORD.finditer(source))
    count = min(max(len(source.split()) // _WORDS_A_TYPO, 1), len(words))
    for word in sorted(draw.sample(words, count), key=re.Match.start, reverse=True):
        source = source[: word.start()] + misspelt(word[0], draw) + source[word.end() :]
    return source, target


def misspelt(word: str, draw: Random) -> str:
    """Returns a word with a letter swapped with the next, dropped, doubled, or taken for one that
    is beside it on the keyboard.
    """
    place = draw.randrange(len(word) - 1)
    before, letter, behind = word[:place], word[place], word[place + 1 :]
    way = draw.randrange(4)
    if way == 0:
        return before + behind[0] + letter + behind[1:]
    if way == 1:
        return before + behind
    beside = _NEIGHBOURS.get(letter.lower()) if way == 2 else None
    if beside is None:
        return before + letter + letter + behind
    other = draw.choice(beside)
    return before + (other.upper() if letter.isupper() else other) + behind


def _without_end(source: str, target: str, draw: Random) -> tuple[str, str]:
    if not (_END.search(source) and _END.search(target)):
        return source, target
    return _END.sub("", source), _END.sub("", target)


def _without_accents(source: str, target: str, draw: Random) -> tuple[str, str]:
    return "".join(map(_base, source)), target


def _base(character: str) -> str:
    """Returns the Latin letter without its accent; any other character as it is."""
    first = unicodedata.normalize("NFD", character)[0]
    return first if first.isascii() and first.isalpha() else character


def _emoji(source: str, target: str, draw: Random) -> tuple[str, str]:
    return _inserted(source, target, draw.choice(_EMOJI), draw)


def _numbers(source: str, target: str, draw: Random) -> tuple[str, str]:
    return _inserted(source, target, str(draw.randrange(10 ** draw.randint(1, 6))), draw)


def _names(source: str, target: str, draw: Random) -> tuple[str, str]:
    name = "".join(draw.choices(_SYLLABLES, k=draw.randint(2, 4))).capitalize()
    return _inserted(source, target, name, draw)


def _breaks(source: str, target: str, draw: Random) -> tuple[str, str]:
    return _inserted(source, target, "\\n", draw)


def _inserted(source: str, target: str, word: str, draw: Random) -> tuple[str, str]:
    """Returns both texts with a word before, behind or, at about the same place, in them."""
    place = draw.choice((0.0, 1.0, 1.0, draw.random()))
    texts = []
    for text in (source, target):
        words = text.split(" ")
        words.insert(round(place * len(words)), word)
        texts.append(" ".join(words))
    return texts[0], texts[1]


# In the order in which they are put in; what is inserted keeps its letters.
KINDS: Mapping[str, Kind] = {
    "punctuation": _without_end,
    "accents": _without_accents,
    "typos": _typos,
    "title": _title,
    "capitals": _capitals,
    "numbers": _numbers,
    "names": _names,
    "emoji": _emoji,
    "breaks": _breaks,
}
