"""Confidence: scores a token, their threshold, and what lies below it."""

import math

import pytest

from keras_transformer.search.confidence import (
    calibrated,
    check_min_score,
    is_low,
    looks_like_babble,
    perplexity,
    token_score,
)

SOURCE = [11, 12, 13, 14, 15, 16, 17, 18]


def test_the_end_token_counts() -> None:
    assert token_score([5, 6, 7], -2.0) == -0.5
    assert token_score([], -2.0) == -2.0


def test_a_perplexity_above_all_numbers_is_infinite() -> None:
    assert perplexity(-2.0, 4) == math.exp(0.5)
    assert perplexity(-709.0 * 3, 3) == math.exp(709)
    assert perplexity(-710.0 * 3, 3) == perplexity(-math.inf, 3) == math.inf


@pytest.mark.parametrize(("total", "low"), [(-2.0, False), (-2.1, True), (-math.inf, True)])
def test_what_is_below_the_threshold_has_low_confidence(total: float, low: bool) -> None:
    assert is_low([5, 6, 7], total, -0.5) is low


def test_one_in_a_hundred_lies_below_the_threshold() -> None:
    scores = [-number / 100 for number in range(200)]
    found = calibrated(scores)
    assert sum(score < found for score in scores) == 2
    assert calibrated([-0.5, -3.0, -math.inf]) == -3.0
    assert calibrated([]) is None


@pytest.mark.parametrize("wrong", [0.5, math.nan, -math.inf])
def test_a_threshold_that_is_no_log_probability_is_refused(wrong: float) -> None:
    with pytest.raises(ValueError, match="min_score is a log-probability a token, .* got"):
        check_min_score(wrong)


@pytest.mark.parametrize(
    "ids",
    [
        [7] * 4,
        [5, 7, 8, 7, 8, 7, 8, 7, 8, 6],
        [5, *[1, 2, 3, 4, 5, 6, 7, 8] * 4],
        list(range(20, 69)),
    ],
    ids=["a token", "two tokens", "eight tokens", "far longer"],
)
def test_signs_of_babble_need_no_scores(ids: list[int]) -> None:
    assert looks_like_babble(SOURCE, ids, is_cut=False)


@pytest.mark.parametrize(
    ("source", "ids"),
    [
        (SOURCE, []),
        (SOURCE, [7, 7, 7]),
        (SOURCE, [5, 7, 8, 7, 8, 7, 8, 6]),
        (SOURCE, [7, 5, 7, 6, 7, 4, 7]),
        (SOURCE, list(range(20, 68))),
        ([9, 9, 9, 9, 5], [7, 7, 7, 7, 6]),
        ([], []),
    ],
    ids=["short", "thrice", "two tokens thrice", "apart", "longer", "as its source", "nothing"],
)
def test_what_a_translation_may_say_is_no_babble(source: list[int], ids: list[int]) -> None:
    assert not looks_like_babble(source, ids, is_cut=False)
    assert looks_like_babble(source, ids, is_cut=True)


def test_a_translation_that_leaves_out_nearly_all_is_babble() -> None:
    assert looks_like_babble(list(range(100)), list(range(20)), is_cut=False)
