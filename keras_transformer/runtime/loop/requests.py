"""What the searches share: one batch's request comes in, candidates leave; between them the decoder
is seen through `Steps`, so that no search knows of models, graphs or caches.
"""

import dataclasses
import functools
from collections.abc import Collection, Sequence
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from keras_transformer.config.special_ids import SpecialIds
from keras_transformer.search.options import SearchOptions, length_penalty

Ids = npt.NDArray[np.int32]
Rows = npt.NDArray[np.int64]
Values = npt.NDArray[np.float32]

_LARGEST = np.finfo(np.float32).max


class Best(NamedTuple):
    """The best continuations of each sentence, best first; valid until the decoder's next step.

    Attributes:
        ids: `(sentences, count)`.
        values: Log-probability of the whole hypothesis.
        beams: Beam of the sentence that each continues.
    """

    ids: Ids
    values: Values
    beams: Ids


class First(NamedTuple):
    """The most probable next token of each row; valid until the decoder's next step.

    Attributes:
        ids: `(rows,)`, the lowest of equal ones.
        values: Their log-probabilities, or zeros where scores are not wanted.
    """

    ids: Ids
    values: Values


class Steps(Protocol):
    """A batch of sentences being decoded step by step, the rows of a sentence side by side.

    It starts with one row a sentence. `first`, `best` and `logits` each take the newest token of
    every row and make one step. `first` stays with one row a sentence, and goes without `best`.
    """

    def first(self, ids: Ids) -> First:
        """Returns the most probable next token of each row."""
        ...

    def best(self, ids: Ids, count: int, totals: Values) -> Best:
        """Returns the `count` best continuations of each sentence, or as many as there are.

        Of equal ones of a beam the lowest id comes first, of equal ones of several the lowest beam.

        Args:
            ids: The newest token of each row, `(rows,)`.
            count: How many.
            totals: Log-probability of each beam `(sentences, beams)`.
        """
        ...

    def logits(self, ids: Ids) -> Values:
        """Returns all logits `(rows, vocabulary)`, writable until the next call."""
        ...

    def logits_again(self) -> Values:
        """Returns all logits of the step that `first` or `best` just made."""
        ...

    def follow(self, parents: Ids) -> None:
        """Makes beam w of sentence s continue its beam `parents[s, w]`; may change their number."""
        ...

    def keep(self, sentences: Rows) -> None:
        """Drops all sentences but these, numbered as they stand, and puts them in this order."""
        ...


def take_beams(table: Ids, parents: Ids) -> Ids:
    """Returns `table[s, parents[s, w]]` for every sentence s and beam w: `(S, W, length)`.

    The table may have another number of beams, as before the first token.
    """
    sentences, beams, length = table.shape
    # Three times as fast as an index for each axis.
    flat = table.reshape(sentences * beams, length)
    return flat.take(parents + _first_rows(sentences, beams), axis=0)


@functools.lru_cache(maxsize=64)
def _first_rows(sentences: int, beams: int) -> Rows:
    return np.arange(0, sentences * beams, beams)[:, None]


def lowest(ids: Ids) -> int:
    """Returns the lowest of the ids; of few of them much faster than numpy."""
    return min(ids.ravel().tolist()) if ids.size <= _FEW_IDS else int(ids.min())


def staying(done: npt.NDArray[np.bool_]) -> Rows:
    """Returns the places of the sentences that are not done, in the order that moves the fewest.

    All keep their place, except that the last ones fill the places of those that leave.
    """
    kept = np.flatnonzero(~done)
    order = np.arange(len(kept))
    order[done[: len(kept)]] = kept[kept >= len(kept)]
    return order


def rows_of(sentences: Rows, each: int) -> Rows:
    """Returns the rows of these sentences, which have `each` side by side."""
    return (sentences[:, None] * each + np.arange(each)).ravel()


def keep_rows(arrays: Collection[npt.NDArray], kept: Rows) -> list[npt.NDArray]:
    """Returns `array[kept]` of each, made in place: only rows whose place changes are copied."""
    moved = np.flatnonzero(kept != np.arange(len(kept)))
    origin = kept[moved]
    for array in arrays:
        array[moved] = array[origin]
    return [array[: len(kept)] for array in arrays]


_FEW_IDS = 64
# Finished sentences leave the batch when they are this share of it: moving the others' caches costs
# about as much as some steps of theirs.
LEAVING_SHARE = 0.25


@dataclasses.dataclass(frozen=True, kw_only=True)
class Request:
    """A batch of sentences and what is asked of them.

    Args:
        options: The search's options.
        special_ids: Ids that are no text.
        limits: Most tokens of each sentence's translation, eos included.
        prefixes: Ids that each translation begins with; none where empty.
        places: Place of each sentence among the caller's inputs, for its random numbers.
        seed: Start of the random numbers; used in sampling only.
        with_scores: Whether scores are wanted; greedy search is faster without.
    """

    options: SearchOptions
    special_ids: SpecialIds
    limits: Sequence[int]
    prefixes: Sequence[Sequence[int]] = ()
    places: Sequence[int] = ()
    seed: int = 0
    with_scores: bool = True


def float32_penalty(length: npt.ArrayLike, options: SearchOptions) -> Values:
    """Returns the length penalty in float32, and its largest number where there is no such one."""
    with np.errstate(over="ignore"):
        penalty = np.minimum(length_penalty(length, options), _LARGEST)
        return np.asarray(penalty, np.float32)
