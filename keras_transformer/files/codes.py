"""Inline codes: what a format has inside a text, such as tags, stands there as short tags that
translations have, too, and comes back in place of them.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Literal, NamedTuple

from keras_transformer.files.segments import Copied

# HTML knows both elements, as all profiles of tags do; texts may have tags of these names, too.
_CODE = re.compile(r'(<(?:/?span|br) data-code="\d+">)')
Role = Literal["opens", "closes", "alone", "mark"]
_Part = str | Copied


class Code(NamedTuple):
    """An inline code.

    Attributes:
        part: What it is in the file.
        role: Whether it opens or closes something in the text; a "mark" is no word of it, and stays
            where it is at a border.
        name: What an opening and a closing one that belong together share.
    """

    part: _Part
    role: Role = "alone"
    name: str = ""


class CodedText:
    """A text with tags for its inline codes.

    Args:
        items: Texts and codes, in order.

    Attributes:
        text: The text; codes at its borders are no part of it.
        plain: The text without codes.
    """

    def __init__(self, items: Iterable[str | Code]) -> None:
        kept = [one for one in items if one != ""]
        pairs = _pairs(kept)
        first, last = 0, len(kept)
        while first < last:
            if first not in pairs and _is_no_word(kept[first]):
                first += 1
            elif last - 1 not in pairs.values() and _is_no_word(kept[last - 1]):
                last -= 1
            elif pairs.get(first) == last - 1:
                first, last = first + 1, last - 1
            else:
                break
        self._before = [_part_of(one) for one in kept[:first]]
        self._behind = [_part_of(one) for one in kept[last:]]
        self._by_tag: dict[str, _Part] = {}
        numbers = {closing: opening for opening, closing in pairs.items()}
        texts = []
        for place in range(first, last):
            one = kept[place]
            if isinstance(one, str):
                texts.append(one)
                continue
            kind = "/span" if place in numbers else "span" if place in pairs else "br"
            tag = f'<{kind} data-code="{numbers.get(place, place) - first + 1}">'
            self._by_tag[tag] = one.part
            texts.append(tag)
        self.text = "".join(texts)
        self.plain = "".join(one for one in kept if isinstance(one, str))

    def parts(self, translation: str, written: Callable[[str], str] = str) -> tuple[_Part, ...]:
        """Returns a translation with the codes.

        Args:
            translation: One for which `has_codes_of(text, translation)` holds.
            written: Writes what is between them as the format has it.
        """
        found = (
            self._by_tag[one] if one in self._by_tag else written(one)
            for one in _CODE.split(translation)
        )
        return (*self._before, *found, *self._behind)


def _is_no_word(one: str | Code) -> bool:
    return not one.strip() if isinstance(one, str) else one.role != "alone"


def _part_of(one: str | Code) -> _Part:
    return one if isinstance(one, str) else one.part


def _pairs(items: Sequence[str | Code]) -> dict[int, int]:
    """Returns the place of the closing code by that of the opening one."""
    waiting: list[tuple[int, str]] = []
    pairs = {}
    for place, one in enumerate(items):
        if isinstance(one, str) or one.role not in ("opens", "closes"):
            continue
        if one.role == "opens":
            waiting.append((place, one.name))
        elif waiting and waiting[-1][1] == one.name:
            pairs[waiting.pop()[0]] = place
    return pairs


def has_codes_of(text: str, translation: str) -> bool:
    """Returns whether a translation has every code of its text once, and properly nested.

    Example:
        >>> has_codes_of('a <br data-code="1"> b', "a b")
        False
    """
    found, waiting = _CODE.findall(translation), []
    for one in found:
        if one.startswith("<span"):
            waiting.append(one.replace("<", "</"))
        elif one.startswith("</") and (not waiting or waiting.pop() != one):
            return False
    return sorted(found) == sorted(_CODE.findall(text))


def between_codes(text: str) -> list[str]:
    """Returns the texts between codes and these in turn; a text first and last."""
    return _CODE.split(text)


def without_codes(text: str) -> str:
    """Returns a text without its codes."""
    return _CODE.sub("", text)


def words_with_codes(text: str) -> list[str]:
    """Returns the words of a text, each with the codes beside it."""
    return re.findall(rf"(?:{_CODE.pattern[1:-1]}|\S)+", text)
