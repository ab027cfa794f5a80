"""Operators refuse what they cannot read, and show that a model diverged: no input makes them read
memory that is not theirs or give finite numbers for NaN."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from onnxruntime.capi.onnxruntime_pybind11_state import InvalidArgument, RuntimeException

from keras_transformer.export.onnx.quantize.byte_screen import ByteScreen

Run = Callable[..., list[np.ndarray]]
NAN = float("nan")


def zeros(*shape: int) -> np.ndarray:
    return np.zeros(shape, np.float32)


def numbers(*values: int, dtype: Any = np.int32) -> np.ndarray:
    return np.array(values, dtype)


def self_attention(rows: int, beams: np.ndarray, step: int = 2) -> list[np.ndarray]:
    cache = zeros(rows, 2, 4, 8)
    return [zeros(rows, 48), cache, cache.copy(), numbers(step), beams]


@pytest.mark.parametrize("beam", [2**31 - 1, -1000, -1, 2, 1000])
def test_a_beam_that_a_sentence_lacks_is_refused(run: Run, beam: int) -> None:
    beams = np.zeros((2, 2, 4), np.int32)
    beams[1, 0, 1] = beam
    message = f"beams must be from 0 to 1, got {beam} for token 1 of row 2"
    with pytest.raises(InvalidArgument, match=message):
        run("SelfAttention", self_attention(4, beams), outputs=3)


def test_beams_of_tokens_to_come_are_not_looked_at(run: Run) -> None:
    beams = np.zeros((2, 2, 4), np.int32)
    beams[:, :, 2:] = 2**31 - 1
    found, *_ = run("SelfAttention", self_attention(4, beams), outputs=3)
    assert np.isfinite(found).all()


@pytest.mark.parametrize("beams", [2, 4, 0])
def test_rows_that_are_no_multiple_of_the_beams_are_refused(run: Run, beams: int) -> None:
    table = np.zeros((5 // beams if beams else 5, beams, 4), np.int32)
    with pytest.raises(InvalidArgument, match=f"a multiple of {beams} rows.* got 5"):
        run("SelfAttention", self_attention(5, table), outputs=3)


# The size of an axis that no loop should count to, and the widest product of bytes.
MANY, WIDEST = 2**40, 2**16
BAD: dict[str, tuple[str, list[np.ndarray], int, tuple[int, ...], dict[str, Any], str]] = {
    "trailing axis": ("AddNorm", [zeros(2, 8, 0), zeros(2, 8), zeros(8), zeros(8)], 2, (2, 3),
                      {"epsilon": 1e-6}, r"x must have the shape \(2, 8, \), got \(2, 8, 0, \)"),
    "no step": ("SelfAttention", [zeros(1, 24), zeros(1, 1, 4, 8), zeros(1, 1, 4, 8), numbers()],
                3, (), {}, r"step must have the shape \(1, \)"),
    "no count": ("BestContinuations", [zeros(2, 9), zeros(1, 2), numbers(dtype=np.int64)], 3, (),
                 {}, r"count must have the shape \(1, \)"),
    "no vocabulary": ("BestContinuations", [zeros(2, 0), zeros(1, 2), numbers(1, dtype=np.int64)],
                      3, (), {}, "the vocabulary must be from 1"),
    "one axis": ("BestContinuations", [zeros(2), zeros(1, 2), numbers(1, dtype=np.int64)], 3, (),
                 {}, "logits must have 2 axes"),
    "no heads": ("SequenceAttention", [zeros(6, 24), np.ones((2, 3), np.int32)], 1, (),
                 {"heads": 0}, "heads must be from 1"),
    "no parts": ("SplitHeads", [zeros(6, 24), np.ones((2, 3), np.int32)], 1, (),
                 {"heads": 2, "parts": 0}, "parts must be from 1"),
    "more parts": ("SplitHeads", [zeros(6, 24), np.ones((2, 3), np.int32)], 2, (),
                   {"heads": 2, "parts": 3}, "parts must be 2, as many as outputs, got 3"),
    "no beams": ("BestContinuations", [zeros(0, 9), zeros(MANY, 0), numbers(1, dtype=np.int64)], 3,
                 (), {}, "beams must be from 1"),
    "no ids": ("ListedIds", [numbers(), np.full((1, 3), -1, np.int32), numbers(0)], 1, (), {},
               "ids must not be empty"),
    "wide rows": ("ListedByteLogits", [zeros(1, WIDEST + 1), numbers(0), np.zeros((1, 1), np.int32),
                                       np.ones((1, WIDEST + 1), np.int8), zeros(1)], 1, (3, 4), {},
                  "width must be at most 65536, got 65537"),
    "many inputs": ("BytesLinear", [zeros(1, 2 * WIDEST),
                                    np.full((1, WIDEST // 2, 16, 4), -128, np.int8),
                                    zeros(1, 2, 16)], 1, (1, 2), {"units": 16, "relu": 0},
                    "inputs must be at most 65536, got 131072"),
    "no norm": ("AddNorm", [zeros(MANY, 0), zeros(MANY, 0), zeros(0), zeros(0)], 2, (2, 3),
                {"epsilon": 1e-6}, "gamma must be stored in the graph"),
    "no width": ("LargestPlace", [zeros(2, 0)], 1, (), {}, "the width of values must be from 1"),
    "bias": ("ScaleSums", [np.zeros((2, 3), np.int32), zeros(3), zeros(2, 1), zeros(3)], 1, (1,),
             {"relu": 0}, "bias must be stored in the graph"),
    "middle": ("QuantizeRows", [zeros(2, 3)], 2, (), {"middle": 7}, "middle must be 0 or 128"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD.values(), ids=BAD.keys())
def test_what_does_not_fit_is_refused(run: Run, case: tuple[Any, ...]) -> None:
    name, inputs, outputs, stored, attributes, message = case
    with pytest.raises((InvalidArgument, RuntimeException), match=message):
        run(name, inputs, outputs, stored, **attributes)


NO_WIDTH: dict[str, tuple[list[np.ndarray], int, tuple[int, ...], dict[str, Any]]] = {
    "SelfAttention": ([zeros(MANY, 0), *[zeros(MANY, 2, 4, 0)] * 2, numbers(2)], 3, (), {}),
    "Ssru": ([zeros(MANY, 0), zeros(MANY, 1, 2, 0), numbers(0)], 2, (), {}),
    "CrossAttention": ([zeros(MANY, 0), *[zeros(1, 2, 3, 0)] * 2, np.ones((1, 3), np.int32)], 1,
                       (), {}),
    "SequenceAttention": ([zeros(6, 0), np.ones((2, 3), np.int32)], 1, (), {"heads": 2**31 - 1}),
    "SplitHeads": ([zeros(6, 0), np.ones((2, 3), np.int32)], 1, (),
                   {"heads": 2**31 - 1, "parts": 1}),
    "QuantizeRows": ([zeros(MANY, 0)], 2, (), {"middle": 128}),
}  # fmt: skip


@pytest.mark.parametrize("name", NO_WIDTH)
def test_rows_without_numbers_are_refused_however_many_they_are(run: Run, name: str) -> None:
    inputs, outputs, stored, attributes = NO_WIDTH[name]
    with pytest.raises((InvalidArgument, RuntimeException), match="width must be from 1"):
        run(name, inputs, outputs, stored, **attributes)


def test_sentences_without_places_are_not_counted_through(run: Run) -> None:
    no_places = np.zeros((MANY, 0), np.int32)
    mask, positions = run("TokenPositions", [no_places], outputs=2, pad=0)
    assert (mask.shape, positions.shape) == ((MANY, 0), (0,))
    [attended] = run("SequenceAttention", [zeros(0, 24), no_places], heads=2)
    assert attended.shape == (0, 8)
    [split] = run("SplitHeads", [zeros(0, 8), no_places], heads=2, parts=1)
    assert split.shape == (MANY, 2, 0, 4)
    [logits] = run("ListedLogits", [zeros(0, 8), numbers(0), no_places, zeros(3, 8)], stored=(3,))
    assert logits.shape == (0, 0)


def test_places_of_no_sentences_need_no_room(run: Run) -> None:
    [attended] = run("SequenceAttention", [zeros(0, 24), np.zeros((0, MANY), np.int32)], heads=2)
    assert attended.shape == (0, 8)


def test_what_onnxruntime_says_is_kept(run: Run) -> None:
    with pytest.raises(Exception, match="heads"):
        run("SequenceAttention", [zeros(6, 24), np.ones((2, 3), np.int32)])


@pytest.mark.parametrize("bad", [NAN, float("inf"), -float("inf")])
@pytest.mark.parametrize("place", [0, 9, 18])
def test_nan_and_infinity_stay_seen_in_products_of_bytes(run: Run, bad: float, place: int) -> None:
    values = np.ones((3, 19), np.float32)
    values[1, place] = bad
    weights = [np.ones((1, 10, 16, 2), np.int8), np.ones((1, 2, 16), np.float32)]
    [found] = run("BytesLinear", [values, *weights], stored=(1, 2), units=5, relu=1)
    np.testing.assert_array_equal(np.isnan(found).all(axis=1), [False, True, False])
    assert np.isfinite(found[[0, 2]]).all()
    sums, scales = run("QuantizeRows", [values], outputs=2, middle=128)
    inputs = [sums.astype(np.int32), np.ones(19, np.float32), scales]
    [ended] = run("ScaleSums", inputs, stored=(1,), relu=1)
    np.testing.assert_array_equal(np.isnan(ended).all(axis=1), [False, True, False])


@pytest.mark.parametrize("place", [0, 8, 19, 300])
@pytest.mark.parametrize("bad", [NAN, float("inf")])
def test_logits_that_are_no_numbers_have_no_continuations(run: Run, place: int, bad: float) -> None:
    logits = zeros(300, 301)  # More than one thread's work.
    logits[299, place] = bad
    inputs = [logits, zeros(150, 2), numbers(8, dtype=np.int64)]
    with pytest.raises(InvalidArgument, match="row 299 holds NaN or infinity"):
        run("BestContinuations", inputs, outputs=3)


VOCABULARY, WIDTH = 1201, 80
MATRIX = np.random.default_rng(0).standard_normal((VOCABULARY, WIDTH)).astype(np.float32)
TOTALS = [zeros(20, 2), numbers(5, dtype=np.int64)]
# Operators, what each takes between states and vocabulary, and behind it, and how many outputs.
HEADS: dict[str, tuple[str, list[np.ndarray], list[np.ndarray], int]] = {
    "exact": ("BestToken", [], [MATRIX], 1),
    "bytes": ("BestToken", [], [], 1),
    "beams": ("BestContinuationsOfStates", TOTALS, [], 4),
}


def best(run: Run, head: str, states: np.ndarray, **changed: list[np.ndarray]) -> list[np.ndarray]:
    name, between, behind, outputs = HEADS[head]
    between, behind = changed.get("between", between), changed.get("behind", behind)
    vocabulary = [*changed.get("screen", ByteScreen.of(MATRIX)), *behind]
    inputs = [states, *between, *vocabulary]
    stored = range(len(inputs) - len(vocabulary), len(inputs))
    return run(name, inputs, outputs, stored, vocabulary=VOCABULARY)


@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("place", [0, WIDTH - 1])
@pytest.mark.parametrize("bad", [NAN, float("inf"), -float("inf"), 3e38])
def test_states_that_are_no_numbers_have_no_best_tokens(
    run: Run, head: str, place: int, bad: float
) -> None:
    states = np.ones((40, WIDTH), np.float32)  # More than one thread's work.
    states[33, place] = bad
    with pytest.raises(InvalidArgument, match="row 33 "):
        best(run, head, states)
    states[33] = 0
    found, *_ = best(run, head, states)
    assert ((found >= 0) & (found < VOCABULARY)).all()


@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("value", [NAN, float("inf")])
@pytest.mark.parametrize("token", [3, slice(None)])
def test_tokens_of_which_bytes_are_no_numbers_are_refused(
    run: Run, head: str, value: float, token: int | slice
) -> None:
    screen = [*ByteScreen.of(MATRIX)]
    screen[2][:, 0, token] = value
    with pytest.raises((InvalidArgument, RuntimeException), match="bounds must be finite"):
        best(run, head, np.ones((40, WIDTH), np.float32), screen=screen)


def test_a_best_token_s_logit_is_a_number(run: Run) -> None:
    matrix = MATRIX.copy()
    matrix[7, 5] = NAN
    with pytest.raises(InvalidArgument, match="row 0 holds NaN"):
        best(run, "exact", MATRIX[7:8], behind=[matrix])


def test_a_hypothesis_whose_total_is_nan_has_no_continuations(run: Run) -> None:
    totals = [np.array([[-1.0, NAN]], np.float32), TOTALS[1]]
    with pytest.raises(InvalidArgument, match="row 1 "):
        best(run, "beams", np.ones((2, WIDTH), np.float32), between=totals)


def test_many_logits_of_minus_infinity_are_no_nan(run: Run) -> None:
    logits = np.full((1, 600), -np.inf, np.float32)
    logits[0, 590] = 3.0
    inputs = [logits, zeros(1, 1), numbers(1, dtype=np.int64)]
    ids, values, _ = run("BestContinuations", inputs, outputs=3)
    assert (ids[0, 0], values[0, 0]) == (590, 0.0)


@pytest.mark.parametrize("place", [0, 8, 16])
def test_a_row_that_holds_nan_has_no_largest_place(run: Run, place: int) -> None:
    values = zeros(2, 17)
    values[1, place] = NAN
    with pytest.raises(InvalidArgument, match="row 1 holds NaN"):
        run("LargestPlace", [values])


@pytest.mark.parametrize("name", ["keys", "values", "query"])
def test_attention_to_nan_is_nan(run: Run, name: str) -> None:
    inputs = self_attention(1, np.zeros((1, 1, 4), np.int32))
    target = inputs[{"query": 0, "keys": 1, "values": 2}[name]]
    target.flat[0] = NAN
    found, *_ = run("SelfAttention", inputs, outputs=3)
    assert np.isnan(found[0, 0])
