"""Probabilities and spans."""

import numpy as np
import pytest

from keras_transformer.understanding.results import best_span, softmax


def test_probabilities_are_a_distribution_even_of_large_logits() -> None:
    found = softmax(np.array([[1000.0, 1000.0, -1000.0], [0.0, np.log(3.0), -np.inf]], np.float32))
    np.testing.assert_allclose(found, [[0.5, 0.5, 0], [0.25, 0.75, 0]], rtol=1e-6)


@pytest.mark.parametrize("longest", [None, 1, 2, 3])
def test_the_best_span_is_that_of_a_search_through_all(longest: int | None) -> None:
    logits = np.random.default_rng(3).normal(size=(9, 2)).astype(np.float32)
    spans = [
        (float(logits[first, 0] + logits[last, 1]), first, last)
        for first in range(9)
        for last in range(first, 9)
        if longest is None or last - first < longest
    ]
    score, first, last = max(spans)
    assert best_span(logits, longest) == (first, last, pytest.approx(score))
