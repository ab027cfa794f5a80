"""Samples: their random numbers, and the distribution that draws follow."""

import numpy as np
import pytest
from keras import ops

from keras_transformer.decoding.constraints import IMPOSSIBLE
from keras_transformer.decoding.draws import draw
from keras_transformer.search.options import SearchOptions
from keras_transformer.search.random_numbers import fresh_seed, uniforms

PROBABILITIES = np.array([0.05, 0.3, 0.0, 0.25, 0.1, 0.3])
DRAWS = 20_000


def test_random_numbers_depend_on_seed_sentence_and_rank_alone() -> None:
    rows = [uniforms(*key, 4) for key in ((0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1))]
    assert len({tuple(row) for row in rows}) == 4
    np.testing.assert_array_equal(rows[2], uniforms(0, 1, 0, 9)[:4])
    assert rows[0].dtype == np.float64
    # Fixed for good: samples must not change with a version of this package.
    np.testing.assert_allclose(uniforms(7, 2, 1, 2), [0.5231147502091889, 0.11689063983412185])


def test_a_fresh_seed_is_a_new_one() -> None:
    seeds = {fresh_seed() for _ in range(5)}
    assert len(seeds) == 5
    assert all(SearchOptions(sample=True, seed=seed).seed == seed for seed in seeds)


def frequencies(**options: float) -> np.ndarray:
    """How often each token is drawn, over many samples of one sentence."""
    log_probs = np.where(PROBABILITIES > 0, np.log(np.maximum(PROBABILITIES, 1e-9)), IMPOSSIBLE)
    rows = np.broadcast_to(log_probs.astype(np.float32), (1, DRAWS, len(PROBABILITIES)))
    numbers = np.array([[uniforms(0, 0, rank, 1)[0] for rank in range(DRAWS)]])
    drawn = draw(ops.array(rows), ops.array(numbers), SearchOptions(sample=True, **options))
    return np.bincount(np.array(drawn)[0], minlength=len(PROBABILITIES))


def scaled(weights: list[float]) -> np.ndarray:
    return np.array(weights) / sum(weights)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, PROBABILITIES),
        ({"temperature": 0.5}, scaled(list(PROBABILITIES**2))),
        ({"temperature": 2.0}, scaled(list(PROBABILITIES**0.5))),
        ({"top_k": 3}, scaled([0, 0.3, 0, 0.25, 0, 0.3])),
        # Of the two most probable, equal, the lower id is the one that is kept.
        ({"top_k": 1}, [0, 1, 0, 0, 0, 0]),
        ({"top_k": 99}, PROBABILITIES),
        # 0.3 + 0.3 are less than 0.7, with 0.25 they are more.
        ({"top_p": 0.7}, scaled([0, 0.3, 0, 0.25, 0, 0.3])),
        ({"top_p": 0.2}, [0, 1, 0, 0, 0, 0]),
        # top_p counts in what top_k has left: 0.3 of 0.6 is not enough, 0.3 of 0.85 neither.
        ({"top_k": 3, "top_p": 0.6}, scaled([0, 0.3, 0, 0, 0, 0.3])),
        # And at the temperature: 0.09 of 0.255 is 0.35, twice that 0.71.
        ({"temperature": 0.5, "top_p": 0.65}, scaled([0, 0.3, 0, 0, 0, 0.3])),
    ],
)
def test_frequencies_follow_the_distribution(options: dict, expected: np.ndarray) -> None:
    found, expected = frequencies(**options), np.asarray(expected) * DRAWS
    assert found[expected == 0].sum() == 0
    drawn = expected > 0
    squares = ((found - expected)[drawn] ** 2 / expected[drawn]).sum()
    # Chi-square with at most 5 degrees of freedom exceeds 20.5 once in a thousand times.
    assert squares < 20.5


@pytest.mark.parametrize("number", [0.0, 1 - 2**-53])
def test_the_ends_of_the_interval_draw_something_possible(number: float) -> None:
    log_probs = np.full((1, 1, 1000), IMPOSSIBLE, np.float32)
    log_probs[0, 0, 10:900] = np.log(1 / 890)
    for options in ({}, {"top_k": 7}, {"top_p": 0.3}, {"temperature": 0.001}):
        chosen = SearchOptions(sample=True, **options)
        drawn = int(draw(ops.array(log_probs), ops.array([[number]]), chosen)[0, 0])
        assert 10 <= drawn < 900
        assert (drawn == 10) == (number == 0)


def test_a_forced_token_of_no_weight_is_drawn() -> None:
    """Only what is possible counts, however improbable it is."""
    log_probs = np.full((1, 1, 6), IMPOSSIBLE, np.float32)
    log_probs[0, 0, 4] = -3000
    options = SearchOptions(sample=True, temperature=0.01)
    assert int(draw(ops.array(log_probs), ops.array([[0.5]]), options)[0, 0]) == 4
