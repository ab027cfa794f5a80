"""The SSRU of one token a row follows equation 3 of Kim et al. 2019 in float64, for any width."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

Run = Callable[..., list[np.ndarray]]
WIDTHS = st.sampled_from([1, 5, 8, 20, 64, 104])


class Case:
    """Packed projections, states, a step and a table of beams."""

    def __init__(self, seed: int, batch: int, beams: int, width: int, step: int) -> None:
        random = np.random.default_rng(seed)
        rows, self.beams, self.step = batch * beams, beams, step
        self.packed = (4 * random.standard_normal((rows, 2 * width))).astype(np.float32)
        self.states = random.standard_normal((rows, 1, 2, width)).astype(np.float32)
        tokens = step + 1 + seed % 3
        self.table = random.integers(0, beams, (batch, beams, tokens)).astype(np.int32)

    def inputs(self, with_table: bool = True) -> list[np.ndarray]:
        step = np.array([self.step], np.int32)
        return [self.packed, self.states, step, *([self.table] if with_table else [])]

    def expected(self, follows_beams: bool = True) -> tuple[np.ndarray, np.ndarray]:
        """The new states after ReLU, and all that are kept."""
        rows = np.arange(len(self.packed))
        if self.step and follows_beams:
            rows = rows - rows % self.beams + self.table[:, :, self.step - 1].ravel()
        before = self.states[rows, 0, 1 - self.step % 2].astype(np.float64)
        candidate, gate = np.split(self.packed.astype(np.float64), 2, axis=1)
        forget = 1 / (1 + np.exp(-gate))
        kept = self.states.astype(np.float64)
        kept[:, 0, self.step % 2] = forget * before + (1 - forget) * candidate
        return np.maximum(kept[:, 0, self.step % 2], 0), kept


@given(
    seed=st.integers(0, 2**31),
    batch=st.integers(1, 3),
    beams=st.integers(1, 4),
    width=WIDTHS,
    step=st.integers(0, 9),
)
@example(seed=0, batch=200, beams=4, width=104, step=3)  # More than one thread's work.
def test_a_step_follows_the_table_of_beams(run: Run, **sizes: int) -> None:
    case = Case(**sizes)
    for ours, theirs in zip(run("Ssru", case.inputs(), outputs=2), case.expected(), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-5)


@given(seed=st.integers(0, 2**31), width=WIDTHS, step=st.integers(0, 9))
def test_without_a_table_each_row_continues_itself(run: Run, **sizes: int) -> None:
    case = Case(batch=3, beams=1, **sizes)
    found = run("Ssru", case.inputs(with_table=False), outputs=2)
    for ours, theirs in zip(found, case.expected(follows_beams=False), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-5)


def test_gates_of_any_size_are_from_0_to_1(run: Run) -> None:
    gates = np.array([[-np.inf, -1e30, -200, -90, 0, 90, 200, 1e30, np.inf]], np.float32)
    packed = np.concatenate([np.zeros_like(gates), gates], axis=1)
    states = np.ones((1, 1, 2, gates.size), np.float32)
    found, _ = run("Ssru", [packed, states, np.array([1], np.int32)], outputs=2)
    np.testing.assert_allclose(found, [[0, 0, 0, 0, 0.5, 1, 1, 1, 1]], atol=1e-6)


@pytest.mark.parametrize("place", [0, 7, 8, 9])
def test_nan_stays_seen(run: Run, place: int) -> None:
    packed = np.ones((2, 20), np.float32)
    packed[1, place] = np.nan
    states = np.zeros((2, 1, 2, 10), np.float32)
    found, kept = run("Ssru", [packed, states, np.array([0], np.int32)], outputs=2)
    expected = np.zeros((2, 10), bool)
    expected[1, place] = True
    np.testing.assert_array_equal(np.isnan(found), expected)
    np.testing.assert_array_equal(np.isnan(kept[:, 0, 0]), expected)


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        (0, np.zeros((4, 15), np.float32), r"packed must have the shape \(4, 16, \), got \(4, 15"),
        (1, np.zeros((4, 1, 3, 8), np.float32), r"cached states must have the shape \(4, 1, 2, 8"),
        (1, np.zeros((3, 1, 2, 8), np.float32), "a multiple of 2 rows, .* got 3"),
        (2, np.array([-1], np.int32), "step must be at least 0, got -1"),
        (2, np.array([6], np.int32), "step 6 is outside beams of 5 tokens"),
        (
            3,
            np.full((2, 2, 5), 2, np.int32),
            "beams must be from 0 to 1, got 2 for token 1 of row 0",
        ),
        (3, np.zeros((1, 2, 5), np.int32), r"beams must have the shape \(2, 2, 5, \)"),
    ],
)
def test_inputs_that_do_not_fit_are_refused(
    run: Run, place: int, value: np.ndarray, message: str
) -> None:
    inputs: list[Any] = [
        np.zeros((4, 16), np.float32),
        np.zeros((4, 1, 2, 8), np.float32),
        np.array([2], np.int32),
        np.zeros((2, 2, 5), np.int32),
    ]
    inputs[place] = value
    with pytest.raises(Exception, match=message):
        run("Ssru", inputs, outputs=2)
