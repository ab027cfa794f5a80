"""Screened greedy search, as onnxruntime runs it, gives what all logits would: for matrices of any
kind, whether bytes tell the tokens apart or not."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from keras_transformer.export.onnx.graphs.builder import GraphBuilder
from keras_transformer.export.onnx.heads.screening import (
    Screen,
    find_candidates,
    is_worth_screening,
    screened_best_token,
)
from keras_transformer.export.onnx.quantize.int8_matrices import largest_sums

WIDTH, VOCABULARY = 40, 700

Run = Callable[[np.ndarray], list[np.ndarray]]


INPUTS = {"states": ("float32", ("rows", WIDTH))}
IDS = {"ids": ("int32", ("rows",))}
CANDIDATES = {"candidates": ("int64", ("rows", "n")), "others": ("float32", ("rows", 1))}


@pytest.fixture(scope="module")
def case(kind: str, vocabularies: Any, build: Any, open_graph: Any) -> tuple[np.ndarray, Run]:
    matrix = vocabularies.matrix(kind, VOCABULARY, WIDTH)
    model = build(lambda graph: {"ids": screened_best_token(graph, "states", matrix)}, INPUTS, IDS)
    run = open_graph(model)
    return matrix, lambda states: run(states=states)


@pytest.fixture(scope="module")
def bound(build: Any, open_graph: Any) -> Callable[[np.ndarray], Run]:
    """`bound(matrix)(states)` gives the candidates, and what no logit of another exceeds."""

    def make(matrix: np.ndarray) -> Run:
        def emit(graph: GraphBuilder) -> dict[str, str]:
            found = find_candidates(graph, "states", Screen.of(matrix))
            return dict(zip(CANDIDATES, found, strict=True))

        run = open_graph(build(emit, INPUTS, CANDIDATES))
        return lambda states: run(states=states)

    return make


@given(
    seed=st.integers(0, 2**32 - 1),
    rows=st.integers(1, 9),
    spread=st.sampled_from([0.0, 1e-3, 1.0, 50.0]),
)
@example(seed=0, rows=1, spread=1.0)
def test_the_token_is_that_of_the_largest_of_all_logits(
    case: tuple[np.ndarray, Run], vocabularies: Any, seed: int, rows: int, spread: float
) -> None:
    matrix, run = case
    states = vocabularies.states(seed, rows, spread, matrix)
    [ids] = run(states)
    exact = states.astype(np.float64) @ matrix.T.astype(np.float64)
    chosen = exact[np.arange(rows), ids]
    rounding = 1e-5 * np.linalg.norm(states, axis=1) * np.linalg.norm(matrix, axis=1).max()
    assert (chosen >= exact.max(axis=1) - rounding).all()
    # Of tokens that are the same the first.
    for token in ids:
        assert not (matrix[:token] == matrix[token]).all(axis=1).any()


@given(seed=st.integers(0, 2**32 - 1), rows=st.integers(2, 9))
def test_a_batch_equals_its_rows(
    case: tuple[np.ndarray, Run], vocabularies: Any, seed: int, rows: int
) -> None:
    matrix, run = case
    states = vocabularies.states(seed, rows, 1.0, matrix)
    [together] = run(states)
    apart = np.concatenate([run(row[None])[0] for row in states])
    exact = states.astype(np.float64) @ matrix.T.astype(np.float64)
    logits = np.stack([exact[np.arange(rows), ids] for ids in (together, apart)])
    # What is left to the batch is how near ties are rounded.
    np.testing.assert_allclose(logits[0], logits[1], rtol=1e-5, atol=1e-5)


@pytest.fixture(scope="module")
def candidates(
    kind: str, vocabularies: Any, bound: Callable[[np.ndarray], Run]
) -> tuple[np.ndarray, Run]:
    matrix = vocabularies.matrix(kind, VOCABULARY, WIDTH)
    return matrix, bound(matrix)


@given(
    seed=st.integers(0, 2**32 - 1),
    rows=st.integers(1, 9),
    spread=st.sampled_from([1e-3, 1.0, 50.0]),
)
def test_no_other_token_has_a_logit_above_the_bound(
    candidates: tuple[np.ndarray, Run], vocabularies: Any, seed: int, rows: int, spread: float
) -> None:
    matrix, run = candidates
    states = vocabularies.states(seed, rows, spread, matrix)
    ids, others = run(states)
    exact = states.astype(np.float64) @ matrix.T.astype(np.float64)
    np.put_along_axis(exact, ids, -np.inf, axis=1)
    assert (exact.max(axis=1) <= others[:, 0]).all()


def test_bytes_do_decide_where_they_can(
    vocabularies: Any, bound: Callable[[np.ndarray], Run]
) -> None:
    matrix = vocabularies.matrix("normal", VOCABULARY, WIDTH)
    run = bound(matrix)
    states = np.random.default_rng(1).normal(0, 1, (300, WIDTH)).astype(np.float32)
    _, others = run(states)
    proven = others[:, 0] < (states @ matrix.T).max(axis=1)
    assert proven.mean() > 0.9
    # Much nearer than what is known without looking: ‖x‖ times the longest weights.
    known = np.linalg.norm(states, axis=1) * np.linalg.norm(matrix, axis=1).max()
    assert (others[:, 0] < 0.6 * known).all()


def test_the_errors_bound_every_quiet_token_s(kind: str, vocabularies: Any) -> None:
    matrix = vocabularies.matrix(kind, VOCABULARY, WIDTH)
    screen = Screen.of(matrix)
    assert np.abs(screen.values.astype(int)).max(initial=0) <= 127
    assert largest_sums(screen.values.T.astype(np.float32)).max(initial=0) <= 128
    quiet = np.setdiff1d(np.arange(len(matrix)), screen.loud)
    rounded = screen.step * screen.values.T[quiet].astype(np.float64)
    assert (np.linalg.norm(matrix[quiet] - rounded, axis=1) <= screen.error).all()
    assert (np.linalg.norm(rounded, axis=1) <= screen.norm * (1 + 1e-6)).all()
    # Loud tokens are those of the largest weights.
    largest = largest_sums(matrix)
    assert largest[quiet].max(initial=0) <= largest[screen.loud].min()


def test_only_large_vocabularies_are_worth_it() -> None:
    assert is_worth_screening(10_000, 128)
    assert not is_worth_screening(2_000, 128)
