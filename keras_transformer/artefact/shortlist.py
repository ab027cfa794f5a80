"""An artefact's shortlist: for each source token the few target tokens that its translation may
need.
"""

import io
import os
import zipfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

IdRows = Sequence[Sequence[int]]
Integers = npt.NDArray[np.integer]

# What fills up the rows of `Listed.places`.
FILLER = -1
_ARRAYS = ("offsets", "ids", "always")


class Listed(NamedTuple):
    """The target ids of a batch.

    Attributes:
        ids: Those of any row: int32 `(listed,)`, ascending.
        places: Where those of each row stand among them: int32 `(batch, most)`, ascending, filled
            up with -1.
    """

    ids: npt.NDArray[np.int32]
    places: npt.NDArray[np.int32]

    def labels(self, rows: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
        """Returns where ids `(batch, length)` stand in their rows of `places`; all must be there.

        Ids that are not in their row, such as padding, get any place.
        """
        found = np.empty_like(rows)
        for place, (row, own) in enumerate(zip(rows, self.places, strict=True)):
            listed = self.ids[own[own != FILLER]]
            found[place] = np.minimum(np.searchsorted(listed, row), len(listed) - 1)
        return found


class Shortlist:
    """Candidates of each source id.

    A translation is made of the candidates of its source's tokens, and of those that are always
    candidates. Probabilities are those among these tokens.

    Args:
        offsets: Where each source id's candidates begin in `ids`, and where the last one's end:
            integers `(source_vocab_size + 1,)`.
        ids: The candidates of all source ids, one after the other, each ascending.
        always: Target ids that are candidates of every text, ascending: eos is among them.
        target_vocab_size: Number of target ids.
        origin: What it was made from.

    Raises:
        ValueError: The arrays contradict each other, or an id is outside the vocabulary.
    """

    def __init__(
        self,
        offsets: Integers,
        ids: Integers,
        always: Integers,
        target_vocab_size: int,
        origin: str = "",
    ) -> None:
        self.target_vocab_size = target_vocab_size
        self.origin = origin
        self._begins = np.asarray(offsets, np.int64)
        self._ids, self._always = ids, always
        self._check()
        self._counts = np.diff(self._begins)
        # A list is faster to look single numbers up in.
        self._begins_listed = self._begins.tolist()
        self._is_always = np.zeros(target_vocab_size, bool)
        self._is_always[always] = True

    def _check(self) -> None:
        begins, size = self._begins, self.target_vocab_size
        if begins.ndim != 1 or len(begins) < 2 or begins[0] or begins[-1] != len(self._ids):
            raise ValueError(
                f"offsets must begin with 0 and end with {len(self._ids)}, the number of ids."
            )
        if (np.diff(begins) < 0).any():
            raise ValueError("offsets must not decrease.")
        if not len(self._always):
            raise ValueError("always must hold one id at least, that of eos.")
        for name, found in (("ids", self._ids), ("always", self._always)):
            if found.ndim != 1 or found.dtype.kind not in "iu":
                raise ValueError(f"{name} must be one row of integers, got {found.dtype}.")
            if len(found) and not 0 <= found.min() <= found.max() < size:
                raise ValueError(
                    f"{name} must lie in 0 to {size - 1}, the target vocabulary, got "
                    f"{found.min()} to {found.max()}."
                )
        is_next = np.ones(len(self._ids), bool)
        is_next[begins[:-1][begins[:-1] < len(self._ids)]] = False
        if (np.diff(self._ids.astype(np.int64), prepend=-1)[is_next] <= 0).any() or (
            np.diff(self._always.astype(np.int64)) <= 0
        ).any():
            raise ValueError("the candidates of a source id must ascend, each id once.")

    @classmethod
    def of_lists(
        cls,
        lists: Sequence[Iterable[int]],
        always: Iterable[int],
        target_vocab_size: int,
        origin: str = "",
    ) -> "Shortlist":
        """Makes a shortlist of each source id's candidates, in any order."""
        rows = [np.unique(np.asarray(list(row), np.int64)) for row in lists]
        offsets = np.cumsum([0, *map(len, rows)], dtype=np.int64)
        every = np.unique(np.asarray(list(always), np.int64))
        ids = np.concatenate(rows) if rows else np.zeros(0, np.int64)
        # Checked before ids are narrowed, as that would hide one that is too large.
        cls(offsets, ids, every, target_vocab_size)
        dtype = np.uint16 if target_vocab_size <= 1 << 16 else np.uint32
        return cls(offsets, ids.astype(dtype), every.astype(dtype), target_vocab_size, origin)

    @property
    def source_vocab_size(self) -> int:
        """Number of source ids."""
        return len(self._counts)

    @property
    def always(self) -> npt.NDArray[np.int64]:
        """The ids that are candidates of every text, ascending."""
        return self._always.astype(np.int64)

    @property
    def candidates_of_each(self) -> float:
        """The mean number of candidates of a source id that has any."""
        return len(self._ids) / max(1, int(np.count_nonzero(self._counts)))

    def candidates(self, source_id: int) -> npt.NDArray[np.int64]:
        """Returns the candidates of one source id, ascending, without those of every text."""
        begin, end = self._begins[source_id], self._begins[source_id + 1]
        return self._ids[begin:end].astype(np.int64)

    def choose(self, sources: IdRows, required: IdRows) -> Listed:
        """Returns the ids that the translations of a batch are made of.

        What a row gets does not depend on the others.

        Args:
            sources: Ids of each text.
            required: Further target ids that each row must have.
        """
        if len(sources) == 1:
            return self._choose_alone(sources[0], required[0])
        tokens = _joined(sources)
        counts = self._counts[tokens]
        # Of token t the places begins[t] + 0, 1, …: counted through all tokens, from its own first.
        first = np.repeat(self._begins[tokens] - (np.cumsum(counts) - counts), counts)
        ids = np.concatenate([self._ids[first + np.arange(len(first))], _joined(required)])
        rows = np.concatenate([np.repeat(_numbers(sources), counts), _numbers(required)])
        is_listed = self._is_always.copy()
        is_listed[ids] = True
        listed = np.flatnonzero(is_listed)
        place_of = np.empty(self.target_vocab_size, np.int64)
        place_of[listed] = np.arange(len(listed))
        # [batch, listed]
        chosen = np.zeros((len(sources), len(listed)), bool)
        chosen[:, place_of[self._always]] = True
        chosen[rows, place_of[ids]] = True
        rows, places = np.nonzero(chosen)
        sizes = np.bincount(rows, minlength=len(sources))
        table = np.full((len(sources), sizes.max(initial=1)), FILLER, np.int32)
        table[np.arange(table.shape[1]) < sizes[:, None]] = places
        return Listed(listed.astype(np.int32), table)

    def _choose_alone(self, source: Sequence[int], required: Sequence[int]) -> Listed:
        """Does as `choose` for a single row, whose ids all are its own."""
        begins, is_listed = self._begins_listed, self._is_always.copy()
        own = [self._ids[begins[token] : begins[token + 1]] for token in source]
        is_listed[np.concatenate([*own, np.array(required, np.int64)])] = True
        listed = is_listed.nonzero()[0].astype(np.int32)
        return Listed(listed, np.arange(len(listed), dtype=np.int32)[None])

    def write(self, path: Path) -> None:
        """Writes the arrays to a file of NumPy's, without pickles."""
        np.savez(path, offsets=self._begins.astype(np.uint32), ids=self._ids, always=self._always)

    @classmethod
    def read(
        cls,
        path: str | os.PathLike[str],
        target_vocab_size: int,
        content: bytes | None = None,
    ) -> "Shortlist":
        """Reads what `write` wrote.

        Args:
            path: The file.
            target_vocab_size: Number of target ids.
            content: The file's bytes, if they have been read.

        Raises:
            ValueError: The file is damaged, or of a model with another vocabulary.
        """
        data = Path(path).read_bytes() if content is None else content
        try:
            with np.load(io.BytesIO(data), allow_pickle=False) as held:
                offsets, ids, always = (held[name] for name in _ARRAYS)
            return cls(offsets, ids, always, target_vocab_size)
        except (KeyError, EOFError, ValueError, zipfile.BadZipFile) as error:
            raise ValueError(f"{path} is no shortlist of this model: {error}") from error


def _joined(rows: IdRows) -> npt.NDArray[np.int64]:
    return np.fromiter((token for row in rows for token in row), np.int64)


def _numbers(rows: IdRows) -> npt.NDArray[np.int64]:
    """Returns for each token of each row the row's number."""
    return np.repeat(np.arange(len(rows)), [len(row) for row in rows])
