"""The tokens that a step ends with: greedy search's is that of the largest of all logits, beam
search's are the best continuations of all beams."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from keras_transformer.export.onnx.quantize.byte_screen import ByteScreen
from keras_transformer.export.onnx.quantize.int8_matrices import quantize_lines

Run = Callable[..., list[np.ndarray]]
WIDTH, VOCABULARY = 42, 701


def best_token(run: Run, states: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    inputs = [states, *ByteScreen.of(matrix), matrix]
    [ids] = run("BestToken", inputs, stored=(1, 2, 3, 4), vocabulary=len(matrix))
    return ids


@given(
    seed=st.integers(0, 2**32 - 1),
    rows=st.integers(1, 9),
    spread=st.sampled_from([0.0, 1e-3, 1.0, 50.0]),
)
@example(seed=0, rows=1, spread=1.0)
@settings(max_examples=8)  # Of each kind, with every set of instructions.
def test_the_token_is_that_of_the_largest_of_all_logits(
    run: Run, kind: str, vocabularies: Any, seed: int, rows: int, spread: float
) -> None:
    matrix = vocabularies.matrix(kind, VOCABULARY, WIDTH)
    states = vocabularies.states(seed, rows, spread, matrix)
    ids = best_token(run, states, matrix)
    exact = states.astype(np.float64) @ matrix.T.astype(np.float64)
    rounding = 1e-5 * np.linalg.norm(states, axis=1) * np.linalg.norm(matrix, axis=1).max()
    assert (exact[np.arange(rows), ids] >= exact.max(axis=1) - rounding).all()
    for token in ids:  # Of tokens that are the same the first.
        assert not (matrix[:token] == matrix[token]).all(axis=1).any()
    apart = [best_token(run, states[[row]], matrix)[0] for row in range(rows)]
    np.testing.assert_array_equal(ids, apart)


def test_a_large_matrix_is_searched_by_several_threads(run: Run) -> None:
    random = np.random.default_rng(0)
    matrix = random.normal(0, 1, (30_001, 130)).astype(np.float32)
    states = random.normal(0, 1, (9, 130)).astype(np.float32)
    states[0] = 3 * matrix[30_000]
    [ids] = run(
        "BestToken",
        [states, *ByteScreen.of(matrix), matrix],
        stored=(1, 2, 3, 4),
        vocabulary=len(matrix),
    )
    np.testing.assert_array_equal(ids, (states @ matrix.T).argmax(axis=1))


@given(seed=st.integers(0, 2**32 - 1), rows=st.integers(1, 9))
@settings(max_examples=15)
def test_without_the_matrix_the_products_of_bytes_decide(
    run: Run, kind: str, vocabularies: Any, seed: int, rows: int
) -> None:
    matrix = vocabularies.matrix(kind, VOCABULARY, WIDTH)
    values, scales = quantize_lines(matrix, axis=0, summed=True)
    states = vocabularies.states(seed, rows, 1.0, matrix)
    inputs = [states, *ByteScreen.packed(values, scales)]
    [ids] = run("BestToken", inputs, stored=(1, 2, 3), vocabulary=len(matrix))
    found, _ = run("QuantizeRows", [states], outputs=2, middle=128)
    sums = (found.astype(np.int32) - 128) @ values.T.astype(np.int32)
    logits = sums.astype(np.float32) * scales
    np.testing.assert_array_equal(ids, logits.argmax(axis=1))


def expected_continuations(
    logits: np.ndarray, totals: np.ndarray, count: int
) -> tuple[np.ndarray, np.ndarray]:
    """The places and values of the best of each sentence, by sorting all of them in float64."""
    batch, beams = totals.shape
    exact = logits.astype(np.float64).reshape(batch, beams, -1)
    exact = exact - np.log(np.exp(exact).sum(axis=2, keepdims=True)) + totals[:, :, None]
    flat = exact.reshape(batch, -1)
    places = np.argsort(-flat, axis=1, kind="stable")[:, :count]
    return places, np.take_along_axis(flat, places, axis=1)


@given(
    seed=st.integers(0, 2**31),
    batch=st.integers(1, 3),
    beams=st.integers(1, 4),
    vocabulary=st.integers(1, 300),
    count=st.sampled_from([1, 2, 8, 20, 63, 64, 200]),
)
@example(seed=1, batch=16, beams=4, vocabulary=5000, count=8)
def test_continuations_are_the_best_of_all_beams(
    run: Run, seed: int, batch: int, beams: int, vocabulary: int, count: int
) -> None:
    random = np.random.default_rng(seed)
    logits = random.normal(0, 3, (batch * beams, vocabulary)).astype(np.float32)
    totals = random.normal(-5, 3, (batch, beams)).astype(np.float32)
    ids, values, parents = run("BestContinuations", [logits, totals, np.array([count])], outputs=3)
    places, best = expected_continuations(logits, totals, count)
    np.testing.assert_allclose(values, best, rtol=1e-5, atol=1e-4)
    assert (np.diff(values, axis=1) <= 0).all()
    # The places may differ only between values that float32 cannot tell apart.
    exact = expected_continuations(logits, totals, beams * vocabulary)
    by_place = np.empty_like(exact[1])
    np.put_along_axis(by_place, *exact, axis=1)
    ours = parents.astype(np.int64) * vocabulary + ids
    np.testing.assert_allclose(
        np.take_along_axis(by_place, ours, axis=1), best, rtol=1e-5, atol=1e-4
    )
    for row in ours:
        assert len(set(row)) == len(row)


@pytest.mark.parametrize("count", [6, 70])
def test_of_equal_continuations_the_lowest_id_and_beam_come_first(run: Run, count: int) -> None:
    logits = np.zeros((2, 100), np.float32)
    logits[:, [90, 40]] = 1
    totals = np.zeros((1, 2), np.float32)
    inputs: list[Any] = [logits, totals, np.array([count])]
    ids, _, parents = run("BestContinuations", inputs, outputs=3)
    assert list(zip(ids[0], parents[0], strict=True))[:6] == [
        (40, 0),
        (90, 0),
        (40, 1),
        (90, 1),
        (0, 0),
        (1, 0),
    ]


@given(
    seed=st.integers(0, 2**31),
    batch=st.integers(1, 3),
    beams=st.integers(1, 4),
    vocabulary=st.integers(1, 900),
    count=st.sampled_from([1, 9, 70]),
)
@example(seed=0, batch=9, beams=4, vocabulary=30_001, count=9)  # More than one thread's work.
def test_continuations_of_states_are_those_of_their_products_with_bytes(
    run: Run, seed: int, batch: int, beams: int, vocabulary: int, count: int
) -> None:
    random = np.random.default_rng(seed)
    values, scales = quantize_lines(
        random.normal(0, 1, (vocabulary, WIDTH)).astype(np.float32), axis=0, summed=True
    )
    states = random.normal(0, 1, (batch * beams, WIDTH)).astype(np.float32)
    totals = random.normal(-5, 3, (batch, beams)).astype(np.float32)
    screen = ByteScreen.packed(values, scales)

    def ranked(states: np.ndarray, totals: np.ndarray) -> list[np.ndarray]:
        inputs = [states, totals, np.array([count]), *screen]
        name = "BestContinuationsOfStates"
        return run(name, inputs, 4, stored=(3, 4, 5), vocabulary=vocabulary)

    *found, logits = ranked(states, totals)
    rounded, steps = run("QuantizeRows", [states], outputs=2, middle=128)
    sums = (rounded.astype(np.int64) - 128) @ values.T.astype(np.int64)
    np.testing.assert_allclose(logits, sums * scales.astype(np.float64) * steps, rtol=1e-6)
    expected = run("BestContinuations", [logits, totals, np.array([count])], outputs=3)
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    for ours, alone in zip(found, ranked(states[-beams:], totals[-1:]), strict=False):
        np.testing.assert_array_equal(ours[-1], alone[0])


@pytest.mark.parametrize(
    ("totals", "count", "message"),
    [
        (np.zeros((1, 2), np.float32), 0, "the count must be at least 1"),
        (np.zeros((2, 2), np.float32), 1, "logits need a row for each total"),
    ],
)
def test_inputs_that_do_not_fit_are_refused(
    run: Run, totals: np.ndarray, count: int, message: str
) -> None:
    with pytest.raises(Exception, match=message):
        run("BestContinuations", [np.zeros((2, 9), np.float32), totals, np.array([count])], 3)


def test_a_matrix_of_another_size_is_refused(run: Run) -> None:
    matrix = np.ones((20, 8), np.float32)
    screen = list(ByteScreen.of(matrix))
    states: list[Any] = [np.ones((1, 65), np.float32)]
    with pytest.raises(Exception, match=r"bytes must have the shape \(2, 32, 16, 4, \)"):
        run("BestToken", states + screen, stored=(1, 2, 3), vocabulary=20)
    with pytest.raises(Exception, match=r"matrix must have the shape \(20, 65, \)"):
        run("BestToken", [*states, *screen, matrix], stored=(1, 2, 3, 4), vocabulary=20)
    with pytest.raises(Exception, match=r"bytes must have the shape \(3, 16, 16, 4, \)"):
        run("BestToken", states + screen, stored=(1, 2, 3), vocabulary=35)
    with pytest.raises(Exception, match="bytes must be stored in the graph"):
        run("BestToken", states + screen, vocabulary=20)
