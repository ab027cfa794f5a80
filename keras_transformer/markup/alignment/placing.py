"""Places tags in a translation by its alignment: an element stands around the words that come from
its words, and what stands alone before the word that follows it in the source.

The rule is that of Bergamot's HTML mode, where each token has the tags of the token that it comes
from. There an element is repeated where its words are apart; here each has one place, around as
many of its words and as few others as possible.
"""

import bisect
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from keras_transformer.markup.alignment.copies import Unit
from keras_transformer.markup.alignment.links import Links, Place, is_sign

# What a word of no element costs an element that would hold it, and a sign.
_OTHER_WORD, _SIGN = -1.0, -0.5
# Whether it is a unit, and its place, or else the number of a span.
Entry = tuple[bool, int]


class Item(NamedTuple):
    """An element, or a span that stands alone.

    Attributes:
        opening: The number of the span, or of that which opens the element.
        closing: The number of the span that closes it; None for one alone.
        first: The first unit of the source within it, or that before which it stands.
        last: The one after the last; `first` if none is within it.
        inner: What stands within it.
    """

    opening: int
    closing: int | None
    first: int
    last: int
    inner: list["Item"]


def items_of(places: Sequence[Place], pairs: Mapping[int, int], links: Links) -> list[Item]:
    """Returns the spans of a source that stand for no words, each within the element around it.

    Args:
        places: Where each span stands in what the model read.
        pairs: What `partners` said of them.
        links: Knows the units of the source.
    """
    found: list[list[Item]] = [[]]
    opened: list[int] = []
    closes = set(pairs.values())
    for number, (start, end) in enumerate(places):
        if number in pairs:
            opened.append(number)
            found.append([])
        elif number in closes:
            inner, opening = found.pop(), opened.pop()
            within = links.within(places[opening][1], start)
            found[-1].append(Item(opening, number, *within, inner))
        elif start == end:
            found[-1].append(Item(number, None, *links.within(start, end), []))
    return found[0]


class Placing:
    """Places the spans of a source between the units of its translation.

    Args:
        units: The units.
        links: Where they come from.

    Attributes:
        is_sure: Whether each element had words, and each span alone a neighbour.
    """

    def __init__(self, units: Sequence[Unit], links: Links) -> None:
        self.is_sure = True
        self._units, self._links = units, links
        self._signs = [
            is_sign(unit.text) if unit.span is None else links.is_sign[unit.source]
            for unit in units
        ]
        self._by_source: dict[int, list[int]] = {}
        for place, unit in enumerate(units):
            self._by_source.setdefault(unit.source, []).append(place)

    def arranged(self, items: Sequence[Item]) -> list[Entry]:
        """Returns the units, and the spans of items, in their order."""
        whole = _Region(items, (0, len(self._units)), (0, len(self._links.units)))
        order: list[Entry] = []
        # Elements may be nested deeper than functions can be.
        left: list[_Region | Entry] = [whole]
        while left:
            one = left.pop()
            if isinstance(one, _Region):
                left += reversed(list(self._laid(one)))
            else:
                order.append(one)
        return order

    def point(self, before: int, bounds: Place, source: Place) -> int:
        """Returns before which unit stands what stood before a unit of the source.

        Args:
            before: The unit of the source.
            bounds: Between which units it is.
            source: Between which units of the source it was.
        """
        (low, high), (first, last) = bounds, source
        if before <= first:
            return low
        if before >= last:
            return high
        for distance in range(max(last - before, before - first)):
            self.is_sure &= not distance
            if found := self._from(before + distance, bounds):
                return found[0]
            if found := self._from(before - 1 - distance, bounds):
                return found[-1] + 1
        self.is_sure = False
        return low + (high - low) * (before - first) // (last - first)

    def _laid(self, region: "_Region") -> Iterator["_Region | Entry"]:
        """Yields what is in a region: units, spans, and the regions of elements."""
        bounds, source = region.bounds, region.source
        runs = self._runs(region)
        placed = []
        for number, item in enumerate(region.items):
            if number in runs:
                placed.append((*runs[number], item))
                continue
            place = self.point(item.first, bounds, source)
            for other, (start, end) in runs.items():
                if start < place < end:
                    place = end if other < number else start
            placed.append((place, place, item))
        placed.sort(key=lambda one: (one[0], one[2].opening))
        done = bounds[0]
        for start, end, item in placed:
            start = max(start, done)
            yield from ((True, unit) for unit in range(done, start))
            done = max(start, end)
            yield False, item.opening
            if item.closing is not None:
                yield _Region(item.inner, (start, done), (item.first, item.last))
                yield False, item.closing
        yield from ((True, unit) for unit in range(done, bounds[1]))

    def _runs(self, region: "_Region") -> dict[int, Place]:
        """Returns the units that each element with words goes around, by its place in a region."""
        elements = {n: item for n, item in enumerate(region.items) if item.first < item.last}
        owners = {
            unit: number
            for number, item in elements.items()
            for unit in range(item.first, item.last)
        }
        low, high = region.bounds
        owned = [self._owner(unit, owners) for unit in range(low, high)]
        runs = {}
        for number, item in elements.items():
            if (item.first, item.last) == region.source:
                runs[number] = region.bounds
                continue
            values = [
                1.0 if owner == number
                else (_SIGN if sign else _OTHER_WORD) if owner is None
                else -math.inf
                for owner, sign in zip(owned, self._signs[low:high], strict=True)
            ]  # fmt: skip
            run = _best_run(values) or self._nearest(item, low, values)
            if run is not None:
                start, end = self._with_signs(item, low, run, values)
                runs[number] = low + start, low + end
        return runs

    def _nearest(self, item: Item, low: int, values: Sequence[float]) -> Place | None:
        """Returns the word of no element that attends most to an element to which none belongs."""
        self.is_sure = False
        best, run = 0.0, None
        for place, value in enumerate(values):
            if value == _OTHER_WORD:
                unit = self._units[low + place]
                [weights] = self._links.weights([(unit.start, unit.end)])
                attended = float(weights[item.first : item.last].sum())
                if attended > best:
                    best, run = attended, (place, place + 1)
        return run

    def _owner(self, unit: int, owners: Mapping[int, int]) -> int | None:
        """Returns the element of a unit; a word comes from no sign, and no sign from a word."""
        source = self._units[unit].source
        if source < 0 or self._links.is_sign[source] != self._signs[unit]:
            return None
        return owners.get(source)

    def _with_signs(self, item: Item, low: int, run: Place, values: Sequence[float]) -> Place:
        """Returns a run with the signs beside it if the element begins or ends with one, unless
        they come from another sign.
        """
        (start, end), signs = run, self._links.is_sign
        if signs[item.first] and start and self._is_stray(low + start - 1, values[start - 1]):
            start -= 1
        if signs[item.last - 1] and end < len(values) and self._is_stray(low + end, values[end]):
            end += 1
        return start, end

    def _is_stray(self, place: int, value: float) -> bool:
        source = self._units[place].source
        return value == _SIGN and (source < 0 or not self._links.is_sign[source])

    def _from(self, source: int, bounds: Place) -> list[int]:
        """Returns the units within bounds that come from a unit of the source."""
        found = self._by_source.get(source, [])
        return found[bisect.bisect_left(found, bounds[0]) : bisect.bisect_left(found, bounds[1])]


class _Region(NamedTuple):
    """Items to place between units, which were between units of the source."""

    items: Sequence[Item]
    bounds: Place
    source: Place


def _best_run(values: Sequence[float]) -> Place | None:
    """Returns the run with the greatest sum, the longest of equal ones; None if none is above 0."""
    best, run = 0.0, None
    total, start = -math.inf, 0
    for place, value in enumerate(values):
        if total < 0:
            total, start = 0.0, place
        total += value
        size = 0 if run is None else run[1] - run[0]
        if value > 0 and (total > best or (total == best and place + 1 - start > size)):
            best, run = total, (start, place + 1)
    return run
