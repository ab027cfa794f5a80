"""GELU and the gates are those of their papers in float64, and keep what is no number."""

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


def silu(x: np.ndarray) -> np.ndarray:
    return x / (1 + np.exp(-x))


FORMS = {"Gelu": exact, "TanhGelu": with_tangent}
GATES = {"GeluGate": exact, "TanhGeluGate": with_tangent, "SiluGate": silu}


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


@pytest.mark.parametrize("name", GATES)
@given(rows=st.integers(1, 40), units=st.integers(1, 40), size=st.sampled_from([1e-3, 3.0, 80.0]))
def test_a_gate_is_one_half_times_the_activation_of_the_other(
    run: Run, name: str, rows: int, units: int, size: float
) -> None:
    x = np.random.default_rng(rows).normal(0, size, (rows, 2 * units)).astype(np.float32)
    [found] = run(name, [x])
    hidden, gate = np.split(x.astype(np.float64), 2, axis=1)
    expected = GATES[name](hidden) * gate
    np.testing.assert_allclose(found, expected, rtol=2e-6, atol=4e-7 * np.abs(gate).max())


def test_a_gate_has_two_halves(run: Run) -> None:
    with pytest.raises(Exception, match=r"values must have the shape \(2, 4, \), got \(2, 5, \)"):
        run("SiluGate", [np.zeros((2, 5), np.float32)])
