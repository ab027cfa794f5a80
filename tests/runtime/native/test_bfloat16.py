"""Products with weights in bfloat16 are what rounded operands give in float64, whatever rows are
beside a row, in linear layers, sub-layers and lookups."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from onnxruntime.capi.onnxruntime_pybind11_state import InvalidArgument, RuntimeException

from keras_transformer.export.onnx.layers.linear import Linear
from keras_transformer.export.onnx.quantize.bfloat16 import BFLOAT16, NativeBfloat16, pack

Run = Callable[..., list[np.ndarray]]
WIDTHS = st.integers(1, 90)
SEEDS = st.integers(0, 2**31)
# Each opens a session.
FEW = settings(max_examples=15)
REFUSALS = (InvalidArgument, RuntimeException)


def draw(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def rounded(values: np.ndarray) -> np.ndarray:
    """What ml_dtypes, which knows nothing of our operators, rounds to."""
    return values.astype(BFLOAT16).astype(np.float64)


def packed(kernel: np.ndarray, bias: np.ndarray) -> list[Any]:
    return [*NativeBfloat16().packed(Linear(kernel, bias))]


def apply(run: Run, x: np.ndarray, kernel: np.ndarray, bias: np.ndarray, relu: int = 0) -> Any:
    inputs = [x, *packed(kernel, bias)]
    return run("Bfloat16Linear", inputs, stored=(1, 2), units=len(bias), relu=relu)[0]


@given(seed=SEEDS, rows=st.integers(1, 70), inputs=WIDTHS, outputs=WIDTHS, relu=st.booleans())
# More than one thread's work, of many rows and of a few.
@example(seed=0, rows=400, inputs=80, outputs=1000, relu=True)
@example(seed=0, rows=3, inputs=2048, outputs=1999, relu=False)
@FEW
def test_outputs_are_the_float64_product_of_rounded_operands(
    run: Run, seed: int, rows: int, inputs: int, outputs: int, relu: bool
) -> None:
    kernel, bias, x = draw(seed, inputs, outputs), draw(seed + 1, outputs), draw(seed, rows, inputs)
    found = apply(run, x, kernel, bias, int(relu))
    expected = rounded(x) @ rounded(kernel) + bias
    expected = np.maximum(expected, 0) if relu else expected
    # A rounding of float32 for each sum, of which none is larger than this.
    error = np.abs(rounded(x)) @ np.abs(rounded(kernel)) + np.abs(bias)
    assert (np.abs(found - expected) <= 2**-24 * (inputs + 2) * error).all()


@given(seed=SEEDS, rows=st.integers(2, 70), inputs=WIDTHS, outputs=WIDTHS)
@FEW
def test_a_row_is_the_same_to_the_last_bit_among_any_others(
    run: Run, seed: int, rows: int, inputs: int, outputs: int
) -> None:
    kernel, bias, x = draw(seed, inputs, outputs), draw(seed + 1, outputs), draw(seed, rows, inputs)
    together, row = apply(run, x, kernel, bias), seed % rows
    np.testing.assert_array_equal(apply(run, x[[row]], kernel, bias)[0], together[row])


def test_inputs_are_rounded_to_the_nearest_and_ties_to_even(run: Run) -> None:
    # Their lower halves: below, at and above the middle between two numbers, of either parity.
    lower = np.array([0, 1, 0x7FFF, 0x8000, 0x8001, 0xFFFF], np.uint32)
    upper = np.array([0x3F80, 0x3F81, 0xBF7F, 0x4120], np.uint32)
    x = (upper[:, None] << 16 | lower).view(np.float32)
    found = apply(run, x, np.eye(6, dtype=np.float32), np.zeros(6, np.float32))
    np.testing.assert_array_equal(found, rounded(x))


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -float("inf")])
def test_what_is_no_number_stays_seen_in_its_own_row(run: Run, bad: float) -> None:
    x = np.ones((40, 19), np.float32)
    x[33, 18] = bad
    found = apply(run, x, draw(0, 19, 21), draw(1, 21))
    np.testing.assert_array_equal(np.isfinite(found).all(axis=1), np.arange(40) != 33)
    assert not np.isfinite(found[33]).any()


@given(seed=SEEDS, rows=st.integers(1, 70), width=WIDTHS, hidden=WIDTHS)
@example(seed=0, rows=500, width=64, hidden=128)
@FEW
def test_a_sub_layer_is_its_operators(
    run: Run, seed: int, rows: int, width: int, hidden: int
) -> None:
    x, residual, norm = draw(seed, rows, width), draw(seed + 1, rows, width), draw(seed, 2, width)
    first = draw(seed + 2, width, hidden), draw(seed + 3, hidden)
    last = draw(seed + 4, hidden, width), draw(seed + 5, width)
    inputs = [x, residual, *packed(*first), *packed(*last), *norm]
    flags: dict[str, Any] = {"units": hidden, "epsilon": 1e-6}
    found = run("FeedForwardSubLayer", inputs, 2, range(2, 8), **flags)
    change = apply(run, apply(run, x, *first, relu=1), *last)
    expected = run("AddNorm", [residual, change, *norm], 2, (2, 3), epsilon=1e-6)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)


@given(seed=SEEDS, count=WIDTHS, width=WIDTHS, batch=st.integers(0, 9))
@example(seed=0, count=30, width=500, batch=900)
@FEW
def test_a_lookup_gives_rounded_rows(
    run: Run, seed: int, count: int, width: int, batch: int
) -> None:
    table = draw(seed, count, width)
    ids = np.random.default_rng(seed).integers(0, count, (batch, 3)).astype(np.int32)
    for wanted in (ids, ids.reshape(-1), ids.reshape(1, 3, batch)):
        inputs = [pack(table), wanted]
        [found] = run("Bfloat16LookUp", inputs, stored=(0,), units=count, width=width)
        np.testing.assert_array_equal(found, rounded(table)[wanted])


@pytest.mark.parametrize("bad", [-1, 30, 2**31 - 1])
def test_an_id_outside_the_table_is_refused(run: Run, bad: int) -> None:
    inputs = [pack(draw(0, 30, 8)), np.array([0, bad, 1], np.int32)]
    with pytest.raises(InvalidArgument, match=f"ids must be from 0 to 29, got {bad}"):
        run("Bfloat16LookUp", inputs, stored=(0,), units=30, width=8)


KERNEL, BIAS = packed(draw(0, 40, 24), draw(1, 24))
ROWS = draw(2, 3, 40)
NORM = [draw(3, 24), draw(4, 24)]
LINEAR, TABLE = {"units": 24, "relu": 0}, {"units": 24, "width": 40}
HIDDEN = {"units": 24, "epsilon": 1e-6}
ID = np.zeros(1, np.int32)
# Operators, their inputs, which of them are stored, attributes and what they say.
BAD: dict[str, tuple[str, list[np.ndarray], tuple[int, ...], dict[str, Any], str]] = {
    "wider rows": ("Bfloat16Linear", [draw(0, 3, 65), KERNEL, BIAS], (1, 2), LINEAR,
                   r"weights must have the shape \(2, 48, 16, 2, \), got \(2, 32, 16, 2, \)"),
    "more outputs": ("Bfloat16Linear", [ROWS, KERNEL, BIAS], (1, 2), {**LINEAR, "units": 33},
                     r"weights must have the shape \(3, 32, 16, 2, \)"),
    "flat weights": ("Bfloat16Linear", [ROWS, KERNEL.reshape(64, 16, 2), BIAS], (1, 2), LINEAR,
                     "weights must have 4 axes"),
    "fewer biases": ("Bfloat16Linear", [ROWS, KERNEL, BIAS[:1]], (1, 2), LINEAR,
                     r"biases must have the shape \(2, 16, \), got \(1, 16, \)"),
    "weights that are given": ("Bfloat16Linear", [ROWS, KERNEL, BIAS], (2,), LINEAR,
                               "weights must be stored in the graph"),
    "a larger table": ("Bfloat16LookUp", [KERNEL, ID], (0,), {**TABLE, "units": 33},
                       r"weights must have the shape \(3, 32, 16, 2"),
    "no width": ("Bfloat16LookUp", [KERNEL, ID], (0,), {**TABLE, "width": 0},
                 "width must be from 1"),
    "ids of four axes": ("Bfloat16LookUp", [KERNEL, ID.reshape(1, 1, 1, 1)], (0,), TABLE,
                         "ids must have at most 3 axes, got the shape"),
    "another type": ("FeedForwardSubLayer",
                     [ROWS, ROWS, KERNEL.astype(np.int32), BIAS, KERNEL, BIAS, *NORM],
                     tuple(range(2, 8)), HIDDEN,
                     "weights must be int8, 4 bits in uint8, bfloat16 or float32, got the"),
    "a wider norm": ("FeedForwardSubLayer",
                     [ROWS, ROWS, KERNEL, BIAS, KERNEL, BIAS, draw(3, 40), draw(4, 40)],
                     tuple(range(2, 8)), HIDDEN, r"weights must have the shape \(3, 16"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD.values(), ids=BAD.keys())
def test_what_does_not_fit_is_refused(run: Run, case: tuple[Any, ...]) -> None:
    name, inputs, stored, attributes, message = case
    with pytest.raises(REFUSALS, match=message):
        run(name, inputs, 2 if "SubLayer" in name else 1, stored, **attributes)
