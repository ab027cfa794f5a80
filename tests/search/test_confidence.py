"""Confidence: scores a token, their threshold, and what lies below it."""

import math

import pytest

from keras_transformer.search.confidence import calibrated, check_min_score, is_low, token_score


def test_the_end_token_counts() -> None:
    assert token_score([5, 6, 7], -2.0) == -0.5
    assert token_score([], -2.0) == -2.0


@pytest.mark.parametrize(("total", "low"), [(-2.0, False), (-2.1, True), (-math.inf, True)])
def test_what_is_below_the_threshold_has_low_confidence(total: float, low: bool) -> None:
    assert is_low([5, 6, 7], total, -0.5) is low
    assert is_low([5, 6, 7], total, None) is None


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
