"""Pairs of id rows in a compact form, filtered by length, with a report of what was dropped. Needs
only numpy, so that processes that just tokenize stay small.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, Self

import numpy as np
import numpy.typing as npt

from keras_transformer.config.sentence_marks import Begins
from keras_transformer.config.special_ids import SpecialIds


@dataclass(frozen=True)
class FilterReport:
    """How many pairs were read, kept and dropped, and why; `str()` is one line."""

    noun: ClassVar[str] = "pairs"

    total: int
    kept: int
    empty: int
    too_long: int
    max_length: int | None = None

    def __str__(self) -> str:
        limit = "" if self.max_length is None else f" (over {self.max_length} tokens)"
        return (
            f"kept {self.kept:,} of {self.total:,} {self.noun}; dropped {self.empty:,} empty, "
            f"{self.too_long:,} too long{limit}"
        )


class TextReport(FilterReport):
    """How many texts were read, kept and dropped, and why; `str()` is one line."""

    noun = "texts"


@dataclass(frozen=True)
class RaggedIds:
    """Concatenated rows of ids: row i is `values[offsets[i]:offsets[i + 1]]`.

    `values` is int32 (number of ids,), `offsets` int64 (number of rows + 1,).
    """

    values: npt.NDArray[np.int32]
    offsets: npt.NDArray[np.int64]

    @classmethod
    def from_rows(cls, rows: Sequence[Sequence[int]]) -> "RaggedIds":
        """Packs plain lists of ids."""
        flat = [token for row in rows for token in row]
        return cls.from_lengths(
            np.asarray(flat, np.int32), np.asarray([len(row) for row in rows], np.int64)
        )

    @classmethod
    def from_lengths(
        cls, values: npt.NDArray[np.int32], lengths: npt.NDArray[np.integer]
    ) -> "RaggedIds":
        """Splits concatenated ids into rows of the given lengths."""
        offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths, dtype=np.int64)])
        return cls(values, offsets)

    @property
    def lengths(self) -> npt.NDArray[np.int64]:
        """The number of ids in each row, int64 (number of rows,)."""
        return np.diff(self.offsets)

    def take(self, rows: npt.NDArray[np.int64]) -> "RaggedIds":
        """Returns the rows with the given numbers, in that order."""
        lengths = self.lengths[rows]
        taken = RaggedIds.from_lengths(np.empty(int(lengths.sum()), np.int32), lengths)
        places = np.repeat(self.offsets[rows] - taken.offsets[:-1], lengths)
        taken.values[:] = self.values[places + np.arange(len(places))]
        return taken

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, row: int) -> npt.NDArray[np.int32]:
        if not 0 <= row < len(self):
            raise IndexError(f"row must lie in 0 to {len(self) - 1}, got {row}")
        return self.values[self.offsets[row] : self.offsets[row + 1]]


@dataclass(frozen=True)
class EncodedPairs:
    """Pairs ready for batching: ids without bos and eos, at least one on each side.

    `pair_numbers` (int64, one per kept pair) are their positions in the original pairs.
    `special_ids` are those of the vocabularies, which batching adds around the rows, and `begins`
    what each text begins with besides.
    """

    source: RaggedIds
    target: RaggedIds
    report: FilterReport
    pair_numbers: npt.NDArray[np.int64]
    special_ids: SpecialIds
    begins: Begins = field(default=Begins(), kw_only=True)

    @classmethod
    def from_ids(
        cls,
        source: Sequence[Sequence[int]],
        target: Sequence[Sequence[int]],
        max_length: int | None = None,
        special_ids: SpecialIds | None = None,
    ) -> "EncodedPairs":
        """Filters pairs that are already ids, such as those of synthetic tasks.

        Args:
            source: Rows of ids, without eos.
            target: As many rows of ids, without bos and eos.
            max_length: As in `encode_pairs`; None keeps every length.
            special_ids: The ids that are not text; the defaults of `SpecialIds` if None.

        Raises:
            ValueError: The sides differ in number of rows or hold pad, bos or eos, or no pair is
                left.
        """
        if len(source) != len(target):
            raise ValueError(
                "source and target must have equally many rows, got "
                f"{len(source)} and {len(target)}"
            )
        rows = (RaggedIds.from_rows(source), RaggedIds.from_rows(target))
        return filter_pairs(*rows, max_length, "the given ids", special_ids or SpecialIds())

    def framed(self, special_ids: SpecialIds, begins: Begins) -> Self:
        """Returns the pairs with other ids around their rows than those of the vocabularies."""
        return replace(self, special_ids=special_ids, begins=begins)

    def __len__(self) -> int:
        return len(self.source)

    @property
    def source_lengths(self) -> npt.NDArray[np.int64]:
        """Length of each `source_ids` row as the model sees it, eos included."""
        return self.source.lengths + 1

    @property
    def target_lengths(self) -> npt.NDArray[np.int64]:
        """Length of each `target_ids` row as the model sees it, bos included."""
        return self.target.lengths + 1


def filter_pairs(
    source: RaggedIds,
    target: RaggedIds,
    max_length: int | None,
    origin: str,
    special_ids: SpecialIds,
) -> EncodedPairs:
    """Drops the pairs with an empty or too long side.

    Args:
        source: Rows of ids, without eos.
        target: As many rows of ids, without bos and eos.
        max_length: As in `encode_pairs`.
        origin: Where the pairs come from, for the error message.
        special_ids: Special ids of the vocabularies.

    Raises:
        ValueError: No pair is left, `max_length` is below 2, or an id is one that batching adds.
    """
    kept = kept_pairs(source, target, max_length, special_ids)
    require_pairs(kept.report, origin)
    return kept


def kept_pairs(
    source: RaggedIds, target: RaggedIds, max_length: int | None, special_ids: SpecialIds
) -> EncodedPairs:
    """Returns what `filter_pairs` keeps; it may be empty, for a piece of a corpus."""
    if max_length is not None:
        check_max_length(max_length)
    for side, ids in (("source", source), ("target", target)):
        added = sorted(special_ids.added_to_text)
        if np.isin(ids.values, added).any() or (ids.values < 0).any():
            raise ValueError(
                f"{side} ids must not hold pad, bos, eos ({', '.join(map(str, added))}) or "
                "negative ids: batching adds them"
            )
    empty = (source.lengths == 0) | (target.lengths == 0)
    longest = np.maximum(source.lengths, target.lengths) + 1
    too_long = ~empty & (longest > (max_length or np.inf))
    rows = np.flatnonzero(~empty & ~too_long)
    report = FilterReport(len(source), len(rows), int(empty.sum()), int(too_long.sum()), max_length)
    if len(rows) < len(source):
        source, target = source.take(rows), target.take(rows)
    return EncodedPairs(source, target, report, rows, special_ids)


def kept_texts(ids: RaggedIds, max_length: int, special_ids: SpecialIds) -> EncodedPairs:
    """Returns single texts, as pairs without a target, that have text and are short enough.

    Args:
        ids: Rows of ids, without special ids around them.
        max_length: Longest text in tokens, with an id before it and eos.
        special_ids: Special ids of the vocabulary.
    """
    check_max_length(max_length)
    empty = ids.lengths == 0
    too_long = ids.lengths + 2 > max_length
    rows = np.flatnonzero(~empty & ~too_long)
    report = TextReport(len(ids), len(rows), int(empty.sum()), int(too_long.sum()), max_length)
    none = RaggedIds.from_lengths(np.empty(0, np.int32), np.zeros(len(rows), np.int64))
    return EncodedPairs(ids.take(rows), none, report, rows, special_ids)


def check_max_length(max_length: int) -> None:
    """Raises `ValueError` if no pair could be short enough."""
    if max_length < 2:
        raise ValueError(f"max_length must be at least 2 (one piece and eos), got {max_length}")


def require_pairs(report: FilterReport, origin: str) -> None:
    """Raises `ValueError` if every pair was dropped."""
    if not report.kept:
        raise ValueError(
            f"no {report.noun.removesuffix('s')} of {origin} is left: {report}; check the text and "
            "max_length"
        )
