"""The candidates, as onnxruntime runs it: exactly the best, ties by id and then by beam, for
vocabularies that blocks divide, leave a rest of, or are too small for."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from keras_transformer.export.onnx.graphs.builder import GraphBuilder
from keras_transformer.export.onnx.heads.candidates import (
    best_continuations,
    best_token,
    block_width,
)

# Undivided; 25 blocks of 24, and with a rest of one; 27 blocks of 21 and a rest of two.
VOCABULARIES = [7, 600, 601, 569]

Arrays = dict[str, np.ndarray]
Select = Callable[[np.ndarray, np.ndarray, int], Arrays]


@pytest.fixture(scope="module", params=VOCABULARIES)
def vocabulary(request: pytest.FixtureRequest) -> int:
    return request.param


@pytest.fixture(scope="module")
def select(vocabulary: int, build: Any, open_graph: Any) -> Select:
    """`select(logits, totals, count)` runs the emitted selections; their outputs by name."""
    inputs = {
        "logits": ("float32", ("rows", vocabulary)),
        "totals": ("float32", ("batch", "beams")),
        "count": ("int64", (1,)),
    }
    outputs = {
        "token": ("int32", ("rows",)),
        "ids": ("int32", ("batch", "candidates")),
        "values": ("float32", ("batch", "candidates")),
        "beams": ("int32", ("batch", "candidates")),
    }

    def emit(graph: GraphBuilder) -> dict[str, str]:
        token = best_token(graph, "logits", vocabulary)
        best = best_continuations(graph, "logits", vocabulary, "count", "totals")
        return dict(zip(outputs, (token, *best), strict=True))

    opened = open_graph(build(emit, inputs, outputs))

    def run(logits: np.ndarray, totals: np.ndarray, count: int) -> Arrays:
        given = {"logits": logits, "totals": totals, "count": np.array([count], np.int64)}
        return dict(zip(outputs, opened(**given), strict=True))

    return run


def log_softmax(logits: np.ndarray) -> np.ndarray:
    exact = logits.astype(np.float64)
    exact = exact - exact.max(axis=1, keepdims=True)
    return exact - np.log(np.exp(exact).sum(axis=1, keepdims=True))


def drawn(seed: int, rows: int, vocabulary: int, distinct: int) -> np.ndarray:
    """Logits of so few distinct values that most are tied, or, of 0, of real numbers."""
    random = np.random.default_rng(seed)
    if distinct:
        return random.integers(0, distinct, (rows, vocabulary)).astype(np.float32)
    return random.normal(0, 5, (rows, vocabulary)).astype(np.float32)


CASES: dict[str, Any] = {
    "seed": st.integers(0, 2**32 - 1),
    "batch": st.integers(1, 3),
    # 25 blocks of 601; more than all.
    "count": st.integers(1, 40) | st.sampled_from([600, 601, 2000]),
    "distinct": st.sampled_from([0, 1, 2, 50]),
}


@given(**CASES)
def test_the_largest_logits_of_a_row_and_the_lowest_id_wins_a_tie(
    select: Select, vocabulary: int, seed: int, batch: int, count: int, distinct: int
) -> None:
    logits = drawn(seed, batch, vocabulary, distinct)
    found = select(logits, np.zeros((batch, 1), np.float32), count)
    order = np.argsort(-logits, axis=1, kind="stable")
    np.testing.assert_array_equal(found["ids"], order[:, :count])
    np.testing.assert_array_equal(found["token"], order[:, 0])


@given(place=st.integers(0, 10_000))
def test_the_largest_logit_is_found_wherever_it_stands(
    select: Select, vocabulary: int, place: int
) -> None:
    logits = np.zeros((2, vocabulary), np.float32)
    logits[1, place % vocabulary] = 1
    found = select(logits, np.zeros((2, 1), np.float32), 1)
    assert found["token"].tolist() == [0, place % vocabulary]


@given(beams=st.integers(1, 4), **CASES)
@example(beams=4, seed=0, batch=2, count=11, distinct=1)
def test_beams_are_ranked_together_and_the_lowest_wins_a_tie(
    select: Select, vocabulary: int, seed: int, batch: int, beams: int, count: int, distinct: int
) -> None:
    random = np.random.default_rng(seed)
    # Equal rows, logits and totals equal or far apart, and a largest logit whose probability
    # is 1, so that no logarithm is rounded: what is tied on paper is tied in numbers.
    logits = 200 * drawn(seed, batch, vocabulary, distinct or 5)
    logits[np.arange(batch), random.integers(0, vocabulary, batch)] = 200 * 60
    logits = np.repeat(logits, beams, axis=0)
    totals = random.choice(np.array([0, -1e5, -np.inf], np.float32), (batch, beams))
    found = select(logits, totals, count)
    best = np.argsort(-logits, axis=1, kind="stable")[:, :count]
    extended = np.take_along_axis(log_softmax(logits), best, 1) + totals.reshape(-1, 1)
    extended = extended.reshape(batch, -1)
    order = np.argsort(-extended, axis=1, kind="stable")[:, :count]
    np.testing.assert_array_equal(found["beams"], order // best.shape[1])
    ids = np.take_along_axis(best.reshape(batch, -1), order, 1)
    np.testing.assert_array_equal(found["ids"], ids)
    values = np.take_along_axis(extended, order, 1)
    np.testing.assert_allclose(found["values"], values, rtol=1e-6, atol=1e-6)


@given(beams=st.integers(1, 4), **CASES)
def test_each_value_is_the_log_probability_of_its_beam_and_id(
    select: Select, vocabulary: int, seed: int, batch: int, beams: int, count: int, distinct: int
) -> None:
    logits = drawn(seed, batch * beams, vocabulary, distinct)
    totals = np.random.default_rng(seed).normal(0, 3, (batch, beams)).astype(np.float32)
    found = select(logits, totals, count)
    assert found["ids"].shape == (batch, min(count, beams * vocabulary))
    extended = log_softmax(logits).reshape(batch, beams, -1) + totals[:, :, None]
    chosen = extended[np.arange(batch)[:, None], found["beams"], found["ids"]]
    np.testing.assert_allclose(found["values"], chosen, atol=2e-5)
    best = -np.sort(-extended.reshape(batch, -1), axis=1)[:, : chosen.shape[1]]
    np.testing.assert_allclose(found["values"], best, atol=2e-5)
    places = found["beams"] * vocabulary + found["ids"]
    assert all(len(set(row)) == len(row) for row in places.tolist())


def test_huge_logits_do_not_overflow(select: Select, vocabulary: int) -> None:
    logits = np.full((1, vocabulary), -1e4, np.float32)
    logits[0, [3, 5]] = 1e4
    found = select(logits, np.zeros((1, 1), np.float32), 3)
    np.testing.assert_array_equal(found["ids"], [[3, 5, 0]])
    wanted = [[-np.log(2), -np.log(2), -2e4 - np.log(2)]]
    np.testing.assert_allclose(found["values"], wanted, rtol=1e-6)


@pytest.mark.parametrize(
    ("vocabulary", "width"),
    [(5, 5), (511, 511), (512, 16), (513, 19), (601, 24), (10_000, 100), (32_000, 160)],
)
def test_blocks_are_about_as_many_as_wide(vocabulary: int, width: int) -> None:
    assert block_width(vocabulary) == width


@given(vocabulary=st.integers(512, 300_000))
def test_blocks_leave_next_to_nothing_over(vocabulary: int) -> None:
    width = block_width(vocabulary)
    assert 0.4 < width / vocabulary**0.5 < 2.1
    assert vocabulary % width <= 14
