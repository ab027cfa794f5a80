"""Hypotheses whose texts differ: of those that tokens spell alike the best stays."""

import dataclasses
from collections.abc import Callable, Sequence

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from keras_transformer.search.distinct import as_many_as_kept, distinct, filled_up
from keras_transformer.search.model_limits import HypothesisSize
from keras_transformer.search.options import Hypothesis, SearchOptions

FOUND = [
    Hypothesis(text, [rank], -1.0 - rank, -2.0 - rank)
    for rank, text in enumerate(["a dog", "a dog", "dogs", "a dog", "the dog"])
]


def test_the_best_of_equal_texts_stays() -> None:
    options = SearchOptions(beam_size=5, num_hypotheses=2)
    assert as_many_as_kept(options).num_hypotheses == 5
    assert distinct([FOUND, [], FOUND[:1]], options) == [[FOUND[0], FOUND[2]], [], FOUND[:1]]
    all_of_them = SearchOptions(beam_size=5, num_hypotheses=5)
    assert distinct([FOUND], all_of_them) == [[FOUND[0], FOUND[2], FOUND[4]]]


def test_samples_and_a_single_best_are_left_as_they_are() -> None:
    sampled = SearchOptions(sample=True, num_hypotheses=5)
    assert as_many_as_kept(sampled) is sampled and distinct([FOUND], sampled) == [FOUND]
    greedy = SearchOptions(beam_size=5)
    assert as_many_as_kept(greedy) is greedy and distinct([FOUND[:1]], greedy) == [FOUND[:1]]


def test_repeated_texts_are_filled_up_by_wider_searches() -> None:
    asked: list[tuple[list[int], int]] = []

    def search(places: Sequence[int], options: SearchOptions) -> list[list[Hypothesis]]:
        asked.append((list(places), options.beam_size))
        assert options.num_hypotheses == options.beam_size
        more = [Hypothesis(f"{text} {place}", [], -9.0, -9.0) for place in places for text in "xyz"]
        per_place = {place: more[3 * at : 3 * at + 3] for at, place in enumerate(places)}
        wide = options.beam_size > 10
        better = Hypothesis("better than the best", [], -0.5, -0.5)
        return [[better, *FOUND, *per_place[place][: 3 if wide else 1 + place]] for place in places]

    options = SearchOptions(beam_size=5, num_hypotheses=5)
    full = [Hypothesis(text, [], -1.0, -1.0) for text in "abcde"]
    found = filled_up([FOUND, full, FOUND, FOUND[:1], []], options, None, search)
    texts = [[one.text for one in own] for own in found]
    own = ["a dog", "dogs", "the dog"]
    assert texts == [[*own, "x 0", "y 0"], list("abcde"), [*own, "x 2", "y 2"], ["a dog"], []]
    # Only where texts repeat, and only as wide as needed.
    assert asked == [([0, 2], 10), ([0], 20)]


def test_no_wider_search_is_made_than_fits_or_is_needed() -> None:
    def search(places: Sequence[int], options: SearchOptions) -> list[list[Hypothesis]]:
        raise AssertionError("searched again")

    options = SearchOptions(beam_size=5, num_hypotheses=5)
    huge = HypothesisSize(token_bytes=1 << 40, step_bytes=0)
    assert filled_up([FOUND], options, huge, search) == distinct([FOUND], options)
    fewer = SearchOptions(beam_size=5, num_hypotheses=3)
    assert filled_up([FOUND], fewer, None, search) == distinct([FOUND], fewer)
    sampled = SearchOptions(sample=True, num_hypotheses=5)
    assert filled_up([FOUND], sampled, None, search) == [FOUND]


@given(
    seed=st.integers(0, 2**32 - 1),
    beams=st.integers(2, 4),
    length=st.integers(1, 4),
    data=st.data(),
)
def test_of_random_models_as_many_texts_come_back_as_asked_for(
    naive_search: Callable[..., list[tuple[list[int], float, float]]],
    seed: int,
    beams: int,
    length: int,
    data: st.DataObject,
) -> None:
    count = data.draw(st.integers(2, beams))
    logits = np.random.default_rng(seed).normal(size=(length, 7, 7)).astype(np.float32)
    table = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
    spelled = ["", "", "", "", "a", "a", "aa"]

    def search(places: Sequence[int], options: SearchOptions) -> list[list[Hypothesis]]:
        fields = dataclasses.asdict(options)
        found = naive_search(table, **fields)
        return [
            [Hypothesis("".join(map(spelled.__getitem__, ids)), ids, *own) for ids, *own in found]
            for _ in places
        ]

    options = SearchOptions(beam_size=beams, num_hypotheses=count, max_length=length)
    [kept] = search([0], as_many_as_kept(options))
    [found] = filled_up([kept], options, None, search)
    [widest] = search(
        [0], SearchOptions(beam_size=4 * beams, num_hypotheses=4 * beams, max_length=length)
    )
    texts = [one.text for one in found]
    assert len(set(texts)) == len(texts) <= count
    assert [one.score for one in found] == sorted((one.score for one in found), reverse=True)
    assert found[0] == kept[0]
    possible = {one.text for one in (*kept, *widest) if one.score <= kept[0].score}
    assert len(texts) >= min(count, len(possible)) or len(kept) < beams
