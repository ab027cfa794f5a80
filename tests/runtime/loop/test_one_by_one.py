"""draw: the rank that a number in [0, 1) falls on, by hand and by frequency."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keras_transformer.runtime.loop.one_by_one import draw
from keras_transformer.search.options import SearchOptions


def ranks(probabilities: list[float], uniform: list[float], **options: Any) -> list[int]:
    """Draws once for each number from the same probabilities."""
    with np.errstate(divide="ignore"):
        row = np.log(np.array(probabilities, np.float32))
    rows = np.tile(row, (len(uniform), 1))
    return draw(rows, SearchOptions(sample=True, **options), np.array(uniform)).tolist()


@pytest.mark.parametrize(
    ("options", "uniform", "expected"),
    [
        ({}, [0, 0.49, 0.51, 0.79, 0.81, 0.999999], [0, 0, 1, 1, 2, 2]),
        ({"top_k": 1}, [0, 0.999999], [0, 0]),
        # 0.5 and 0.3 become 0.625 and 0.375.
        ({"top_k": 2}, [0.62, 0.63, 0.999999], [0, 1, 1]),
        ({"top_k": 9}, [0.999999], [2]),
        ({"top_p": 0.4}, [0.999999], [0]),
        # The second is needed to reach it.
        ({"top_p": 0.6}, [0.62, 0.63, 0.999999], [0, 1, 1]),
        ({"top_p": 1.0}, [0.81], [2]),
        # Of the two that top_k leaves, the first has 0.625.
        ({"top_k": 2, "top_p": 0.6}, [0.999999], [0]),
        # 0.25, 0.09 and 0.04 of 0.38.
        ({"temperature": 0.5}, [0.65, 0.66, 0.89, 0.9], [0, 1, 1, 2]),
        ({"temperature": 1e-4}, [0, 0.999999], [0, 0]),
        ({"temperature": 5e-324}, [0, 0.999999], [0, 0]),
        ({"temperature": 1e6}, [0.33, 0.34, 0.66, 0.67], [0, 1, 1, 2]),
    ],
    ids=str,
)
def test_the_rank_is_where_the_sum_passes_the_number(
    options: dict[str, Any], uniform: list[float], expected: list[int]
) -> None:
    assert ranks([0.5, 0.3, 0.2], uniform, **options) == expected


def test_what_is_forbidden_is_never_drawn() -> None:
    numbers = np.linspace(0, 1, 50, endpoint=False).tolist()
    assert set(ranks([0.4, 0.2, 0, 0], numbers)) == {0, 1}
    assert set(ranks([0.4, 0, 0, 0], numbers, temperature=100.0)) == {0}
    assert set(ranks([0, 0, 0], numbers)) == {0}


def test_a_half_is_drawn_half_the_time() -> None:
    probabilities = [0.5, 0.25, 0.125, 0.0625, 0.0625]
    numbers = np.random.default_rng(0).random(20_000).tolist()
    found = np.bincount(ranks(probabilities, numbers), minlength=5) / len(numbers)
    np.testing.assert_allclose(found, probabilities, atol=0.01)


@given(
    seed=st.integers(0, 2**32 - 1),
    rows=st.integers(1, 4),
    width=st.integers(1, 12),
    temperature=st.sampled_from([0.1, 1.0, 3.0]),
    top_k=st.integers(0, 14),
    top_p=st.sampled_from([0.05, 0.5, 0.9, 1.0]),
)
def test_it_equals_the_definition(
    seed: int, rows: int, width: int, temperature: float, top_k: int, top_p: float
) -> None:
    random = np.random.default_rng(seed)
    log_probs = -np.sort(random.exponential(2, (rows, width))).astype(np.float32)
    log_probs[:, 1 + int(random.integers(width)) :] = -np.inf
    options = SearchOptions(sample=True, temperature=temperature, top_k=top_k, top_p=top_p)
    uniform = random.random(rows)
    found = draw(log_probs, options, uniform)
    for row, number, rank in zip(log_probs.astype(np.float64), uniform, found, strict=True):
        weights = np.exp(row / temperature)[: top_k or None]
        weights /= weights.sum()
        kept = next(
            count for count in range(1, width + 1) if weights[:count].sum() >= top_p - 1e-12
        )
        reached = np.cumsum(weights[:kept])
        assert reached[rank] > number * reached[-1] * (1 - 1e-9)
        assert rank == 0 or reached[rank - 1] <= number * reached[-1] * (1 + 1e-9)
