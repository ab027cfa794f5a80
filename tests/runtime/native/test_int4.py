"""Products with 4-bit weights are what rounded operands give in float64, whatever rows are beside a
row, in linear layers, sub-layers and lookups."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from onnxruntime.capi.onnxruntime_pybind11_state import InvalidArgument, RuntimeException

from keras_transformer.export.onnx.layers.linear import Linear
from keras_transformer.export.onnx.quantize.int4 import Int4Matrices
from keras_transformer.export.onnx.quantize.int4_blocks import Int4Blocks, in_blocks
from keras_transformer.export.onnx.quantize.native_int4 import NativeInt4, pack
from keras_transformer.export.onnx.settings import Int4Form

Run = Callable[..., list[np.ndarray]]
WIDTHS = st.integers(16, 300)
SEEDS = st.integers(0, 2**31)
FORMS = st.builds(Int4Form, st.sampled_from([32, 128]), st.booleans())
# Each opens a session.
FEW = settings(max_examples=8)
REFUSALS = (InvalidArgument, RuntimeException)


def draw(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def held(kernel: np.ndarray, form: Int4Form) -> np.ndarray:
    """The kernel that 4 bits stand for."""
    return Int4Blocks.nearest(kernel.T, form).lines(len(kernel)).T.astype(np.float64)


def rounded(x: np.ndarray, form: Int4Form) -> np.ndarray:
    """Rows in bytes, each block with a step of its own."""
    blocks = in_blocks(x, form.block_size).astype(np.float64)
    steps = np.abs(blocks).max(axis=2, keepdims=True) / 127
    values = np.rint(blocks / np.where(steps > 0, steps, 1)) * steps
    return values.reshape(len(x), -1)[:, : x.shape[1]]


def packed(kernel: np.ndarray, bias: np.ndarray, form: Int4Form) -> list[Any]:
    return [*NativeInt4(Int4Matrices(form)).packed(Linear(kernel, bias))]


def apply(
    run: Run, x: np.ndarray, kernel: np.ndarray, bias: np.ndarray, form: Int4Form, relu: int = 0
) -> Any:
    inputs = [x, *packed(kernel, bias, form)]
    return run("Int4Linear", inputs, stored=(1, 2), units=len(bias), relu=relu)[0]


@given(seed=SEEDS, rows=st.integers(1, 70), inputs=WIDTHS, outputs=WIDTHS, form=FORMS)
# More than one thread's work, of many rows and of a few.
@example(seed=0, rows=400, inputs=80, outputs=1000, form=Int4Form())
@example(seed=0, rows=3, inputs=2048, outputs=1999, form=Int4Form(128, True))
@FEW
def test_outputs_are_the_float64_product_of_rounded_operands(
    run: Run, seed: int, rows: int, inputs: int, outputs: int, form: Int4Form
) -> None:
    kernel, bias, x = draw(seed, inputs, outputs), draw(seed + 1, outputs), draw(seed, rows, inputs)
    found = apply(run, x, kernel, bias, form, relu=seed % 2)
    expected = rounded(x, form) @ held(kernel, form) + bias
    expected = np.maximum(expected, 0) if seed % 2 else expected
    # A float32 rounding may move a value to the byte beside it, rarely.
    size = np.abs(rounded(x, form)) @ np.abs(held(kernel, form)) + np.abs(bias)
    assert (np.abs(found - expected) <= 2**-20 * size + 0.15).all()
    assert np.median(np.abs(found - expected)) < 1e-4


@given(seed=SEEDS, rows=st.integers(2, 70), inputs=WIDTHS, outputs=WIDTHS, form=FORMS)
@FEW
def test_a_row_is_the_same_to_the_last_bit_among_any_others(
    run: Run, seed: int, rows: int, inputs: int, outputs: int, form: Int4Form
) -> None:
    kernel, bias, x = draw(seed, inputs, outputs), draw(seed + 1, outputs), draw(seed, rows, inputs)
    together, row = apply(run, x, kernel, bias, form), seed % rows
    np.testing.assert_array_equal(apply(run, x[[row]], kernel, bias, form)[0], together[row])


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -float("inf")])
def test_what_is_no_number_stays_seen_in_its_own_row(run: Run, bad: float) -> None:
    x = np.ones((40, 19), np.float32)
    x[33, 18] = bad
    found = apply(run, x, draw(0, 19, 21), draw(1, 21), Int4Form())
    np.testing.assert_array_equal(np.isfinite(found).all(axis=1), np.arange(40) != 33)
    assert not np.isfinite(found[33]).any()


def test_rows_of_zeros_and_of_tiny_numbers_give_the_bias(run: Run) -> None:
    x, bias = np.zeros((3, 40), np.float32), draw(1, 21)
    x[1], x[2] = 1e-38, -1e-44
    found = apply(run, x, draw(0, 40, 21), bias, Int4Form())
    np.testing.assert_array_equal(found, np.tile(bias, (3, 1)))


@given(seed=SEEDS, rows=st.integers(1, 70), width=WIDTHS, hidden=WIDTHS, form=FORMS)
@example(seed=0, rows=500, width=64, hidden=128, form=Int4Form())
@FEW
def test_a_sub_layer_is_its_operators(
    run: Run, seed: int, rows: int, width: int, hidden: int, form: Int4Form
) -> None:
    x, residual, norm = draw(seed, rows, width), draw(seed + 1, rows, width), draw(seed, 2, width)
    first = draw(seed + 2, width, hidden), draw(seed + 3, hidden)
    last = draw(seed + 4, hidden, width), draw(seed + 5, width)
    inputs = [x, residual, *packed(*first, form), *packed(*last, form), *norm]
    flags: dict[str, Any] = {"units": hidden, "epsilon": 1e-6}
    found = run("FeedForwardSubLayer", inputs, 2, range(2, 8), **flags)
    change = apply(run, apply(run, x, *first, form, relu=1), *last, form)
    expected = run("AddNorm", [residual, change, *norm], 2, (2, 3), epsilon=1e-6)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)


def packed_table(table: np.ndarray, form: Int4Form) -> np.ndarray:
    return pack(Int4Blocks.nearest(table, form), form)


@given(seed=SEEDS, count=WIDTHS, width=st.integers(1, 300), batch=st.integers(0, 9), form=FORMS)
@FEW
def test_a_lookup_gives_the_rows_that_4_bits_stand_for(
    run: Run, seed: int, count: int, width: int, batch: int, form: Int4Form
) -> None:
    table = draw(seed, count, width)
    ids = np.random.default_rng(seed).integers(0, count, (batch, 3)).astype(np.int32)
    for wanted in (ids, ids.reshape(-1), ids.reshape(1, 3, batch)):
        inputs = [packed_table(table, form), wanted]
        [found] = run("Int4LookUp", inputs, stored=(0,), units=count, width=width)
        np.testing.assert_array_equal(found, held(table.T, form).T[wanted])


KERNEL, BIAS = packed(draw(0, 40, 24), draw(1, 24), Int4Form())
ROWS = draw(2, 3, 40)
LINEAR, TABLE = {"units": 24, "relu": 0}, {"units": 24, "width": 40}
ID = np.zeros(1, np.int32)
# Operators, their inputs, which of them are stored, attributes and what they say.
BAD: dict[str, tuple[str, list[np.ndarray], tuple[int, ...], dict[str, Any], str]] = {
    "wider rows": ("Int4Linear", [draw(0, 3, 65), KERNEL, BIAS], (1, 2), LINEAR,
                   r"weights must have the shape \(2, 3, 18, 16, \), got \(2, 2, 18, 16, \)"),
    "more outputs": ("Int4Linear", [ROWS, KERNEL, BIAS], (1, 2), {**LINEAR, "units": 33},
                     r"weights must have the shape \(3, 2, 18, 16, \)"),
    "flat weights": ("Int4Linear", [ROWS, KERNEL.reshape(4, 18, 16), BIAS], (1, 2), LINEAR,
                     "weights must have 4 axes"),
    "another size of blocks": ("Int4Linear", [ROWS, KERNEL.reshape(2, 1, 36, 16), BIAS], (1, 2),
                               LINEAR, "weights must have 18, 19, 66 or 67 lines, got the shape"),
    "narrower lines": ("Int4Linear", [ROWS, KERNEL.reshape(2, 4, 18, 8), BIAS], (1, 2), LINEAR,
                       r"weights must have the shape \(2, 2, 18, 16"),
    "fewer biases": ("Int4Linear", [ROWS, KERNEL, BIAS[:1]], (1, 2), LINEAR,
                     r"biases must have the shape \(2, 16, \), got \(1, 16, \)"),
    "weights that are given": ("Int4Linear", [ROWS, KERNEL, BIAS], (2,), LINEAR,
                               "weights must be stored in the graph"),
    "a larger table": ("Int4LookUp", [KERNEL, ID], (0,), {**TABLE, "units": 33},
                       r"weights must have the shape \(3, 2, 18, 16"),
    "no width": ("Int4LookUp", [KERNEL, ID], (0,), {**TABLE, "width": 0}, "width must be from 1"),
    "an id outside": ("Int4LookUp", [KERNEL, ID + 24], (0,), TABLE,
                      "ids must be from 0 to 23, got 24"),
    "ids of four axes": ("Int4LookUp", [KERNEL, ID.reshape(1, 1, 1, 1)], (0,), TABLE,
                         "ids must have at most 3 axes, got the shape"),
    "a wider norm": ("FeedForwardSubLayer",
                     [ROWS, ROWS, KERNEL, BIAS, KERNEL, BIAS, draw(3, 400), draw(4, 400)],
                     tuple(range(2, 8)), {"units": 24, "epsilon": 1e-6},
                     r"weights must have the shape \(2, 13"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD.values(), ids=BAD.keys())
def test_what_does_not_fit_is_refused(run: Run, case: tuple[Any, ...]) -> None:
    name, inputs, stored, attributes, message = case
    with pytest.raises(REFUSALS, match=message):
        run(name, inputs, 2 if "SubLayer" in name else 1, stored, **attributes)
