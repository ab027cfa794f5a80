"""The spaces beside tags in a translation: within an element as in the source, and outside as the
model wrote them.
"""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet

from keras_transformer.markup.alignment.copies import Unit
from keras_transformer.markup.alignment.placing import Entry
from keras_transformer.markup.spans import Span


class Spacing:
    """Writes units of a translation and spans with the spaces between them.

    Args:
        spans: The spans of the source.
        pairs: What `partners` said of them.
        gaps: The text before each span and behind the last one.
        blanks: The spans that part words without a space.
    """

    def __init__(
        self,
        spans: Sequence[Span],
        pairs: Mapping[int, int],
        gaps: Sequence[str],
        blanks: AbstractSet[int],
    ) -> None:
        self._spans, self._gaps, self._blanks = spans, gaps, blanks
        self._opens, self._closes = set(pairs), set(pairs.values())

    def text(self, order: Sequence[Entry], units: Sequence[Unit]) -> str:
        """Returns the translation.

        Args:
            order: Units by their place, and spans by their number, in turn.
            units: The units.
        """
        written, run, is_start = "", list[int](), True
        for is_unit, number in order:
            if not is_unit:
                run.append(number)
                continue
            unit = units[number]
            written += self._between(run, unit.space, is_start=is_start) + unit.text
            run, is_start = [], False
        return written + self._between(run, "", is_start=is_start, is_end=True)

    def _between(
        self, run: Sequence[int], space: str, *, is_start: bool, is_end: bool = False
    ) -> str:
        """Returns spans between two units, with the space that is between these."""
        if not run:
            return space
        neighbours = list(zip([None, *run], [*run, None], strict=True))
        spaces = [self._asked(*pair) for pair in neighbours]
        begins, ends = is_start and self._begins(run[0]), is_end and self._ends(run[-1])
        if is_start and not begins:
            spaces[0] = ""
        if is_end and not ends:
            spaces[-1] = ""
        if any(spaces) or begins or ends or self._blanks & set(run):
            # At the ends, and beside what parts words by itself, spaces are those of the source;
            # where one is within an element, none is needed outside.
            spaces = [
                self._outside(*pair) if one is None else one
                for one, pair in zip(spaces, neighbours, strict=True)
            ]
        else:
            spaces[spaces.index(None) if None in spaces else 0] = space
        pieces = [*(self._spans[number].text for number in run), ""]
        return "".join((one or "") + piece for one, piece in zip(spaces, pieces, strict=True))

    def _asked(self, before: int | None, behind: int | None) -> str | None:
        """Returns the space between neighbours in a run, None for a unit; None if any will do."""
        if before is not None and before in self._opens:
            return self._behind(before)
        if behind is not None and behind in self._closes:
            return self._before(behind)
        if before is not None and before + 1 == behind and not self._gaps[behind].strip():
            return self._gaps[behind]
        if before is not None and (before not in self._closes or before in self._blanks):
            return self._behind(before)
        if behind is not None and (behind not in self._opens or behind in self._blanks):
            return self._before(behind)
        return None

    def _outside(self, before: int | None, behind: int | None) -> str | None:
        """Returns the space that the source has between an element and a unit."""
        if behind is not None:
            return self._before(behind)
        return None if before is None else self._behind(before)

    def _before(self, number: int) -> str:
        gap = self._gaps[number]
        return gap[len(gap.rstrip()) :]

    def _behind(self, number: int) -> str:
        gap = self._gaps[number + 1]
        return gap[: len(gap) - len(gap.lstrip())]

    def _begins(self, number: int) -> bool:
        return number == 0 and not self._gaps[0].strip()

    def _ends(self, number: int) -> bool:
        return number == len(self._spans) - 1 and not self._gaps[-1].strip()
