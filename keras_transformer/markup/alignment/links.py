"""Which words, signs and spans of a source those of its translation come from, by attention."""

import bisect
import re
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from keras_transformer.text.subwords.slots import TokenAlignment

Place = tuple[int, int]  # First character and the one after the last.
_WIDE = r"\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
_SIGNS = (
    r"!-/:-@\[-`{-~\u00a1-\u00bf\u055a-\u055f\u060c\u061b\u061f\u06d4\u0964\u0965\u2010-\u206f"
    r"\u3001-\u303f\uff01-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65"
)
_LETTERS = rf"[^\s{_SIGNS}{_WIDE}]+"
# Words and signs; Chinese and Japanese are read character by character.
UNITS = re.compile(rf"{_LETTERS}(?:['’\-]{_LETTERS})*|\S")
# Less than any attention.
_TINY = 1e-9


class Links:
    """Which units of a source its translation comes from.

    Args:
        read: What the model read.
        words: Where each span that stands for a word begins and ends in it, by its number.
        translation: What the model wrote.
        alignment: The alignment of both, whose texts may differ a little from these.

    Attributes:
        units: Where each word, sign and span of the source begins and ends.
        is_sign: Whether each of them has neither letter nor digit.
    """

    def __init__(
        self,
        read: str,
        words: Mapping[int, Place],
        translation: str,
        alignment: TokenAlignment,
    ) -> None:
        self.units, self._numbers = _units(read, words)
        self._starts, self._ends = ([unit[side] for unit in self.units] for side in (0, 1))
        self.is_sign = [is_sign(read[start:end]) for start, end in self.units]
        source = _moved(alignment.source_places, alignment.source, read)
        target = _moved(alignment.target_places, alignment.target, translation)
        weights = alignment.weights[: len(target), : len(source)]
        self._target = target[: weights.shape[0]]
        owners = _overlaps(source[: weights.shape[1]], self.units)
        self._weights = _balanced(weights @ owners)
        self._carried = {
            number
            for number, (start, end) in zip(
                words, _moved(list(words.values()), read, alignment.source), strict=True
            )
            if start == end
        }

    def weights(self, places: Sequence[Place]) -> npt.NDArray[np.float32]:
        """Returns how much each of some places of the translation attends to each unit of the
        source.
        """
        found: npt.NDArray[np.float32] = _overlaps(places, self._target) @ self._weights
        return found

    def sources_of(self, places: Sequence[Place]) -> list[int]:
        """Returns the unit of the source that each of some places of the translation attends to
        most; -1 if unknown.
        """
        if not self.units:
            return [-1] * len(places)
        weights = self.weights(places)
        found: list[int] = np.where(weights.any(axis=1), weights.argmax(axis=1), -1).tolist()
        return found

    def unit_of(self, number: int) -> int:
        """Returns the unit of the source that a span is."""
        return self._numbers[number]

    def has_read(self, number: int) -> bool:
        """Returns whether a span that stands for a word is in what the model has read."""
        return number not in self._carried

    def within(self, start: int, end: int) -> Place:
        """Returns the first unit of the source within characters, and the one after the last."""
        first = bisect.bisect_right(self._ends, start)
        last = bisect.bisect_left(self._starts, end)
        return first, (max(first, last) if start < end else first)


def is_sign(text: str) -> bool:
    """Returns whether a unit has neither letter nor digit."""
    return not any(map(str.isalnum, text))


def _units(read: str, words: Mapping[int, Place]) -> tuple[list[Place], dict[int, int]]:
    """Returns the units of a source, and which of them each span that stands for a word is."""
    units: list[Place] = []
    numbers: dict[int, int] = {}
    last = 0
    for number, (start, end) in words.items():
        units += [found.span() for found in UNITS.finditer(read, last, start)]
        numbers[number] = len(units)
        units.append((start, end))
        last = end
    return [*units, *(found.span() for found in UNITS.finditer(read, last))], numbers


def _overlaps(ones: Sequence[Place], others: Sequence[Place]) -> npt.NDArray[np.float32]:
    """Returns which places overlap: 1 in `(ones, others)` where they do, and 0."""
    rows, columns = (np.array(places, np.int64).reshape(-1, 2) for places in (ones, others))
    before = rows[:, :1] < columns[:, 1]
    behind = rows[:, 1:] > columns[:, 0]
    return (before & behind).astype(np.float32)


def _balanced(weights: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Returns attention of which each unit of a source gets as much as any other.

    Full stops and the like attract more than their share, which hides where words come from.
    """
    for axis in (0, 1):
        weights = weights / np.maximum(weights.sum(axis, keepdims=True), _TINY)
    return weights


def _moved(places: Sequence[Place], said: str, meant: str) -> list[Place]:
    """Returns where places of a text are in another one, which lacks some of it or has more."""
    if meant.startswith(said) or said.startswith(meant):
        return [(min(start, len(meant)), min(end, len(meant))) for start, end in places]
    import difflib  # Rarely needed: it would make every start slower.

    before, behind = [0] * (len(said) + 1), [0] * (len(said) + 1)
    matched: dict[int, int] = {}
    for first, second, size in difflib.SequenceMatcher(
        None, said, meant, autojunk=False
    ).get_matching_blocks():
        matched.update(zip(range(first, first + size), range(second, second + size), strict=True))
    last = 0
    for place in range(len(said)):
        before[place] = matched.get(place, last)
        last = behind[place] = matched[place] + 1 if place in matched else last
    before[-1] = last
    return [
        (before[start], behind[end - 1] if start < end else before[start]) for start, end in places
    ]
