"""The searches of the runtime on scripted probabilities: the shared table of cases, the naive
search, brute force, and what they ask of the decoder."""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from searches import BEAMS, CONSTRAINTS, SAMPLES, Found, agree, all_sequences, naive_of

from keras_transformer.config.special_ids import SpecialIds
from keras_transformer.runtime.loop.beam_search import BeamSearch
from keras_transformer.runtime.loop.one_by_one import OneByOne
from keras_transformer.runtime.loop.requests import Ahead, Best, First, SearchRequest
from keras_transformer.runtime.loop.top_k import log_softmax, top_candidates
from keras_transformer.search.options import Candidate, SearchOptions

SPECIAL_IDS = SpecialIds()


def search(steps: Any, request: SearchRequest) -> list[list[Candidate]]:
    return (BeamSearch if request.options.needs_beams else OneByOne)(steps, request).run()


class ScriptedSteps:
    """A decoder that looks its answers up: `logits[sentence, tokens so far, last token]`.

    It remembers what each row was fed, which must be the row's own tokens.
    """

    def __init__(self, logits: np.ndarray, beams: int = 1) -> None:
        self.table = logits
        self.sentences = np.arange(len(logits))
        self.fed = np.zeros((len(logits), beams, 0), np.int32)
        self.rows: list[int] = []
        self.returned: Sequence[np.ndarray] = ()

    def logits(self, ids: np.ndarray) -> np.ndarray:
        sentences, beams, step = self.fed.shape
        assert ids.shape == (sentences * beams,)
        self.rows.append(len(ids))
        ids = ids.copy()
        newest = ids.reshape(sentences, beams, 1)
        # A decoder writes into the arrays that it returned before.
        for array in self.returned:
            array[...] = 1
        self.fed = np.concatenate([self.fed, newest], axis=2)
        return self.table[np.repeat(self.sentences, beams), step, ids].copy()

    def logits_again(self, ids: np.ndarray) -> np.ndarray:
        np.testing.assert_array_equal(ids, self.fed[:, :, -1].ravel())
        self.fed = self.fed[:, :, :-1]
        self.rows.pop()
        return self.logits(ids)

    def first(self, ids: np.ndarray) -> First:
        assert self.fed.shape[1] == 1
        logits = self.logits(ids)
        found = First(logits.argmax(axis=1).astype(np.int32), log_softmax(logits).max(axis=1))
        self.returned = found
        return found

    def best(self, ids: np.ndarray, count: int, totals: np.ndarray) -> Best:
        totals = totals.copy()
        logits = self.logits(ids)
        in_row = min(count, logits.shape[1])
        # Ranked by beam first, as the graph does it.
        values, ids = top_candidates(log_softmax(logits), in_row)
        sentences, beams = totals.shape
        extended = (values + totals.reshape(-1, 1)).reshape(sentences, beams * in_row)
        best, places = top_candidates(extended, min(count, beams * in_row))
        chosen = np.take_along_axis(ids.reshape(sentences, -1), places, 1)
        found = Best(chosen.astype(np.int32), best, (places // in_row).astype(np.int32))
        self.returned = found
        return found

    def several(self, ids: np.ndarray, most: int, last_special: int) -> np.ndarray:
        found = [self.first(ids).ids.copy()]
        while len(found) < most and found[-1].min() > last_special:
            found.append(self.first(found[-1]).ids.copy())
        return np.stack(found)

    def several_best(self, ids: np.ndarray, count: int, totals: np.ndarray, ahead: Ahead) -> Best:
        found, beams = list[list[np.ndarray]](), totals.shape[1]
        ended = np.zeros(len(totals), int)
        while True:
            found.append([one.copy() for one in self.best(ids, count, totals)])
            tokens, values, parents = found[-1]
            ends = tokens == ahead.end
            special = (tokens <= ahead.last_special) & ~ends
            chosen = [np.flatnonzero(~row)[:beams] for row in ends]
            if self.fed.shape[2] > ahead.first_end:
                ended += (ends & np.isfinite(values))[:, :beams].sum(axis=1)
            stuck = [
                np.isneginf(row[own[:1]]).any() for row, own in zip(values, chosen, strict=True)
            ]
            if (
                len(found) == ahead.most
                or special.any()
                or min(map(len, chosen)) < beams
                or (ends.any() and (max(ended) >= ahead.ending or any(stuck)))
            ):
                return Best(*map(np.stack, zip(*found, strict=True)))
            ending = (ends & np.isfinite(values))[:, :beams] & (self.fed.shape[2] > ahead.first_end)
            for row, own in enumerate(chosen):
                order = [*own, *np.flatnonzero(ending[row])]
                for one, filler in zip(found[-1], (-1, -np.inf, 0), strict=True):
                    kept = one[row, order]
                    one[row, : len(order)], one[row, len(order) :] = kept, filler
            ids, totals, parents = (one[:, :beams].copy() for one in found[-1])
            self.follow(parents)
            ids = ids.ravel()

    def follow(self, parents: np.ndarray) -> None:
        rows = np.arange(len(self.fed))[:, None]
        self.fed = self.fed[rows, parents]

    def keep(self, sentences: np.ndarray) -> None:
        self.sentences, self.fed = self.sentences[sentences], self.fed[sentences]


def run(
    logits: np.ndarray,
    prefixes: Sequence[Sequence[int]] | None = None,
    source_lengths: Sequence[int] | None = None,
    **options: Any,
) -> Found:
    """Searches; per sentence (ids, score, log-probability)."""
    chosen = SearchOptions(**options)
    lengths = source_lengths or [1] * len(logits)
    request = SearchRequest(
        options=chosen,
        special_ids=SPECIAL_IDS,
        limits=[chosen.limit(length) for length in lengths],
        prefixes=prefixes or (),
        seed=chosen.seed or 0,
        # As the engine begins with a single sentence.
        beams=chosen.beam_size if len(logits) == 1 else 1,
    )
    found = search(ScriptedSteps(logits, request.beams), request)
    return [[tuple(candidate) for candidate in sentence] for sentence in found]


def test_the_table_of_cases(search_case: Any) -> None:
    case = search_case
    found = run(case.logits, case.prefixes, case.source_lengths, **case.options)
    assert [[ids for ids, _, _ in sentence] for sentence in found] == case.expected
    agree(found, naive_of(case))


PROMPTS = [[4, 5, 6], [7], [8, 4], [5, 5, 5, 5]]


@pytest.mark.parametrize("at_once", [False, True])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"beam_size": 3, "num_hypotheses": 3},
        {"beam_size": 2, "min_length": 3, "early_stopping": "exact", "length_penalty": 1.0},
        {"forced_tokens": [(1, 6)], "beam_size": 2},
        {"sample": True, "seed": 5, "num_hypotheses": 2},
        {"sample": True, "seed": 5, "top_k": 3, "min_length": 2},
    ],
    ids=str,
)
def test_a_prompt_is_where_a_search_begins(
    naive_search: Callable[..., Any], options: dict[str, Any], at_once: bool
) -> None:
    """A search after a prompt is one whose table begins there: nothing else counts the prompt."""
    random = np.random.default_rng(7)
    logits = random.standard_normal((4, 9, 9, 9)).astype(np.float32)
    chosen = SearchOptions(max_length=5, **options)
    lengths = list(map(len, PROMPTS))
    request = SearchRequest(
        options=chosen,
        special_ids=SPECIAL_IDS,
        limits=[length + 5 for length in lengths],
        prefixes=PROMPTS,
        prompt_lengths=lengths,
        begun=min(lengths) if at_once else 0,
        places=range(4),
        seed=chosen.seed or 0,
    )
    steps = ScriptedSteps(logits)
    steps.fed = np.zeros((4, 1, request.begun), np.int32)
    found = [[tuple(one) for one in sentence] for sentence in search(steps, request)]
    expected = []
    for place, (table, prompt) in enumerate(zip(logits, PROMPTS, strict=True)):
        begun = table[len(prompt) :].copy()
        begun[0, SPECIAL_IDS.decoder_start] = begun[0, prompt[-1]]
        log_probs = begun - np.log(np.exp(begun).sum(axis=-1, keepdims=True))
        expected.append(naive_search(log_probs, max_length=5, sentence=place, **options))
    agree(found, expected)


@pytest.mark.parametrize("loud_at", [0, 1, 2])
def test_totals_outlive_the_arrays_of_a_step_whose_logits_are_asked_for_again(
    naive_search: Callable[..., Any], loud_at: int
) -> None:
    """More candidates are struck at one step than there are spare ones."""
    logits = np.random.default_rng(1).standard_normal((1, 4, 9, 9)).astype(np.float32)
    logits[:, :, :, :4] -= 30  # No step but one meets a special id.
    logits[:, loud_at, :, [0, 2]] += 60
    options = {"beam_size": 4, "num_hypotheses": 4, "max_length": 4}
    log_probs = logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True))
    agree(run(logits, **options), [naive_search(log_probs[0], **options)])


@st.composite
def tables(draw: st.DrawFn) -> np.ndarray:
    """Logits of a few random sentences; real numbers, so that sums are never quite equal."""
    sentences, length = draw(st.integers(1, 4)), draw(st.integers(1, 6))
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    spread = draw(st.sampled_from([0.5, 2, 8]))
    logits = spread * random.standard_normal((sentences, length, 9, 9))
    logits[..., 3] += draw(st.sampled_from([-2, 0, 2]))
    return logits.astype(np.float32)


OPTIONS = {
    "beam": st.fixed_dictionaries(BEAMS),
    "sample": st.fixed_dictionaries(SAMPLES).map(lambda options: {**options, "sample": True}),
}


@pytest.mark.parametrize("kind", ["beam", "sample"])
@settings(max_examples=80)
@given(data=st.data(), logits=tables())
def test_random_requests_agree_with_the_naive_search(
    naive_search: Callable[..., Any], kind: str, data: st.DataObject, logits: np.ndarray
) -> None:
    sentences, length = logits.shape[:2]
    options = data.draw(OPTIONS[kind])
    constraints = data.draw(st.sets(st.sampled_from(sorted(CONSTRAINTS)), max_size=4))
    options |= {name: data.draw(CONSTRAINTS[name], label=name) for name in sorted(constraints)}
    options |= {"max_length": length, "min_length": data.draw(st.integers(0, length))}
    options.setdefault("num_hypotheses", options.get("beam_size"))
    words = st.lists(st.integers(4, 8), max_size=2)
    prefixes = data.draw(st.none() | st.lists(words, min_size=sentences, max_size=sentences))
    lengths = data.draw(st.lists(st.integers(1, 8), min_size=sentences, max_size=sentences))
    expected = [
        naive_search(
            log_softmax(table),
            logits=table,
            prefix=prefixes[place] if prefixes else [],
            source_length=lengths[place],
            sentence=place,
            **options,
        )
        for place, table in enumerate(logits)
    ]
    agree(run(logits, prefixes, lengths, **options), expected)


@pytest.mark.parametrize("sample", [False, True])
def test_a_stream_without_a_token_to_go_on_with_ends(sample: bool) -> None:
    words = [token for token in range(9) if token not in (1, 2, 3, 8)]
    options = SearchOptions(
        min_length=4,
        max_length=5,
        banned_sequences=[[token] for token in (*words, 1)],
        forced_tokens=[(0, 5), (1, 0)],
        sample=sample,
        seed=1 if sample else None,
    )
    request = SearchRequest(
        options=options,
        special_ids=SpecialIds(pad=8),
        limits=[5],
        seed=1,
        with_scores=False,
    )
    search = OneByOne(ScriptedSteps(np.zeros((1, 5, 9, 9), np.float32)), request, streams=True)
    assert [int(token) for [token] in search] == [5, 0, request.special_ids.eos]
    assert search.results() == [[]]


@pytest.mark.parametrize("penalty", ["gnmt", "exponent"])
@settings(max_examples=25)
@given(seed=st.integers(0, 2**32 - 1), alpha=st.sampled_from([0.0, 0.6, 1.5]))
def test_a_wide_exact_beam_finds_the_best_of_all_sequences(
    penalty: str, seed: int, alpha: float
) -> None:
    random = np.random.default_rng(seed)
    length = 4
    logits = random.standard_normal((1, length, 6, 6)).astype(np.float32)
    options = {"length_penalty": alpha, "length_penalty_type": penalty, "max_length": length}
    options["min_length"] = 0
    # As wide as there are sequences that have not ended.
    [[(ids, score, _), *_]] = run(logits, beam_size=3**length, early_stopping="exact", **options)
    best, text = all_sequences(log_softmax(logits[0]), SearchOptions(**options))[0]
    assert tuple(ids) == text
    assert score == pytest.approx(best, abs=1e-5)


@settings(max_examples=25)
@given(logits=tables(), beam_size=st.integers(1, 3))
def test_a_batch_equals_its_sentences(logits: np.ndarray, beam_size: int) -> None:
    options = {"beam_size": beam_size, "max_length": logits.shape[1]}
    alone = [run(table[None], **options)[0] for table in logits]
    agree(run(logits, **options), alone)


@pytest.mark.parametrize("beam_size", [1, 2])
def test_finished_sentences_leave_the_batch(beam_size: int) -> None:
    # Sentence i ends after i + 1 tokens: eos everywhere, word 4 before.
    logits = np.full((8, 9, 6, 6), -20, np.float32)
    for sentence in range(8):
        logits[sentence, : sentence + 1, :, 4] = 0
        logits[sentence, sentence + 1 :, :, 3] = 0
    request = SearchRequest(
        options=SearchOptions(max_length=9, beam_size=beam_size, early_stopping="first"),
        special_ids=SPECIAL_IDS,
        limits=[9] * 8,
    )
    steps = ScriptedSteps(logits)
    found = search(steps, request)
    assert [len(candidates[0].ids) for candidates in found] == list(range(1, 9))
    assert steps.rows[0] == 8
    assert steps.rows[-1] <= 2 * beam_size
    assert sum(steps.rows) < 0.8 * 8 * 9 * beam_size


@pytest.mark.parametrize("options", [{}, {"sample": True, "num_hypotheses": 2}], ids=str)
def test_room_for_tokens_grows_and_a_high_limit_changes_nothing(options: dict) -> None:
    length = 700
    logits = np.random.default_rng(3).standard_normal((2, length, 5, 5)).astype(np.float32)
    logits[:, 600:, :, 3] = 30
    near, far = (
        run(logits, max_length=limit, min_length=600, seed=4 if options else None, **options)
        for limit in (length, 2**20)
    )
    assert near == far
    assert {len(ids) for sentence in near for ids, *_ in sentence} == {600}


def test_greedy_search_without_scores_takes_the_same_tokens() -> None:
    logits = np.random.default_rng(0).standard_normal((5, 6, 9, 9)).astype(np.float32)
    options = SearchOptions(max_length=6)
    found = [
        search(
            ScriptedSteps(logits),
            SearchRequest(
                options=options, special_ids=SPECIAL_IDS, limits=[6] * 5, with_scores=with_scores
            ),
        )
        for with_scores in (True, False)
    ]
    ids = [[candidate.ids for [candidate] in sentences] for sentences in found]
    assert ids[0] == ids[1]


@pytest.mark.parametrize("beams", [1, 2, 4])
@given(logits=tables(), seed=st.integers(0, 2**32 - 1))
def test_each_slot_is_written_once_and_shortcuts_change_nothing(
    beams: int, logits: np.ndarray, seed: int
) -> None:
    random, length = np.random.default_rng(seed), logits.shape[1]
    special_ids = SpecialIds(slots=(4, 5))
    sources = [random.permutation([4, 5, 6, 7])[: random.integers(1, 4)] for _ in logits]
    request = SearchRequest(
        options=SearchOptions(beam_size=beams, num_hypotheses=beams, max_length=length),
        special_ids=special_ids,
        limits=[length] * len(logits),
        sources=sources,
        with_scores=bool(seed % 2),
    )
    found = search(ScriptedSteps(logits), request)
    # A word that no text has, forbidden: every step then reads all logits.
    slow = dataclasses.replace(request.options, banned_sequences=((8, 8, 8, 8, 8, 8, 8),))
    slowly = search(ScriptedSteps(logits), dataclasses.replace(request, options=slow))
    for own, others, source in zip(found, slowly, sources, strict=True):
        assert [one.ids for one in own] == [one.ids for one in others]
        for one in own if length > 1 else ():
            assert sorted({4, 5}.intersection(source)) == sorted(t for t in one.ids if t in (4, 5))
