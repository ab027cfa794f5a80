"""Hypotheses whose texts differ: of those that tokens spell alike the best stays."""

from keras_transformer.search.distinct import as_many_as_kept, distinct
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
