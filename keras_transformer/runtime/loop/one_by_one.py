"""Greedy search and sampling: one token a row in each step, yielded as it is found."""

import functools
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from keras_transformer.runtime.loop.constraints import SPARE, Constraints
from keras_transformer.runtime.loop.requests import (
    LEAVING_SHARE,
    Best,
    First,
    Ids,
    Rows,
    SearchRequest,
    Steps,
    Values,
    float32_penalty,
    joined,
    lowest,
    rows_of,
    staying,
)
from keras_transformer.runtime.loop.stopping import RowWatches
from keras_transformer.runtime.loop.top_k import top_candidates
from keras_transformer.search.options import Candidate, SearchOptions
from keras_transformer.search.random_numbers import uniforms

# Tokens that there is room for at first: a limit is often far above what is written.
_FIRST_ROOM = 256
# Steps that are made in one run before a stop is looked for: what follows one is wasted.
_STEPS_UNWATCHED = 8


class OneByOne:
    """Decodes one batch; `run` it or iterate once, or `advance` it, and read `results`.

    Rows are sentences, or samples, with the samples of one sentence side by side. Yields, for every
    step, the newest token of each row still in the batch: eos, too, where a row cannot go on as
    nothing is allowed. The rows of one sentence leave together; until they do, rows that have ended
    keep decoding, to no effect.

    Args:
        steps: The decoder, with one row a sentence.
        request: The sentences and the options, of `beam_size` 1.
        streams: Whether each step's tokens are wanted as soon as they are known.
    """

    def __init__(self, steps: Steps, request: SearchRequest, *, streams: bool = False) -> None:
        self._steps = steps
        self._streams = streams
        self._request = request
        # With those whose rows were taken in, whose random numbers are their own.
        self._requests = [request]
        self._options = request.options
        self._constraints = Constraints(request)
        self._eos = request.special_ids.eos
        self._samples = self._options.rows_per_sentence
        rows = len(request.limits) * self._samples
        self._found: list[Candidate | None] = [None] * rows
        # The arrays below have one entry for each row still in the batch, [R].
        self._rows = np.arange(rows)
        self._limits = self._each(np.asarray(request.limits))
        self._next_limit, self._longest = int(self._limits.min()), int(self._limits.max())
        self._prompted = self._each(request.prompted())
        self._tokens = np.zeros((rows, min(_FIRST_ROOM, self._longest)), np.int32)  # [R, room]
        if request.begun:
            self._keep(self._each(request.history()).T, 0)
        unscored = np.float32(0 if request.with_scores else np.nan)
        self._totals = self._each(request.first_totals()) + unscored
        self._done = np.zeros(rows, bool)
        # Whether slots ruled out the best token of the last step, as they then mostly do again.
        self._was_ruled_out = False
        # Random numbers of a row: as many as it may have tokens of its own.
        self._most_drawn = int((self._limits - self._prompted).max())
        self._uniforms: npt.NDArray[np.float64] | None = None
        if self._options.sample:
            self._uniforms = self._draw_uniforms(min(_FIRST_ROOM, self._most_drawn))
        self._watches = None
        if request.stops is not None:
            self._watches = RowWatches(request, request.stops, self._samples)
        if self._samples > 1:
            steps.follow(np.zeros((len(request.limits), self._samples), np.int32))
        self._ids = self._each(request.first_ids())
        self.step = request.begun

    def __iter__(self) -> Iterator[Ids]:
        while self.goes_on:
            yield from self.advance()

    def run(self) -> list[list[Candidate]]:
        """Returns each sentence's candidate or samples, leaving out rows that could not go on."""
        while self.goes_on:
            self.advance()
        return self.results()

    @property
    def goes_on(self) -> bool:
        """Whether any row has not ended."""
        return bool(self._ids.size) and self.step < self._longest

    def advance(self, most: int | None = None) -> list[Ids]:
        """Makes the decoder's next run, of `most` steps at most; returns the tokens of each."""
        ids, step, stopped = self._ids, self.step, False
        said: list[Ids] = []
        if free := self._free_steps(step):
            found = self._steps.several(
                ids, self._most_steps(free, most), self._constraints.last_special
            )
            self._keep(found, step)
            stopped = self._stop(found[:-1], step)
            said += [*found[:-1]]
            step += len(found) - 1
            first = First(found[-1], _unscored(len(ids)))
            ids, values, special = self._allowed(first, step)
        else:
            ids, values, special = self._next(ids, step)
        if special:
            ids = np.where(np.isneginf(values), np.int32(self._eos), ids)
        self._keep(ids[None], step)
        if self._request.with_scores:
            self._totals += values
        stopped |= self._stop(ids[None], step)
        self.step = step + 1
        self._ids = ids
        if special or stopped or self.step >= self._next_limit:
            self._finish(ids, values, self.step)
            self._ids = self._leave(ids)
        return [*said, ids]

    def results(self) -> list[list[Candidate]]:
        """Returns what `run` does, once all steps are made."""
        rows = range(0, len(self._found), self._samples)
        found = [self._found[row : row + self._samples] for row in rows]
        return [[one for one in sentence if one is not None] for sentence in found]

    def tokens_of(self, sentence: int) -> list[int]:
        """Returns a sentence's tokens behind its prompt so far, without eos; of one row each."""
        found = self._found[sentence]
        if found is not None:
            return list(found.ids)
        rows = np.flatnonzero((self._rows == sentence) & ~self._done)
        return [
            token
            for row in rows
            for token in self._tokens[row, self._prompted[row] : self.step].tolist()
        ]

    def is_found(self, sentences: range) -> bool:
        """Tells whether all rows of some sentences have ended."""
        if not self.goes_on:
            return True
        open_rows = self._rows[~self._done] // self._samples
        return not ((open_rows >= sentences.start) & (open_rows < sentences.stop)).any()

    def drop(self, sentences: range) -> None:
        """Ends the rows of some sentences, of which no results are wanted."""
        own = self._rows // self._samples
        self._done |= (own >= sentences.start) & (own < sentences.stop)
        self._ids = self._leave(self._ids)

    def take_in(self, other: "OneByOne") -> None:
        """Goes on with the sentences of another search, too, which come behind its own.

        Args:
            other: A search with as many tokens, of equal options but for limits, seeds and stops;
                it has made a step, and makes no other.
        """
        self._steps.join(other._steps)
        self._requests += other._requests
        self._request = joined(self._request, other._request)
        self._constraints = Constraints(self._request)
        self._rows = np.concatenate([self._rows, other._rows + len(self._found)])
        self._found += other._found
        for name in ("_ids", "_limits", "_prompted", "_totals", "_done"):
            setattr(self, name, np.concatenate([getattr(self, name), getattr(other, name)]))
        self._tokens = np.concatenate([self._tokens[:, : self.step], other._tokens[:, : self.step]])
        self._longest = max(self._longest, other._longest)
        self._next_limit = int(self._limits[~self._done].min(initial=self._longest))
        self._was_ruled_out |= other._was_ruled_out
        self._streams |= other._streams
        self._most_drawn = max(self._most_drawn, other._most_drawn)
        if self._uniforms is not None and other._uniforms is not None:
            length = max(self._uniforms.shape[1], other._uniforms.shape[1])
            self._uniforms = self._draw_uniforms(min(length, self._most_drawn))
        if self._watches is not None and other._watches is not None:
            self._watches.join(other._watches)

    def _most_steps(self, free: int, most: int | None) -> int:
        """Returns how many steps the next run may make of those that need no look."""
        if self._streams:
            return 1
        found = min(free, self._next_limit - self.step, most or free)
        return max(1, found if self._watches is None else min(found, _STEPS_UNWATCHED))

    def _each(self, values: npt.NDArray) -> npt.NDArray:
        """Repeats what there is of each sentence for all of its rows."""
        return values if self._samples == 1 else np.repeat(values, self._samples, axis=0)

    def _keep(self, tokens: Ids, step: int) -> None:
        """Keeps the tokens of some steps from this one on, `(steps, rows)`."""
        end = step + len(tokens)
        if end > self._tokens.shape[1]:
            more = min(2 * end, self._longest) - self._tokens.shape[1]
            self._tokens = np.pad(self._tokens, ((0, 0), (0, more)))
        self._tokens[:, step:end] = tokens.T

    def _free_steps(self, step: int) -> int:
        """Returns how many steps from this one on mostly need nothing but the best tokens."""
        scored = self._request.with_scores or self._options.sample
        return 0 if scored or self._was_ruled_out else self._constraints.free_steps(step)

    def _next(self, ids: Ids, step: int) -> tuple[Ids, Values, bool]:
        """Returns the next token of each row, its value, and whether any may be special."""
        if not self._options.sample and self._constraints.reads_prompts(step):
            return *self._read_prompts(ids, step), True
        if self._options.sample or self._constraints.need_logits(step):
            return *self._draw_or_constrain(ids, step), True
        if self._was_ruled_out:
            logits = self._steps.logits(ids)
            self._was_ruled_out = self._slots_forbid(logits.argmax(axis=1), step)
            return *self._choose(*self._from_logits(logits, step), step), True
        return self._allowed(self._steps.first(ids), step)

    def _allowed(self, first: First, step: int) -> tuple[Ids, Values, bool]:
        """Does as `_next`, given the most probable tokens."""
        if lowest(first.ids) > self._constraints.last_special:
            return *first, False
        self._was_ruled_out = self._slots_forbid(first.ids, step)
        if self._was_ruled_out or self._constraints.forbids(first.ids, step):
            return *self._choose(*self._from_logits(self._logits_again(step), step), step), True
        return *first, True

    def _slots_forbid(self, ids: Ids, step: int) -> bool:
        history = self._tokens[:, :step]
        return self._constraints.slots.forbids(ids, history, self._rows // self._samples)

    def _logits_again(self, step: int) -> Values:
        begins = step == self._request.begun
        ids = self._each(self._request.first_ids()) if begins else self._tokens[:, step - 1]
        return self._steps.logits_again(ids)

    def _read_prompts(self, ids: Ids, step: int) -> tuple[Ids, Values]:
        """Does as `_next` where some rows still read their prompt, in greedy search."""
        first = self._steps.first(ids)
        prompt = self._constraints.prompt_tokens(step, self._rows)
        reading = prompt >= 0
        # A free row may not end yet, or meets what it never may: all logits are needed then.
        if lowest(np.where(reading, self._constraints.last_special + 1, first.ids)) <= (
            self._constraints.last_special
        ):
            return self._choose(*self._from_logits(self._logits_again(step), step), step)
        return np.where(reading, prompt, first.ids), np.where(reading, np.float32(0), first.values)

    def _draw_or_constrain(self, ids: Ids, step: int) -> tuple[Ids, Values]:
        """Does as `_next`, for sampling and for constraints that need every logit."""
        count = self._options.top_k
        if not count or self._samples > 1 or self._constraints.need_logits(step):
            return self._choose(*self._from_logits(self._steps.logits(ids), step), step)
        best = self._steps.best(ids, count + SPARE, np.zeros((len(ids), 1), np.float32))
        return self._choose(*self._without_struck(best, step), step)

    def _without_struck(self, best: Best, step: int) -> tuple[Ids, Values]:
        """Strikes what is forbidden and moves it to the end."""
        self._constraints.strike(best, step)
        order = np.argsort(np.isneginf(best.values), axis=1, kind="stable")
        return np.take_along_axis(best.ids, order, 1), np.take_along_axis(best.values, order, 1)

    def _from_logits(self, logits: Values, step: int) -> tuple[Ids, Values]:
        """Returns tokens and log-probabilities to choose among, best first, `(rows, count)`."""
        history = self._tokens[:, :step]
        log_probs = self._constraints.apply(logits, history, self._rows // self._samples)
        count = (self._options.top_k if self._options.sample else 1) or log_probs.shape[1]
        values, places = top_candidates(log_probs, count)
        return places.astype(np.int32), values

    def _choose(self, tokens: Ids, values: Values, step: int) -> tuple[Ids, Values]:
        rows = np.arange(len(tokens))
        if self._uniforms is None:
            chosen = values.argmax(axis=1)
        else:
            # While a prompt is forced, any number will do; a row that has ended takes its last.
            numbers = np.clip(step - self._prompted, 0, self._most_drawn - 1)
            if numbers.max() >= self._uniforms.shape[1]:
                self._uniforms = self._draw_uniforms(min(2 * step, self._most_drawn))
            chosen = draw(values, self._options, self._uniforms[self._rows, numbers])
        return tokens[rows, chosen], values[rows, chosen]

    def _finish(self, ids: Ids, values: Values, length: int) -> None:
        """Puts the candidates of the rows that end here among the results."""
        stuck = np.isneginf(values)
        ends = ((ids == self._eos) | stuck | (self._limits == length)) & ~self._done
        for row in np.flatnonzero(ends & ~stuck).tolist():
            self._end(row, length, int(ids[row] == self._eos))
        self._done |= ends

    def _end(self, row: int, length: int, without_text: int = 0) -> None:
        """Puts a row's candidate of `length` tokens among the results, less the last ones' text."""
        begin = int(self._prompted[row])
        tokens = self._tokens[row, begin : length - without_text].tolist()
        total = score = float(self._totals[row])
        if self._request.with_scores:
            penalty = float32_penalty(float(length - begin), self._options)
            score = float(self._totals[row] / penalty)
        self._found[self._rows[row]] = Candidate(tokens, score, total)

    def _stop(self, found: Ids, step: int) -> bool:
        """Ends the rows that a stop ends in the steps from this one on; returns whether any is."""
        if self._watches is None:
            return False
        ends = self._watches.ends(found, step, self._done, self._eos)
        for row, length in ends:
            self._end(row, length)
            self._done[row] = True
        return bool(ends)

    def _leave(self, ids: Ids) -> Ids:
        """Drops sentences whose rows are all done from the batch, once there are enough of them."""
        done = np.asarray(self._done.reshape(-1, self._samples).all(axis=1))
        if done.all():
            return ids[:0]
        kept = staying(done)
        if kept.size > (1 - LEAVING_SHARE) * done.size:
            return ids
        self._steps.keep(kept)
        rows = rows_of(kept, self._samples)
        self._rows, self._limits, self._totals = (
            self._rows[rows],
            self._limits[rows],
            self._totals[rows],
        )
        self._tokens, self._done = self._tokens[rows], self._done[rows]
        self._prompted = self._prompted[rows]
        if self._watches is not None:
            self._watches.keep(rows)
        self._next_limit = int(self._limits[~self._done].min())
        return ids[rows]

    def _draw_uniforms(self, length: int) -> npt.NDArray[np.float64]:
        """Returns the first random numbers of each row; more of them begin with the same."""
        return np.stack(
            [
                uniforms(request.seed, request.options.first_place + place, rank, length)
                for request in self._requests
                for place in request.places or range(len(request.limits))
                for rank in range(self._samples)
            ]
        )


def draw(log_probs: Values, options: SearchOptions, uniform: npt.NDArray[np.float64]) -> Rows:
    """Draws a rank for each row by inverting its cumulative distribution.

    Args:
        log_probs: `(rows, count)`, best first; -inf for forbidden candidates.
        options: `temperature`, `top_k` and `top_p`.
        uniform: Numbers in [0, 1), `(rows,)`.

    Returns:
        Ranks `(rows,)`; 0 if everything is forbidden.
    """
    values = log_probs[:, : options.top_k or None].astype(np.float64)
    best = values[:, :1]
    # Of a tiny temperature all but the best become -inf.
    with np.errstate(invalid="ignore", over="ignore"):
        weights = np.exp((values - best) / options.temperature)
    weights = np.where(np.isfinite(values), weights, 0.0)
    reached = np.cumsum(weights, axis=1)
    # The fewest that reach top_p: a candidate is kept if those before it do not reach it yet.
    kept = reached - weights < options.top_p * reached[:, -1:]
    total = np.max(np.where(kept, reached, 0.0), axis=1, keepdims=True)
    return np.argmax(reached > uniform[:, None] * total, axis=1)


@functools.lru_cache(maxsize=64)
def _unscored(rows: int) -> Values:
    """Returns what stands for the log-probabilities of rows without scores."""
    return np.zeros(rows, np.float32)
