import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keras_transformer.runtime.loop.top_k import log_softmax, top_candidates


@settings(max_examples=100, deadline=None)
@given(
    rows=st.integers(1, 4),
    width=st.sampled_from([1, 2, 7, 255, 256, 257, 512, 1000, 3000, 5000]),
    count=st.integers(1, 12),
    distinct=st.sampled_from([1, 3, 1000]),
    seed=st.integers(0, 2**32 - 1),
)
def test_the_largest_come_first_and_the_lowest_place_wins_a_tie(
    rows: int, width: int, count: int, distinct: int, seed: int
) -> None:
    random = np.random.default_rng(seed)
    values = random.integers(0, distinct, (rows, width)).astype(np.float32)
    values[random.random(values.shape) < 0.3] = -np.inf
    best, places = top_candidates(values, count)
    order = np.argsort(-values, axis=1, kind="stable")[:, :count]
    found = min(count, width)
    np.testing.assert_array_equal(places[:, :found], order)
    np.testing.assert_array_equal(best[:, :found], np.take_along_axis(values, order, 1))
    assert best.shape == places.shape == (rows, count)
    assert np.isneginf(best[:, found:]).all()


def test_log_softmax_is_stable_for_huge_logits() -> None:
    logits = np.array([[1e4, 1e4, -1e4], [-1e4, 0.0, -np.inf]], np.float32)
    found = log_softmax(logits)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found[0], [-np.log(2), -np.log(2), -2e4 - np.log(2)])
    np.testing.assert_array_equal(found[1], [-1e4, 0.0, -np.inf])


@pytest.mark.parametrize("vocabulary", [5, 300])
def test_log_softmax_equals_float64(vocabulary: int) -> None:
    logits = np.random.default_rng(0).normal(0, 5, (4, vocabulary)).astype(np.float32)
    exact = logits.astype(np.float64)
    exact -= np.log(np.exp(exact).sum(-1, keepdims=True))
    np.testing.assert_allclose(log_softmax(logits), exact, atol=1e-5)
