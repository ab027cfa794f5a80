"""Products with weights in float32 are those of float64 but for its rounding, and a row's are the
same whatever rows are beside it, in linear layers, sub-layers and the ranking of a vocabulary."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from onnxruntime.capi.onnxruntime_pybind11_state import InvalidArgument, RuntimeException

Run = Callable[..., list[np.ndarray]]
WIDTHS = st.integers(1, 90)
ROWS_OF = st.integers(1, 70)
SEEDS = st.integers(0, 2**31)
# Each opens a session.
FEW = settings(max_examples=15)
REFUSALS = (InvalidArgument, RuntimeException)


def draw(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def apply(
    run: Run,
    x: np.ndarray,
    kernel: np.ndarray,
    bias: np.ndarray,
    *,
    relu: bool = False,
    transposed: bool = False,
) -> Any:
    stored = np.ascontiguousarray(kernel.T) if transposed else kernel
    flags = {"units": len(bias), "relu": int(relu), "transposed": int(transposed)}
    return run("Float32Linear", [x, stored, bias], stored=(1, 2), **flags)[0]


@given(
    seed=SEEDS, rows=ROWS_OF, inputs=WIDTHS, outputs=WIDTHS, relu=st.booleans(), turn=st.booleans()
)
# More than one thread's work, of many rows and of a few, and rows a page apart.
@example(seed=0, rows=400, inputs=80, outputs=1000, relu=True, turn=False)
@example(seed=0, rows=3, inputs=2048, outputs=1999, relu=False, turn=True)
@example(seed=0, rows=40, inputs=1024, outputs=33, relu=False, turn=False)
@FEW
def test_outputs_are_the_float64_product(
    run: Run, seed: int, rows: int, inputs: int, outputs: int, relu: bool, turn: bool
) -> None:
    kernel, bias, x = draw(seed, inputs, outputs), draw(seed + 1, outputs), draw(seed, rows, inputs)
    found = apply(run, x, kernel, bias, relu=relu, transposed=turn)
    expected = x.astype(np.float64) @ kernel.astype(np.float64) + bias
    expected = np.maximum(expected, 0) if relu else expected
    # A rounding of float32 for each product and each sum, of which none is larger than this.
    error = np.abs(x) @ np.abs(kernel) + np.abs(bias)
    assert (np.abs(found - expected) <= 2**-23 * (inputs + 1) * error).all()


@given(seed=SEEDS, rows=st.integers(2, 70), inputs=WIDTHS, outputs=WIDTHS)
@example(seed=5, rows=37, inputs=1024, outputs=50)
@FEW
def test_a_row_is_the_same_to_the_last_bit_among_any_others(
    run: Run, seed: int, rows: int, inputs: int, outputs: int
) -> None:
    kernel, bias, x = draw(seed, inputs, outputs), draw(seed + 1, outputs), draw(seed, rows, inputs)
    together = apply(run, x, kernel, bias)
    for some in (slice(seed % rows, seed % rows + 1), slice(seed % rows, None)):
        np.testing.assert_array_equal(apply(run, x[some], kernel, bias), together[some])


@pytest.mark.parametrize("relu", [False, True])
@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -float("inf")])
def test_what_is_no_number_stays_seen_in_its_own_row(run: Run, bad: float, relu: bool) -> None:
    x = np.ones((40, 19), np.float32)
    x[33, 18] = bad
    found = apply(run, x, draw(0, 19, 21), draw(1, 21), relu=relu)
    np.testing.assert_array_equal(np.isfinite(found).all(axis=1), np.arange(40) != 33)
    expected = np.maximum(bad * np.sign(draw(0, 19, 21)[18]), 0 if relu else -np.inf)
    np.testing.assert_array_equal(found[33][expected != 0], expected[expected != 0])


@given(seed=SEEDS, rows=ROWS_OF, width=WIDTHS, hidden=WIDTHS)
@example(seed=0, rows=500, width=64, hidden=128)
@FEW
def test_a_sub_layer_is_its_operators(
    run: Run, seed: int, rows: int, width: int, hidden: int
) -> None:
    x, residual, norm = draw(seed, rows, width), draw(seed + 1, rows, width), draw(seed, 2, width)
    first = draw(seed + 2, width, hidden), draw(seed + 3, hidden)
    last = draw(seed + 4, hidden, width), draw(seed + 5, width)
    inputs = [x, residual, *first, *last, *norm]
    flags: dict[str, Any] = {"units": hidden, "epsilon": 1e-6}
    found = run("FeedForwardSubLayer", inputs, 2, range(2, 8), **flags)
    change = apply(run, apply(run, x, *first, relu=True), *last)
    expected = run("AddNorm", [residual, change, *norm], 2, (2, 3), epsilon=1e-6)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)


@given(
    seed=SEEDS,
    batch=st.integers(1, 3),
    beams=st.integers(1, 4),
    vocabulary=st.integers(1, 900),
    count=st.sampled_from([1, 9, 70]),
)
@example(seed=0, batch=9, beams=4, vocabulary=30_001, count=9)  # More than one thread's work.
@FEW
def test_continuations_are_those_of_the_products(
    run: Run, seed: int, batch: int, beams: int, vocabulary: int, count: int
) -> None:
    width = 42
    matrix, states = draw(seed, vocabulary, width), draw(seed + 1, batch * beams, width)
    totals = draw(seed + 2, batch, beams)

    def ranked(states: np.ndarray, totals: np.ndarray) -> list[np.ndarray]:
        inputs = [states, totals, np.array([count]), matrix]
        return run("BestContinuationsOfFloats", inputs, 4, stored=(3,))

    *found, logits = ranked(states, totals)
    bias = np.zeros(vocabulary, np.float32)
    np.testing.assert_array_equal(logits, apply(run, states, matrix.T, bias, transposed=True))
    expected = run("BestContinuations", [logits, totals, np.array([count])], outputs=3)
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    for ours, alone in zip(found, ranked(states[-beams:], totals[-1:]), strict=False):
        np.testing.assert_array_equal(ours[-1], alone[0])


def test_a_lookup_gives_rows(run: Run) -> None:
    table, row = draw(0, 30, 7), np.array([29, 0, 3, 3], np.int32)
    for ids in (row, row.reshape(2, 2)):
        [found] = run("Float32LookUp", [table, ids], stored=(0,))
        np.testing.assert_array_equal(found, table[ids])


KERNEL, BIAS, X = draw(0, 40, 24), draw(1, 24), draw(2, 3, 40)
NORM = [draw(3, 24), draw(4, 24)]
LINEAR = {"units": 24, "relu": 0, "transposed": 0}
HIDDEN = {"units": 24, "epsilon": 1e-6}
TOTALS = np.zeros((1, 3), np.float32)
# Operators, their inputs, which of them are stored, attributes and what they say.
BAD: dict[str, tuple[str, list[np.ndarray], tuple[int, ...], dict[str, Any], str]] = {
    "wider rows": ("Float32Linear", [draw(0, 3, 41), KERNEL, BIAS], (1, 2), LINEAR,
                   r"weights must have the shape \(41, 24, \), got \(40, 24, \)"),
    "weights the other way": ("Float32Linear", [X, KERNEL, draw(1, 40)], (1, 2),
                              {**LINEAR, "transposed": 1},
                              r"weights must have the shape \(40, 24, \), got \(24, 40, \)"),
    "more outputs": ("Float32Linear", [X, KERNEL, BIAS], (1, 2), {**LINEAR, "units": 25},
                     r"weights must have the shape \(40, 25, \)"),
    "weights of one axis": ("Float32Linear", [X, KERNEL.ravel(), BIAS], (1, 2), LINEAR,
                            "weights must have 2 axes"),
    "fewer biases": ("Float32Linear", [X, KERNEL, BIAS[:8]], (1, 2), LINEAR,
                     r"biases must have the shape \(24, \), got \(8, \)"),
    "weights that are given": ("Float32Linear", [X, KERNEL, BIAS], (2,), LINEAR,
                               "weights must be stored in the graph"),
    "a negative id": ("Float32LookUp", [KERNEL, np.array([-1], np.int32)], (0,), {},
                      "ids must be from 0 to 39, got -1"),
    "an id behind the last": ("Float32LookUp", [KERNEL, np.array([40], np.int32)], (0,), {},
                              "ids must be from 0 to 39, got 40"),
    "a wider norm": ("FeedForwardSubLayer", [X, X, KERNEL, BIAS, KERNEL, BIAS, *NORM],
                     tuple(range(2, 8)), HIDDEN, r"weights must have the shape \(24, 24, \)"),
    "wider states": ("BestContinuationsOfFloats", [X, TOTALS, np.array([2]), KERNEL], (3,), {},
                     r"states must have the shape \(3, 24, \), got \(3, 40, \)"),
    "more totals": ("BestContinuationsOfFloats",
                    [X[:2, :24].copy(), TOTALS, np.array([2]), KERNEL], (3,), {},
                    "logits need a row for each total"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD.values(), ids=BAD.keys())
def test_what_does_not_fit_is_refused(run: Run, case: tuple[Any, ...]) -> None:
    name, inputs, stored, attributes, message = case
    outputs = {"FeedForwardSubLayer": 2, "BestContinuationsOfFloats": 4}.get(name, 1)
    with pytest.raises(REFUSALS, match=message):
        run(name, inputs, outputs, stored, **attributes)
