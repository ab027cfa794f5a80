"""The interface of the searches: `DecodedRows` of a call, the `SearchRequest` of a batch, and the
decoder as `Steps`.

A search knows nothing of models, graphs or caches.
"""

import dataclasses
import functools
from collections.abc import Collection, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from keras_transformer.config.special_ids import SpecialIds
from keras_transformer.runtime.loop.batches import IdRows, plan_by_prefix
from keras_transformer.search.grammars import GrammarState
from keras_transformer.search.options import SearchOptions, length_penalty
from keras_transformer.search.phrases import Phrases, open_hypotheses
from keras_transformer.search.stops import Stops

Ids = npt.NDArray[np.int32]
Rows = npt.NDArray[np.int64]
Values = npt.NDArray[np.float32]

# Most tokens by which the prefixes in a batch differ: each costs its batch a step.
_PREFIX_SPREAD = 8


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
        ids: `(rows,)`; the lowest id wins a tie.
        values: Their log-probabilities, or zeros if scores are not wanted.
    """

    ids: Ids
    values: Values


class Ahead(NamedTuple):
    """How many steps beam search may make before the caller looks at the results.

    Attributes:
        most: How many steps to make at most.
        last_special: The run ends with a step that finds this id or a lower one, but for `end`.
        end: The id that ends a hypothesis; -1 if the caller must look at it, too.
        first_end: Tokens that hypotheses have before `end` may be chosen.
        ending: The run ends with the step in which that many hypotheses of a sentence have ended.
    """

    most: int
    last_special: int
    end: int
    first_end: int
    ending: int


class Steps(Protocol):
    """A batch of sentences being decoded step by step, the rows of a sentence side by side.

    It starts with `SearchRequest.beams` rows a sentence. `first`, `best` and `logits` each take the
    newest token of every row and make one step; `several` and `several_best` make one or more. A
    search that calls `first` or `several` keeps one row a sentence and calls none of the `best`.
    """

    def first(self, ids: Ids) -> First:
        """Returns the most probable next token of each row."""
        ...

    def several(self, ids: Ids, most: int, last_special: int) -> Ids:
        """Makes steps as `first`, without scores, each with the tokens that the one before found.

        Args:
            ids: The newest token of each row, `(rows,)`.
            most: How many steps to make at most.
            last_special: The steps end with one that finds this id or a lower one.

        Returns:
            The tokens of each step made, one at least: `(steps, rows)`.
        """
        ...

    def best(self, ids: Ids, count: int, totals: Values) -> Best:
        """Returns the `count` best continuations of each sentence, or as many as there are.

        Among equal values the lowest beam comes first, and within a beam the lowest id.

        Args:
            ids: The newest token of each row, `(rows,)`.
            count: How many to return.
            totals: Log-probability of each beam `(sentences, beams)`.
        """
        ...

    def several_best(self, ids: Ids, count: int, totals: Values, ahead: Ahead) -> Best:
        """Makes steps as `best`, each of which continues the best of the one before but for ends.

        Args:
            ids: The newest token of each row, `(rows,)`.
            count: How many to return.
            totals: Log-probability of each beam `(sentences, beams)`; there are as many beams in
                each step.
            ahead: When to stop.

        Returns:
            What `best` returns of each step made, one at least: `(steps, sentences, count)`. All
            but the last have been followed: what went on stands first there, then `end` for each
            hypothesis that ended, and -1 fills up.
        """
        ...

    def logits(self, ids: Ids) -> Values:
        """Returns all logits `(rows, vocabulary)`, writable until the next call."""
        ...

    def logits_again(self, ids: Ids) -> Values:
        """Returns all logits of the step that was made last, which took these tokens."""
        ...

    def follow(self, parents: Ids) -> None:
        """Makes beam w of sentence s continue beam `parents[s, w]`; may change their number."""
        ...

    def keep(self, sentences: Rows) -> None:
        """Drops all sentences but these, given by current place, and puts them in this order."""
        ...

    def join(self, other: Any) -> None:
        """Takes the sentences of another batch of the same decoder and as many steps, whose rows
        come behind its own.
        """
        ...


def take_beams(table: npt.NDArray, parents: Ids | Rows) -> npt.NDArray:
    """Returns `table[s, parents[s, w]]` for every sentence s and beam w: `(S, W, …)`.

    The table `(S, beams, …)` may have another number of beams, as before the first token.
    """
    sentences, beams, *rest = table.shape
    # Three times as fast as indexing with one array for each axis.
    flat = table.reshape(sentences * beams, *rest)
    return flat.take(parents + _first_rows(sentences, beams), axis=0)


@functools.lru_cache(maxsize=64)
def _first_rows(sentences: int, beams: int) -> Rows:
    return np.arange(0, sentences * beams, beams)[:, None]


def lowest(ids: Ids) -> int:
    """Returns the lowest of the ids; much faster than numpy for a few of them."""
    return min(ids.ravel().tolist()) if ids.size <= _FEW_IDS else int(ids.min())


def staying(done: npt.NDArray[np.bool_]) -> Rows:
    """Returns the places of the unfinished sentences, in the order that moves the fewest of them.

    All keep their place, except that the last ones fill the places of those that leave.
    """
    kept = np.flatnonzero(~done)
    order = np.arange(len(kept))
    order[done[: len(kept)]] = kept[kept >= len(kept)]
    return order


def rows_of(sentences: Rows, each: int) -> Rows:
    """Returns the rows of these sentences, each of which has `each` rows side by side."""
    return (sentences[:, None] * each + np.arange(each)).ravel()


def keep_rows(arrays: Collection[npt.NDArray], kept: Rows) -> list[npt.NDArray]:
    """Returns `array[kept]` of each, made in place: only rows whose place changes are copied."""
    moved = np.flatnonzero(kept != np.arange(len(kept)))
    origin = kept[moved]
    for array in arrays:
        array[moved] = array[origin]
    return [array[: len(kept)] for array in arrays]


_FEW_IDS = 64
_LEAST_PREFILL = 2
# Finished sentences leave the batch when they make up this share of it: moving the caches of the
# others costs about as much as a few decode steps.
LEAVING_SHARE = 0.25


@dataclasses.dataclass(frozen=True, kw_only=True)
class DecodedRows:
    """Checked rows to decode.

    Attributes:
        options: The search's options.
        prefixes: Ids that each row begins with; without sources they are prompts.
        limits: Most tokens of each row, prefix and eos included.
        sources: Ids of each row's source; None for decoders alone.
        phrases: What each row must hold; empty for nothing in any.
        starts: The token before each prefix; empty for the model's own.
        grammar: What each row must follow behind its prefix; None for nothing.
        adapters: The adapter of each row, None for none; empty for none in any.
    """

    options: SearchOptions
    prefixes: IdRows
    limits: Sequence[int]
    sources: IdRows | None = None
    phrases: Sequence[Phrases] = ()
    starts: Sequence[int] = ()
    grammar: GrammarState | None = None
    adapters: Sequence[str | None] = ()

    @property
    def filled(self) -> list[int]:
        """The places of the rows to decode: all but those whose source is empty."""
        places = range(len(self.limits))
        return [place for place in places if self.sources is None or len(self.sources[place])]

    def at(self, places: Sequence[int]) -> "DecodedRows":
        """Returns the rows at some places, which hold phrases or hold none."""
        phrases = [self.phrases[place] for place in places]
        return DecodedRows(
            options=self.options,
            prefixes=[self.prefixes[place] for place in places],
            limits=[self.limits[place] for place in places],
            sources=None if self.sources is None else [self.sources[place] for place in places],
            phrases=phrases if any(phrases) else (),
            starts=[self.starts[place] for place in places] if self.starts else (),
            grammar=self.grammar,
            adapters=[self.adapters[place] for place in places] if self.adapters else (),
        )

    @property
    def per_row(self) -> int:
        """Hypotheses that are extended side by side for each row: the same for all of them."""
        if self.phrases:
            return open_hypotheses(self.phrases[0], self.options)
        return self.options.rows_per_sentence

    def alike(self, slots: Collection[int]) -> list[list[int]]:
        """Returns the places of rows that may share a batch.

        Args:
            slots: The ids of slots: a row that has some is looked at step by step, for which those
                of its batch would wait.
        """
        if self.sources is None:
            return [[*range(len(self.limits))]]
        has_slots = [not set(slots).isdisjoint(source) for source in self.sources]
        return [
            [place for place in group if has_slots[place] == one]
            for group in plan_by_prefix([len(prefix) for prefix in self.prefixes], _PREFIX_SPREAD)
            for one in (False, True)
        ]


@dataclasses.dataclass(frozen=True, kw_only=True)
class SearchRequest:
    """A batch of sentences and the options of their search.

    Args:
        options: The search's options.
        special_ids: Ids that stand for no text.
        limits: Most tokens of each sentence's translation, eos included.
        prefixes: Ids that each translation begins with; empty for none.
        prompt_lengths: How many ids of each prefix are a prompt; empty for none. They cost nothing
            and do not count in a length, except in `limits`, and candidates are without them.
        beams: Rows a sentence that the decoder begins with: 1, or of beam search `beam_size`.
        begun: Ids of each prefix that the decoder has read already, its start token apart.
        begun_log_probabilities: Those of these ids, `(sentences, begun)`; None for ids of prompts,
            which cost nothing, and if scores are not wanted.
        places: Place of each sentence among the caller's inputs, for its random numbers.
        seed: Seed of the random numbers; used in sampling only.
        with_scores: Whether scores are wanted; greedy search is faster without them.
        stops: What ends texts beside eos; None for nothing.
        sources: Ids of each sentence's source, whose slots its translation has; empty for none.
        phrases: What each output must hold, as `check_phrases` returns it; empty for nothing.
        starts: The token before each prefix; empty for the model's own.
        grammar: What each output must follow behind its prompt or prefix; None for nothing.
    """

    options: SearchOptions
    special_ids: SpecialIds
    limits: Sequence[int]
    prefixes: Sequence[Sequence[int]] = ()
    prompt_lengths: Sequence[int] = ()
    beams: int = 1
    begun: int = 0
    begun_log_probabilities: Values | None = None
    places: Sequence[int] = ()
    seed: int = 0
    with_scores: bool = True
    stops: Stops | None = None
    sources: Sequence[Sequence[int]] = ()
    phrases: Sequence[Phrases] = ()
    starts: Sequence[int] = ()
    grammar: GrammarState | None = None

    @property
    def open_hypotheses(self) -> int:
        """Hypotheses of each sentence that beam search keeps open."""
        own = (open_hypotheses(phrases, self.options) for phrases in self.phrases)
        return max(own, default=self.options.beam_size)

    def prompted(self) -> Rows:
        """Returns how many tokens of each sentence are a prompt: `(sentences,)`."""
        return np.asarray(self.prompt_lengths or [0] * len(self.limits), np.int64)

    def first_ids(self) -> Ids:
        """Returns the decoder's next input of each sentence: `(sentences,)`."""
        if not self.begun:
            return self._first()
        return np.array([prefix[self.begun - 1] for prefix in self.prefixes], np.int32)

    def first_totals(self) -> Values:
        """Returns the log-probability of what each sentence begins with: `(sentences,)`."""
        if self.begun_log_probabilities is None:
            return np.zeros(len(self.limits), np.float32)
        # One after the other, as the search adds what follows.
        return np.cumsum(self.begun_log_probabilities, axis=1, dtype=np.float32)[:, -1]

    def begun_ids(self) -> Ids:
        """Returns what the decoder reads before `first_ids`, if anything: `(sentences, begun)`."""
        return np.concatenate([self._first()[:, None], self.history()[:, :-1]], axis=1)

    def _first(self) -> Ids:
        starts = self.starts or [self.special_ids.decoder_start] * len(self.limits)
        return np.array(starts, np.int32)

    def history(self) -> Ids:
        """Returns the ids that the decoder has read, and its next one: `(sentences, begun)`."""
        begun = [list(prefix[: self.begun]) for prefix in self.prefixes if self.begun]
        return np.array(begun, np.int32).reshape(len(self.limits), self.begun)


def joined(request: SearchRequest, other: SearchRequest) -> SearchRequest:
    """Returns the request of a search that goes on with the sentences of two, which have begun."""
    return dataclasses.replace(
        request,
        limits=[*request.limits, *other.limits],
        prefixes=[*request.prefixes, *other.prefixes],
        prompt_lengths=[*request.prompt_lengths, *other.prompt_lengths],
        sources=[*request.sources, *other.sources],
        begun=0,
        begun_log_probabilities=None,
        places=(),
        starts=(),
    )


def tokens_in_common(prefixes: Sequence[Sequence[int]]) -> int:
    """Returns how many tokens of prefixes can be read in one run: as many as each of them has.

    It is 0 if they are not worth a run of their own.
    """
    length = min(map(len, prefixes), default=0)
    return length if length >= _LEAST_PREFILL else 0


def float32_penalty(length: npt.ArrayLike, options: SearchOptions) -> Values | np.float32:
    """Returns the length penalty in float32."""
    if isinstance(length, float):
        return np.float32(length_penalty(length, options))
    with np.errstate(over="ignore"):
        return np.asarray(length_penalty(length, options, minimum=np.minimum), np.float32)
