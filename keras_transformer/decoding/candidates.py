"""Turns a search's tensors into plain lists: candidates at its end, and before it the tokens in
which stops are looked for.
"""

import dataclasses
from collections.abc import Iterator, Sequence

import numpy as np

from keras_transformer.config.special_ids import SpecialIds
from keras_transformer.decoding.constraints import IMPOSSIBLE
from keras_transformer.decoding.hypotheses import SearchState, is_possible
from keras_transformer.search.grammars import GrammarState, GrammarStates
from keras_transformer.search.options import Candidate, SearchOptions
from keras_transformer.search.random_numbers import fresh_seed
from keras_transformer.search.stops import Stops, StopWatch
from keras_transformer.tensors import Tensor


def with_seed(options: SearchOptions) -> SearchOptions:
    """Returns the options, with a random seed if they sample and have none."""
    if options.sample and options.seed is None:
        return dataclasses.replace(options, seed=fresh_seed())
    return options


def without_texts(options: SearchOptions) -> SearchOptions:
    """Returns the options of a graph, which looks for no stops and takes phrases, and what a
    grammar allows, as inputs.
    """
    return dataclasses.replace(
        options, require=(), stop=(), stop_tokens=(), json_schema=None, regex=None, choices=None
    )


def candidates_of(
    found: tuple[Tensor, Tensor, Tensor], special_ids: SpecialIds
) -> Iterator[list[Candidate]]:
    """Yields the possible hypotheses of each sentence of a batch.

    Args:
        found: Ids `(batch, K, length)`, scores and log-probabilities `(batch, K)`.
        special_ids: The ids that are no text.
    """
    for sentence in zip(*(np.array(part) for part in found), strict=True):
        yield [
            Candidate(strip(ids, special_ids), float(score), float(total))
            for ids, score, total in zip(*sentence, strict=True)
            if score > IMPOSSIBLE / 2
        ]


def strip(ids: np.ndarray, special_ids: SpecialIds) -> list[int]:
    """Cuts a hypothesis at its end token or padding."""
    ends = np.flatnonzero((ids == special_ids.eos) | (ids == special_ids.pad))
    return ids[: ends[0] if len(ends) else None].tolist()


class SearchGrammar:
    """What a grammar allows as the next token of each hypothesis of a batch.

    Args:
        start: The state of an empty text.
        begins: How many tokens each sentence's prompt has.
        vocab_size: How many ids there are.
    """

    def __init__(self, start: GrammarState, begins: Sequence[int], vocab_size: int) -> None:
        self._states = GrammarStates(start, begins)
        self._vocab_size = vocab_size

    def __call__(self, state: SearchState) -> np.ndarray:
        """Returns the ids that it allows: bool `(batch, K, vocabulary)`."""
        ids = np.array(state.ids)[:, :, : int(state.step)]
        batch, beams, step = ids.shape
        flags = np.ones((batch * beams, self._vocab_size), bool)
        sentences = np.repeat(np.arange(batch), beams).tolist()
        for row, allowed in self._states.allowed(ids.reshape(batch * beams, step), sentences):
            flags[row] = allowed
        return flags.reshape(batch, beams, -1)


class SearchWatches:
    """The watches of the open hypotheses of a batch: the `ended` of `search`.

    Args:
        stops: The stops.
        prefixes: What each sentence's text begins with, ids.
    """

    def __init__(self, stops: Stops, prefixes: Sequence[Sequence[int]]) -> None:
        self._begins = [len(prefix) for prefix in prefixes]
        # Of each sentence the watches by what followed its prefix.
        self._watches: list[dict[tuple[int, ...], StopWatch]] = [
            {(): stops.watch(prefix)} for prefix in prefixes
        ]

    def __call__(self, state: SearchState) -> Tensor:
        """Returns which open hypotheses end at their newest token: bool `(batch, K)`."""
        ids = np.array(state.ids)[:, :, : int(state.step)]
        is_open = np.array(is_possible(state.log_probabilities) & ~state.done[:, None])
        ends = np.zeros_like(is_open)
        for place, begin in enumerate(self._begins):
            if ids.shape[2] > begin:
                ends[place] = self._sentence(place, ids[place, :, begin:].tolist(), is_open[place])
        return ends

    def _sentence(self, place: int, rows: list[list[int]], is_open: np.ndarray) -> list[bool]:
        before, own, ends = self._watches[place], {}, []
        for row, may_end in zip(rows, is_open.tolist(), strict=True):
            watch = before.get(tuple(row[:-1])) if may_end else None
            if watch is not None:
                watch = own[tuple(row)] = watch.fork()
            ends.append(watch is not None and watch.add(row[-1]))
        self._watches[place] = own
        return ends
