"""Copies, in a translation, of the placeholders, addresses and the like that its source holds, and
the units that it consists of: these, words and signs.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from keras_transformer.markup.alignment.links import UNITS, Links, is_sign
from keras_transformer.markup.spans import Span

# How alike a damaged copy is, from 0 to 1.
_ALIKE = 0.5
# Models translate what stands in them.
_TRANSLATED = ("element", "code")
_LONGEST_ENTITY = 3


class Unit(NamedTuple):
    """A word, a sign or a span of a translation.

    Attributes:
        text: What it is.
        space: The space before it.
        span: The number of the span that it is; None for what the model wrote.
        source: The unit of the source that it comes from; -1 if unknown.
        start: Where it begins in what the model wrote.
        end: Where it ends there.
    """

    text: str
    space: str
    span: int | None
    source: int
    start: int
    end: int


class Copies:
    """Finds the copy of each span that stands for a word.

    Args:
        translation: What the model wrote.
        read: What it read.
        spans: The spans of the source.
        words: Where each span that stands for a word begins and ends in `read`.
        links: Which units of the source the translation comes from.

    Attributes:
        places: Where each copy begins and ends, by the number of its span; None is the number of
            what is left out.
        is_sure: Whether nothing is left out, and no copy is damaged.
    """

    def __init__(
        self,
        translation: str,
        read: str,
        spans: Sequence[Span],
        words: Mapping[int, tuple[int, int]],
        links: Links,
    ) -> None:
        self.places: list[tuple[int, int, int | None]] = []
        self._links = links
        self.is_sure = True
        self._said, self._spans = translation, spans
        forms = {number: read[start:end] for number, (start, end) in words.items()}
        lost = self._find_exact(read, forms)
        for number in lost:
            place = self._damaged(number, forms[number])
            if place is not None:
                self.is_sure = False
                self.places.append((*place, number))
        self.places.sort(key=lambda one: one[0])

    def _find_exact(self, read: str, forms: Mapping[int, str]) -> list[int]:
        """Finds copies that are as they should be; returns the spans without one."""
        # A tag that no model has read is none of its words.
        unread = {span.text for n, span in enumerate(self._spans) if n not in forms}
        every = sorted({*forms.values(), *unread}, key=len, reverse=True)
        if not every:
            return []
        pattern = re.compile("|".join(map(_exact, every)))
        found: dict[str, list[tuple[int, int]]] = {}
        for one in pattern.finditer(self._said):
            found.setdefault(one[0], []).append(one.span())
        spare = [one[0] for one in pattern.finditer(read)]
        lost = []
        for form in every:
            numbers = [number for number, own in forms.items() if own == form]
            lost += self._share_out(form, numbers, found.get(form, []), spare.count(form))
        return sorted(lost)

    def _share_out(
        self, form: str, numbers: list[int], places: list[tuple[int, int]], allowed: int
    ) -> list[int]:
        """Gives copies of one form to the spans of that form; returns those left without one."""
        left = list(numbers)
        # Each span takes the copy that attends to it, or else the first that attends to no other.
        wanted = {self._links.unit_of(number): number for number in left}
        for place, source in zip(list(places), self._links.sources_of(places), strict=True):
            number = wanted.pop(source, None)
            if number is not None:
                left.remove(number)
                places.remove(place)
                self.places.append((*place, number))
        for number, place in zip(list(left), list(places), strict=False):
            left.remove(number)
            places.remove(place)
            self.places.append((*place, number))
        # A sign more, such as a quotation mark, may well be the model's own.
        for place in places[max(0, allowed - len(numbers)) :] if len(form) > 1 else ():
            self.is_sure = False
            self.places.append((*place, None))
        return left

    def _damaged(self, number: int, form: str) -> tuple[int, int] | None:
        """Returns where a span stands that the model has not spelled as it is; None if nowhere."""
        letters = [re.escape(one) for one in form if not one.isspace()]
        if len(letters) > 1:
            loose = re.compile(r"\s*".join(letters), re.IGNORECASE)
            found = [one.span() for one in loose.finditer(self._said) if self._is_free(*one.span())]
            if found:
                return found[0]
        import difflib  # Rarely needed: it would make every start slower.

        source, kind = self._links.unit_of(number), self._spans[number].kind
        of_signs = is_sign(form)
        best, place = _ALIKE, None
        for start, end in self._candidates(of_signs):
            said = self._said[start:end]
            comes_from_it = self._links.sources_of([(start, end)]) == [source]
            if comes_from_it and (
                kind in _TRANSLATED
                or (of_signs and is_sign(said))
                or (kind == "entity" and len(said) <= _LONGEST_ENTITY)
            ):
                return start, end
            alike = difflib.SequenceMatcher(None, form, said, autojunk=False).ratio()
            if not of_signs and alike > best:
                best, place = alike, (start, end)
        return place

    def _candidates(self, of_signs: bool) -> Iterator[tuple[int, int]]:
        pattern = (
            UNITS if of_signs else re.compile(r"[^\s(\[„“\"«][^\s]*?(?=[.,;:!?)\]”“\"»]*(?:\s|$))")
        )
        for one in pattern.finditer(self._said):
            if self._is_free(*one.span()):
                yield one.span()

    def _is_free(self, start: int, end: int) -> bool:
        return start < end and all(end <= one[0] or start >= one[1] for one in self.places)


def units_of(translation: str, copies: Copies, spans: Sequence[Span], links: Links) -> list[Unit]:
    """Returns the words, signs and copies of spans of a translation, in turn."""
    units: list[Unit] = []
    last, space = 0, ""
    for start, end, number in [*copies.places, (len(translation), len(translation), None)]:
        for found in UNITS.finditer(translation, last, start):
            space = space or translation[last : found.start()]
            units.append(Unit(found[0], space, None, -1, *found.span()))
            last, space = found.end(), ""
        space = space or translation[last:start]
        last = end
        if number is not None:
            source = links.unit_of(number)
            units.append(Unit(spans[number].text, space, number, source, start, end))
            space = ""
    sources = links.sources_of([(unit.start, unit.end) for unit in units])
    return [
        unit if unit.span is not None else unit._replace(source=source)
        for unit, source in zip(units, sources, strict=True)
    ]


def _exact(form: str) -> str:
    """Returns a pattern of a form that is no part of a longer word."""
    before = r"(?<!\w)" if form.isalnum() else ""
    behind = r"(?!\w)" if form.isalnum() else ""
    return before + re.escape(form) + behind
