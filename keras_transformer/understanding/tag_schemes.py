"""The schemes by which the tags of words mark spans: BIO (Ramshaw and Marcus 1995) and BIOES."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

OUTSIDE = "O"
_INSIDE = re.compile("([BIES])-(.+)")


class TaggedSpan(NamedTuple):
    """A span of words.

    Attributes:
        kind: Its kind, such as "PER" in the tag "B-PER".
        first: Place of its first word.
        last: Place of its last word.
    """

    kind: str
    first: int
    last: int


@dataclass(frozen=True)
class TagScheme:
    """The tags of a model or of a corpus, of which all are "O" or a letter, a hyphen and a kind.

    B begins a span and I continues one; in BIOES E ends a span and S is one of a single word.

    Attributes:
        labels: The tags, in the order of their numbers.
    """

    labels: tuple[str, ...]

    @classmethod
    def of(cls, labels: Sequence[str]) -> "TagScheme | None":
        """Returns the scheme of tags; None if they follow none, or none of them begins with "B-".

        Example:
            >>> TagScheme.of(["B-PER", "I-PER", "O"]).name
            'BIO'
            >>> TagScheme.of(["DET", "NOUN"]) is None
            True
        """
        found = [_INSIDE.fullmatch(label) for label in labels if label != OUTSIDE]
        if not all(found) or not any(label.startswith("B-") for label in labels):
            return None
        return cls(tuple(labels))

    @property
    def name(self) -> str:
        """Which scheme: "BIO" or "BIOES"."""
        return "BIOES" if {"E", "S"} & {*self._letters} else "BIO"

    @cached_property
    def forbidden(self) -> tuple[tuple[int, int], ...]:
        """Pairs of numbers of tags of which the second must not follow the first.

        The number of tags stands for the edge of a text. Spans of a kind that has no tag to begin
        with, or none to end with, may begin or end anyhow.
        """
        numbers = range(len(self.labels) + 1)
        pairs = ((before, after) for before in numbers for after in numbers)
        return tuple(pair for pair in pairs if self._is_forbidden(*pair))

    @cached_property
    def breaks(self) -> npt.NDArray[np.bool_]:
        """Whether no span goes on from the first to the second of two tags: `(tags + 1,) * 2`.

        The last row and column are the edge of a text. These are seqeval's rules by default, those
        of conlleval: an I that continues nothing begins a span.
        """
        letters, kinds = np.array(self._letters), np.array(self._kinds)
        ends, begins = np.isin(letters, ["E", "S", OUTSIDE]), np.isin(letters, ["B", "S", OUTSIDE])
        return ends[:, None] | begins[None] | (kinds[:, None] != kinds[None])

    @cached_property
    def kind_numbers(self) -> npt.NDArray[np.int32]:
        """The number of each tag's kind, from 1; 0 for "O" and for the edge of a text."""
        kinds = sorted({*self._kinds} - {""})
        return np.array([kinds.index(one) + 1 if one else 0 for one in self._kinds], np.int32)

    def spans(self, tags: Sequence[str]) -> list[TaggedSpan]:
        """Returns the spans that tags mark, in order, as seqeval finds them by default.

        A tag that is none of `labels` stands outside of spans.
        """
        edge = len(self.labels)
        numbers = [*(self._numbers.get(tag, edge) for tag in tags), edge]
        found, first = [], 0
        for place, (before, after) in enumerate(pairwise([edge, *numbers])):
            if self.breaks[before, after]:
                if self._kinds[before]:
                    found.append(TaggedSpan(self._kinds[before], first, place - 1))
                first = place
        return found

    def misplaced(self, tags: Sequence[str]) -> Iterator[int]:
        """Yields the places of tags that the tag before them does not allow.

        The number of tags is yielded if the text must not end behind the last one.
        """
        edge, forbidden = len(self.labels), {*self.forbidden}
        numbers = [edge, *(self._numbers[tag] for tag in tags), edge]
        return (place for place, pair in enumerate(pairwise(numbers)) if pair in forbidden)

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {label: number for number, label in enumerate(self.labels)}

    def _is_forbidden(self, before: int, after: int) -> bool:
        (left, kind), (right, other) = self._parts[before], self._parts[after]
        continues = left in ("B", "I") and right in ("I", "E") and kind == other
        begins_inside = right in ("I", "E") and f"B-{other}" in self.labels
        # In BIO a span may end behind any of its words.
        stays_open = left in ("B", "I") and f"E-{kind}" in self.labels
        return not continues and (begins_inside or stays_open)

    @cached_property
    def _parts(self) -> tuple[tuple[str, str], ...]:
        """The letter and the kind of each tag, and of the edge."""
        found = (_INSIDE.fullmatch(label) for label in self.labels)
        return (*((one[1], one[2]) if one else (OUTSIDE, "") for one in found), (OUTSIDE, ""))

    @property
    def _letters(self) -> list[str]:
        return [letter for letter, _ in self._parts]

    @property
    def _kinds(self) -> list[str]:
        return [kind for _, kind in self._parts]
