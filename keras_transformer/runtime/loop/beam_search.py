"""Beam search in numpy. It keeps the best open hypotheses of every sentence and sets aside those
that end; with one beam it is greedy search.
"""

import numpy as np
import numpy.typing as npt

from keras_transformer.runtime.loop.constraints import SPARE, Constraints
from keras_transformer.runtime.loop.requests import (
    LEAVING_SHARE,
    Ahead,
    Best,
    Ids,
    SearchRequest,
    Steps,
    Values,
    float32_penalty,
    joined,
    lowest,
    staying,
    take_beams,
)
from keras_transformer.runtime.loop.stopping import BeamWatches
from keras_transformer.runtime.loop.top_k import top_candidates
from keras_transformer.search.options import Candidate


class BeamSearch:
    """Searches one batch; `run` it once, or `advance` while it `goes_on`, and read `results`.

    S is the number of sentences still in the batch, W the beams of each: `request.beams` before the
    first token, then `request.open_hypotheses`.

    Args:
        steps: The decoder, with one row a sentence.
        request: The sentences and the options.
    """

    def __init__(self, steps: Steps, request: SearchRequest) -> None:
        self._steps = steps
        self._request = request
        self._options = request.options
        # W once there is a token.
        self._size = request.open_hypotheses
        self._constraints = Constraints(request)
        self._eos = request.special_ids.eos
        self._limits = np.asarray(request.limits)
        count = len(self._limits)
        self._sentences = np.arange(count)  # [S]
        # All beams but the first are impossible before the first token. [S, W]
        self._totals = np.full((count, request.beams), -np.inf, np.float32)
        self._totals[:, 0] = request.first_totals()
        self._prompted = request.prompted()
        self._longest = int(self._limits.max())
        self._ids = request.first_ids()[:, None].repeat(request.beams, axis=1)  # [S, W]
        # For each step so far, [S, W]: the hypotheses' tokens, and the beams that they continued.
        self._said: list[Ids] = []
        self._continued: list[Ids] = []
        # What the hypotheses began with, and their tokens when these were last asked for:
        # [S, W, begun] and [S, W, step].
        self._read = request.history()[:, None, :].repeat(request.beams, axis=1)
        self._history = self._read
        self._done = np.zeros(count, bool)  # [S]
        self._next_limit = int(self._limits.min())
        self._finished: list[list[Candidate]] = [[] for _ in range(count)]
        self._watches = None
        if request.stops is not None:
            self._watches = BeamWatches(request, request.stops)

    def run(self) -> list[list[Candidate]]:
        """Returns up to `num_hypotheses` candidates of each sentence, best first."""
        while self.goes_on:
            self.advance()
        return self.results()

    @property
    def step(self) -> int:
        """Tokens that each hypothesis has so far."""
        return self._read.shape[2] + len(self._said)

    @property
    def goes_on(self) -> bool:
        """Whether any sentence is not done."""
        return self.step < self._longest and not self._done.all()

    def advance(self, most: int | None = None) -> None:
        """Makes the next run of the decoder, of `most` steps at most."""
        totals, tokens, parents, may_end = self._continuations(most)
        length = self.step + 1
        if may_end:
            totals, tokens, parents = self._sort_out(totals, tokens, parents, length)
        # The decoder overwrites what it returned, also where its logits are asked for again.
        self._extend(totals.copy(), tokens.copy(), parents.copy())
        left = len(self._done)
        if may_end or length >= self._next_limit:
            self._settle(length)
        if self._watches is not None:
            self._stop(self._watches, length)
        if may_end or self._watches is not None or length >= self._next_limit:
            left = int(np.count_nonzero(~self._done))
            if not left:
                return
        self._steps.follow(self._continued[-1])
        if left <= (1 - LEAVING_SHARE) * len(self._done):
            self._leave()

    def results(self) -> list[list[Candidate]]:
        """Returns what `run` does, once all steps are made."""
        return [found[: self._options.num_hypotheses] for found in self._finished]

    def tokens_of(self, sentence: int) -> list[int]:
        """Says that beams have no tokens that are certain."""
        return []

    def is_found(self, sentences: range) -> bool:
        """Tells whether some sentences are done."""
        if not self.goes_on:
            return True
        left = self._sentences[~self._done]
        return not ((left >= sentences.start) & (left < sentences.stop)).any()

    def drop(self, sentences: range) -> None:
        """Ends some sentences, of which no results are wanted."""
        self._done |= (self._sentences >= sentences.start) & (self._sentences < sentences.stop)
        if self.goes_on:
            self._leave()

    def take_in(self, other: "BeamSearch") -> None:
        """Goes on with the sentences of another search, too, which come behind its own.

        Args:
            other: A search with as many tokens, of equal options but for limits and stops; it has
                made a step, and makes no other.
        """
        self._steps.join(other._steps)
        self._request = joined(self._request, other._request)
        self._constraints = Constraints(self._request)
        self._sentences = np.concatenate([self._sentences, other._sentences + len(self._finished)])
        self._finished += other._finished
        self._history = self._read = np.concatenate([self._histories(), other._histories()])
        self._said, self._continued = [], []
        for name in ("_ids", "_limits", "_prompted", "_totals", "_done"):
            setattr(self, name, np.concatenate([getattr(self, name), getattr(other, name)]))
        self._longest = max(self._longest, other._longest)
        self._next_limit = min(self._next_limit, other._next_limit)
        if self._watches is not None and other._watches is not None:
            self._watches.join(other._watches)

    def _continuations(self, most_steps: int | None = None) -> tuple[Values, Ids, Ids, bool]:
        """Returns the best continuations, and whether one of them may be an end.

        These are totals, tokens and parent beams, each `(S, count)`.
        """
        if self._constraints.need_logits(self.step):
            return *self._from_logits(self._steps.logits(self._ids.ravel())), True
        return self._allowed(self._best(2 * self._size + SPARE, most_steps))

    def _allowed(self, best: Best) -> tuple[Values, Ids, Ids, bool]:
        """Does as `_continuations`, given the best of all tokens."""
        step = self.step
        if lowest(best.ids) > self._constraints.last_special:
            return best.values, best.ids, best.beams, False
        forbids = self._constraints.forbids(best.ids, step)
        if forbids:
            self._constraints.strike(best, step)
        slots = self._constraints.slots
        if slots.last >= 0 and not slots.strike(best, self._histories(), self._sentences):
            return *self._from_logits(self._steps.logits_again(self._ids.ravel())), True
        if forbids or slots.last >= 0:
            struck = np.isneginf(best.values)
            if struck.sum(axis=1).max() > SPARE + self._size * (
                not self._constraints.may_end(step)
            ):
                return *self._from_logits(self._steps.logits_again(self._ids.ravel())), True
            order = np.argsort(struck, axis=1, kind="stable")
            best = Best(
                ids=np.take_along_axis(best.ids, order, 1),
                values=np.take_along_axis(best.values, order, 1),
                beams=np.take_along_axis(best.beams, order, 1),
            )
        return best.values, best.ids, best.beams, True

    def _best(self, count: int, most: int | None) -> Best:
        """Returns the candidates of the next step, or of a later one, up to which it goes on."""
        ids, size = self._ids.ravel(), self._size
        free = self._constraints.free_steps(self.step)
        if not free or self._totals.shape[1] != size:
            return self._steps.best(ids, count, self._totals)
        ahead = self._ahead(min(free, most or free))
        found = self._steps.several_best(ids, count, self._totals, ahead)
        before = Best(found.ids[:-1], found.values[:-1], found.beams[:-1])
        if len(before.ids):
            begun = len(self._said)
            self._said.extend(before.ids[:, :, :size])
            self._continued.extend(before.beams[:, :, :size])
            self._ids, self._totals = self._said[-1], before.values[-1, :, :size]
            self._finish_ended(before, begun)
        return Best(found.ids[-1], found.values[-1], found.beams[-1])

    def _finish_ended(self, before: Best, begun: int) -> None:
        """Finishes what ended in steps that were made without a look, the first after `begun`.

        It stands behind what went on.
        """
        size = self._size
        ended = before.ids[:, :, size:] == self._eos
        for step, row, rank in zip(*ended.nonzero(), strict=True):
            if not self._done[row]:
                place, held = (step, row, size + rank), begun + int(step)
                ids = self._tokens_of(row, before.beams[place], held)
                self._finish(row, ids, before.values[place], self._read.shape[2] + held + 1)

    def _ahead(self, free: int) -> Ahead:
        """Returns how far the decoder may go on: until a sentence may be done, or so many steps."""
        open_sentences = self._sentences[~self._done].tolist()
        most_ended = max(len(self._finished[sentence]) for sentence in open_sentences)
        ending = self._options.beam_size - most_ended
        most = max(1, min(free, self._next_limit - self.step))
        return Ahead(
            most=1 if self._watches is not None else most,
            last_special=self._constraints.last_special,
            # An end may come too early for its slots.
            end=self._eos if ending > 0 and not self._constraints.slots.is_asked else -1,
            first_end=self._constraints.last_end,
            ending=ending,
        )

    def _from_logits(self, logits: Values) -> tuple[Values, Ids, Ids]:
        """As `_continuations`, under constraints that concern every token."""
        totals = self._constrained(logits)
        sentences = len(totals)
        values, places = top_candidates(totals.reshape(sentences, -1), 2 * self._size)
        vocabulary = logits.shape[1]
        return (
            values,
            (places % vocabulary).astype(np.int32),
            (places // vocabulary).astype(np.int32),
        )

    def _constrained(self, logits: Values) -> Values:
        """Returns the totals behind each token: `(S, W, vocabulary)`."""
        sentences, beams = self._totals.shape
        history = self._histories().reshape(sentences * beams, self.step)
        log_probs = self._constraints.apply(logits, history, np.repeat(self._sentences, beams))
        return log_probs.reshape(sentences, beams, -1) + self._totals[:, :, None]

    def _sort_out(
        self, totals: Values, tokens: Ids, parents: Ids, length: int
    ) -> tuple[Values, Ids, Ids]:
        """Finishes what ends among the best W; returns the best W of the 2 W that do not end."""
        size = self._size
        totals, tokens, parents = (
            totals[:, : 2 * size],
            tokens[:, : 2 * size],
            parents[:, : 2 * size],
        )
        ends = tokens == self._eos
        ending = ends[:, :size]
        if not ending.any():
            return totals[:, :size], tokens[:, :size], parents[:, :size]
        finishing = ending & np.isfinite(totals[:, :size]) & ~self._done[:, None]
        for row, rank in zip(*finishing.nonzero(), strict=True):
            ids = self._tokens_of(row, parents[row, rank], len(self._said))
            self._finish(row, ids, totals[row, rank], length)
        order = ends.argsort(axis=1, kind="stable")[:, :size]
        totals = np.where(ends, np.float32(-np.inf), totals)
        return take_beams(totals, order), take_beams(tokens, order), take_beams(parents, order)

    def _extend(self, totals: Values, tokens: Ids, parents: Ids) -> None:
        """Adds a token to each of the hypotheses that go on: the first W."""
        size = self._size
        self._totals = _fill(totals, size, -np.inf)
        self._ids = _fill(tokens, size, 0)
        self._said.append(self._ids)
        self._continued.append(_fill(parents, size, 0))

    def _tokens_of(self, row: int, beam: int, held: int) -> list[int]:
        """Returns a hypothesis's tokens after `held` steps, without its prompt."""
        tokens = []
        for step in range(held - 1, -1, -1):
            tokens.append(int(self._said[step][row, beam]))
            beam = self._continued[step][row, beam]
        prompted = self._prompted[self._sentences[row]]
        return [*self._read[row, beam].tolist(), *reversed(tokens)][prompted:]

    def _histories(self) -> Ids:
        """Returns every hypothesis's tokens, `(S, W, step)`, extending those returned last time."""
        for step in range(self._history.shape[2] - self._read.shape[2], len(self._said)):
            past = take_beams(self._history, self._continued[step])
            self._history = np.concatenate([past, self._said[step][:, :, None]], axis=2)
        return self._history

    def _settle(self, length: int) -> None:
        """Finds out which sentences are done now that hypotheses have `length` tokens."""
        if length >= self._next_limit:
            at_limit = self._limits[self._sentences] == length
            self._cut((at_limit & ~self._done)[:, None], length)
            self._done |= at_limit
        self._done |= self._is_done(length)

    def _stop(self, watches: BeamWatches, length: int) -> None:
        """Finishes the open hypotheses that a stop ends; their places stay empty for a step."""
        is_open = np.isfinite(self._totals) & ~self._done[:, None]
        ended = watches.ended(self._ids, self._continued[-1], is_open, length)
        if ended.any():
            self._cut(ended, length)
            self._totals = np.where(ended, np.float32(-np.inf), self._totals)
            self._done |= self._is_done(length)

    def _cut(self, cut: npt.NDArray[np.bool_], length: int) -> None:
        """Finishes open hypotheses without eos.

        Args:
            cut: Which of them: `(S, W)`, or of which sentences all: `(S, 1)`.
            length: Their tokens.
        """
        for row, beam in zip(*np.nonzero(np.isfinite(self._totals) & cut), strict=True):
            ids = self._tokens_of(row, beam, len(self._said))
            self._finish(row, ids, self._totals[row, beam], length)

    def _finish(self, row: int, ids: list[int], total: np.float32, length: int) -> None:
        """Adds a hypothesis to its sentence's best finished ones; the earlier one wins a tie."""
        sentence = self._sentences[row]
        found = self._finished[sentence]
        counted = float(length - self._prompted[sentence])
        score = total / float32_penalty(counted, self._options)
        found.append(Candidate(ids, float(score), float(total)))
        found.sort(key=lambda candidate: -candidate.score)
        del found[self._options.beam_size :]

    def _is_done(self, length: int) -> npt.NDArray[np.bool_]:
        """Tells which sentences early stopping ends now: `(S,)`."""
        size, kind = self._options.beam_size, self._options.early_stopping
        best = self._totals.max(axis=1)
        full = np.array([len(self._finished[sentence]) == size for sentence in self._sentences])
        if kind != "first":
            worst = np.array(
                [
                    self._finished[sentence][-1].score if is_full else -np.inf
                    for sentence, is_full in zip(self._sentences, full, strict=True)
                ],
                np.float32,
            )
            at = self._limits[self._sentences] if kind == "exact" else length
            counted = np.maximum(at - self._prompted[self._sentences], 1)
            penalty = float32_penalty(counted.astype(np.float64), self._options)
            full &= worst >= best / penalty
        return full | np.isneginf(best)

    def _leave(self) -> None:
        """Takes finished sentences out of the batch."""
        kept = staying(self._done)
        self._steps.keep(kept)
        self._sentences, self._done = self._sentences[kept], self._done[kept]
        self._totals, self._ids = self._totals[kept], self._ids[kept]
        self._said = [tokens[kept] for tokens in self._said]
        self._continued = [parents[kept] for parents in self._continued]
        self._read, self._history = self._read[kept], self._history[kept]
        if self._watches is not None:
            self._watches.keep(kept)
        self._next_limit = int(self._limits[self._sentences].min())


def _fill(values: npt.NDArray, size: int, filler: float) -> npt.NDArray:
    """Widens `(S, count)` to `(S, size)` if a vocabulary offers fewer continuations."""
    missing = size - values.shape[1]
    if missing <= 0:
        return values[:, :size]
    return np.pad(values, ((0, 0), (0, missing)), constant_values=filler)
