"""Greedy and beam search in numpy: a step function that gives log-probabilities comes in, the best
token sequences of every sentence leave. It knows nothing of the model behind the step.
"""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from .top_k import top_candidates

Ids = npt.NDArray[np.int32]
Rows = npt.NDArray[np.int64]
LogProbabilities = npt.NDArray[np.float32]


class StepFunction(Protocol):
    """Gives the next token's log-probabilities for every row, a row being one hypothesis.

    The first call has one row per sentence and `parents` None. Afterwards row i continues row
    `parents[i]` of the call before (None: every row continues itself). The rows of a sentence stand
    side by side and sentences keep their order; one whose rows nobody continues has left for good.
    """

    def __call__(self, ids: Ids, parents: Rows | None) -> LogProbabilities:
        """Returns float32 `(rows, vocabulary)` in nats for the last tokens `ids` `(rows,)`."""
        ...


@dataclasses.dataclass(frozen=True, kw_only=True)
class SearchOptions:
    """How the search runs; the same names and meaning as on the Keras side.

    Args:
        beam_size: Hypotheses kept per sentence; 1 is greedy search.
        length_penalty: Exponent of ((5 + length) / 6), by which a hypothesis's log-probability is
            divided (Wu et al. 2016, eq. 14); length counts generated tokens, eos included.
        num_hypotheses: Hypotheses returned per sentence, at most `beam_size`.
        max_length: Most tokens generated, eos included.

    Raises:
        ValueError: A value is out of range; the message names it.
        TypeError: A value is of the wrong type.
    """

    beam_size: int = 1
    length_penalty: float = 0.6
    num_hypotheses: int = 1
    max_length: int = 256

    def __post_init__(self) -> None:
        for name in ("beam_size", "num_hypotheses", "max_length"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | np.integer):
                raise TypeError(f"{name} must be an integer, got {value!r}.")
            if value < 1:
                raise ValueError(f"{name} must be at least 1, got {value}.")
        penalty = self.length_penalty
        if isinstance(penalty, bool) or not isinstance(penalty, int | float | np.floating):
            raise TypeError(f"length_penalty must be a number, got {penalty!r}.")
        if not (math.isfinite(penalty) and penalty >= 0):
            raise ValueError(f"length_penalty must be finite and at least 0, got {penalty}.")
        if self.num_hypotheses > self.beam_size:
            raise ValueError(
                f"num_hypotheses ({self.num_hypotheses}) must be at most beam_size "
                f"({self.beam_size}): raise beam_size."
            )


class Candidate(NamedTuple):
    """One finished token sequence.

    Attributes:
        ids: Generated ids without bos and eos.
        score: `log_probability` divided by the length penalty; higher is better.
        log_probability: Sum over the generated tokens, eos included, in nats.
    """

    ids: list[int]
    score: float
    log_probability: float


def length_penalty(length: int, exponent: float) -> np.float32:
    """Returns ((5 + length) / 6) ** exponent (Wu et al. 2016, eq. 14)."""
    return np.float32(((5.0 + length) / 6.0) ** exponent)


def beam_search(
    step: StepFunction,
    num_sentences: int,
    options: SearchOptions,
    special_ids: Mapping[str, int],
) -> list[list[Candidate]]:
    """Searches for the most probable token sequences.

    Args:
        step: Gives log-probabilities; called once per generated token.
        num_sentences: Sentences behind the step's first call.
        options: Beam size, length penalty, number of results and greatest length.
        special_ids: Ids of "pad", "bos" and "eos"; pad and bos are never generated.

    Returns:
        For each sentence up to `num_hypotheses` candidates, best first. There are fewer only where
        fewer sequences are possible at all.
    """
    if num_sentences == 0:
        return []
    beams = _Beams(num_sentences, options, special_ids)
    parents: Rows | None = None
    ids = np.full(num_sentences, special_ids["bos"], np.int32)
    for length in range(1, options.max_length + 1):
        log_probs = step(ids, parents)
        beams.extend(log_probs, length)
        ids, parents = beams.leave_finished()
        if not ids.size:
            break
    return beams.results()


class _Beams:
    """The alive hypotheses of the unfinished sentences, and the finished ones of all.

    A is the number of unfinished sentences, W the beams held of each: 1 before the first token,
    then `beam_size`.
    """

    def __init__(
        self, num_sentences: int, options: SearchOptions, special_ids: Mapping[str, int]
    ) -> None:
        self._options = options
        self._eos = special_ids["eos"]
        self._never = [special_ids["pad"], special_ids["bos"]]
        self._sentences = np.arange(num_sentences)  # [A], which sentences these are
        self._log_probs = np.zeros((num_sentences, 1), np.float32)  # [A, W]
        self._ids = np.zeros((num_sentences, 1, 0), np.int32)  # [A, W, length]
        self._parents = np.zeros((num_sentences, 1), np.int64)  # [A, W], beams of the last step
        self._parent_beams = 1
        self._done = np.zeros(num_sentences, bool)
        self._finished: list[list[Candidate]] = [[] for _ in range(num_sentences)]

    def extend(self, log_probs: LogProbabilities, length: int) -> None:
        """Adds one token to every hypothesis; `length` counts the tokens with this one."""
        size = self._options.beam_size
        active, beams = self._log_probs.shape
        totals = log_probs.reshape(active, beams, -1) + self._log_probs[:, :, None]
        totals[:, :, self._never] = -np.inf
        vocabulary = totals.shape[2]
        values, places = top_candidates(totals.reshape(active, -1), 2 * size)  # [A, 2 * size]
        tokens = (places % vocabulary).astype(np.int32)
        parents = places // vocabulary
        ends = tokens == self._eos
        penalty = length_penalty(length, self._options.length_penalty)
        # Impossible continuations stand in only where the vocabulary is smaller than the beam.
        ranks_that_end = (ends & np.isfinite(values))[:, :size]
        for row, rank in zip(*np.nonzero(ranks_that_end), strict=True):
            self._finish(row, self._ids[row, parents[row, rank]], values[row, rank], penalty)
        # A stable sort of "ends" puts the others first in their order.
        alive = np.argsort(ends, axis=1, kind="stable")[:, :size]
        self._log_probs = np.take_along_axis(values, alive, 1)
        self._parents, self._parent_beams = np.take_along_axis(parents, alive, 1), beams
        tokens = np.take_along_axis(tokens, alive, 1)
        history = np.take_along_axis(self._ids, self._parents[:, :, None], 1)
        self._ids = np.concatenate([history, tokens[:, :, None]], axis=2)
        if length == self._options.max_length:
            self._cut(penalty)
        self._done = self._find_done(penalty)

    def leave_finished(self) -> tuple[Ids, Rows | None]:
        """Drops finished sentences; returns the step's next ids and parents."""
        first_rows = np.arange(len(self._sentences))[:, None] * self._parent_beams
        rows = self._parents + first_rows
        if self._done.any():
            keep = ~self._done
            self._sentences, self._log_probs = self._sentences[keep], self._log_probs[keep]
            self._ids, rows = self._ids[keep], rows[keep]
        unchanged = np.array_equal(rows.ravel(), np.arange(len(self._done) * self._parent_beams))
        return self._ids[:, :, -1].ravel(), None if unchanged else rows.ravel()

    def results(self) -> list[list[Candidate]]:
        """Returns the best `num_hypotheses` of each sentence, best first."""
        return [found[: self._options.num_hypotheses] for found in self._finished]

    def _cut(self, penalty: np.float32) -> None:
        """Adds the alive hypotheses to the finished ones as they stand, without eos."""
        for row, beam in zip(*np.nonzero(np.isfinite(self._log_probs)), strict=True):
            self._finish(row, self._ids[row, beam], self._log_probs[row, beam], penalty)

    def _finish(self, row: int, ids: Ids, log_prob: np.float32, penalty: np.float32) -> None:
        """Puts a hypothesis among the best finished ones of its sentence; earlier wins a tie."""
        found = self._finished[self._sentences[row]]
        found.append(Candidate(ids.tolist(), float(log_prob / penalty), float(log_prob)))
        found.sort(key=lambda candidate: -candidate.score)
        del found[self._options.beam_size :]

    def _find_done(self, penalty: np.float32) -> npt.NDArray[np.bool_]:
        """Tells which sentences no alive hypothesis can improve: `(A,)`."""
        best_alive = self._log_probs.max(axis=1) / penalty
        worst_finished = np.full(len(best_alive), -np.inf, np.float32)
        for row, sentence in enumerate(self._sentences):
            found: Sequence[Candidate] = self._finished[sentence]
            if len(found) == self._options.beam_size:
                worst_finished[row] = found[-1].score
        return (worst_finished >= best_alive) | np.isneginf(best_alive)
