"""GELU is that of its paper in float64, and keeps what is no number."""

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

Run = Callable[..., list[np.ndarray]]


def exact(x: np.ndarray) -> np.ndarray:
    return np.vectorize(lambda value: value / 2 * math.erfc(-value / math.sqrt(2)))(x)


def with_tangent(x: np.ndarray) -> np.ndarray:
    return x / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


FORMS = {"Gelu": exact, "TanhGelu": with_tangent}


@pytest.mark.parametrize("name", FORMS)
@given(
    rows=st.integers(1, 40),
    width=st.integers(1, 40),
    size=st.sampled_from([1e-3, 1.0, 3.0, 100.0]),
)
def test_it_is_that_of_the_paper(run: Run, name: str, rows: int, width: int, size: float) -> None:
    x = np.random.default_rng(rows).normal(0, size, (rows, width)).astype(np.float32)
    [found] = run(name, [x])
    np.testing.assert_allclose(found, FORMS[name](x.astype(np.float64)), rtol=1e-6, atol=4e-7)


@pytest.mark.parametrize("name", FORMS)
def test_it_keeps_what_is_no_number_and_has_limits(run: Run, name: str) -> None:
    [found] = run(name, [np.array([[np.nan, 0, 3e38, -3e38, 1e-40]], np.float32)])
    np.testing.assert_array_equal(found, np.array([[np.nan, 0, 3e38, 0, 5e-41]], np.float32))
