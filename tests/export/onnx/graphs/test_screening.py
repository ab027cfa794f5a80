"""Screened greedy search, as onnxruntime runs it, gives what all logits would: for matrices of any
kind, whether bytes tell the tokens apart or not."""

from collections.abc import Callable
from typing import Any

import numpy as np
import onnxruntime as ort
import pytest
import tensorflow as tf
from hypothesis import example, given
from hypothesis import strategies as st

from keras_transformer.artefact.manifest import TensorSpec
from keras_transformer.export.onnx.graphs.operators import MICROSOFT
from keras_transformer.export.onnx.graphs.screening import (
    Screen,
    _candidates,
    is_worth_screening,
    screened_best_token,
)
from keras_transformer.export.onnx.graphs.tracing import _convert
from keras_transformer.export.onnx.quantize.int8_matrices import largest_sums

WIDTH, VOCABULARY = 40, 700

Run = Callable[[np.ndarray], list[np.ndarray]]


def session(matrix: np.ndarray, outputs: dict[str, str], trace: Callable[..., Any]) -> Run:
    """`run(states)` gives the traced outputs, whose names and types are told."""
    inputs = [TensorSpec(name="states", dtype="float32", shape=("rows", matrix.shape[1]))]
    specs = [
        TensorSpec(name=name, dtype=dtype, shape=("rows",) if name == "ids" else ("rows", None))
        for name, dtype in outputs.items()
    ]

    def named(states: tf.Tensor) -> dict[str, tf.Tensor]:
        found = trace(states)
        return dict(zip(outputs, found if isinstance(found, tuple) else [found], strict=True))

    proto = _convert(named, (inputs, specs), 18, (MICROSOFT,))
    options = ort.SessionOptions()
    options.log_severity_level = 4
    opened = ort.InferenceSession(proto.SerializeToString(), options)
    return lambda states: opened.run(list(outputs), {"states": states})


@pytest.fixture(scope="module")
def case(kind: str, vocabularies: Any) -> tuple[np.ndarray, Run]:
    matrix = vocabularies.matrix(kind, VOCABULARY, WIDTH)
    return matrix, session(
        matrix, {"ids": "int32"}, lambda states: screened_best_token(states, matrix)
    )


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
def candidates(kind: str, vocabularies: Any) -> tuple[np.ndarray, Run]:
    matrix = vocabularies.matrix(kind, VOCABULARY, WIDTH)
    outputs = {"candidates": "int64", "others": "float32"}
    return matrix, session(matrix, outputs, lambda states: _candidates(states, Screen.of(matrix)))


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


def test_bytes_do_decide_where_they_can(vocabularies: Any) -> None:
    matrix = vocabularies.matrix("normal", VOCABULARY, WIDTH)
    outputs = {"candidates": "int64", "others": "float32"}
    run = session(matrix, outputs, lambda states: _candidates(states, Screen.of(matrix)))
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
