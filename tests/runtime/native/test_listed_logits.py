"""The logits of a shortlist: each row's products with the weights of its own tokens."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnxruntime.capi.onnxruntime_pybind11_state import InvalidArgument, RuntimeException

from keras_transformer.export.onnx.quantize.bfloat16 import BFLOAT16
from keras_transformer.export.onnx.quantize.int8_matrices import quantize_lines

Run = Callable[..., list[np.ndarray]]
VOCABULARY, LISTED = 40, 25
FILLER = -1


def lists(seed: int, batch: int, most: int) -> tuple[np.ndarray, np.ndarray]:
    """Ids of a batch, and places of each sentence among them, filled up."""
    random = np.random.default_rng(seed)
    ids = np.sort(random.choice(VOCABULARY, LISTED, replace=False)).astype(np.int32)
    places = np.full((batch, most), FILLER, np.int32)
    for row in places:
        count = random.integers(1, most + 1)
        row[:count] = np.sort(random.choice(LISTED, count, replace=False))
    return ids, places


@given(
    seed=st.integers(0, 2**32 - 1),
    batch=st.integers(1, 4),
    beams=st.integers(1, 3),
    width=st.sampled_from([1, 16, 42, 128]),
)
@settings(max_examples=15)
def test_logits_are_those_of_the_rows_own_tokens(
    run: Run, seed: int, batch: int, beams: int, width: int
) -> None:
    random = np.random.default_rng(seed)
    matrix = random.normal(0, 1, (VOCABULARY, width)).astype(np.float32)
    states = random.normal(0, 1, (batch * beams, width)).astype(np.float32)
    ids, places = lists(seed, batch, 7)
    own = np.repeat(places, beams, axis=0)

    def picked(logits: np.ndarray) -> np.ndarray:
        return np.where(own < 0, -np.inf, np.take_along_axis(logits[:, ids], own, axis=1))

    [found] = run("ListedLogits", [states, ids, places, matrix], stored=(3,))
    np.testing.assert_allclose(found, picked(states @ matrix.T), rtol=1e-4, atol=1e-4)
    halved = matrix.astype(BFLOAT16)
    [found] = run("ListedLogits", [states, ids, places, halved], stored=(3,))
    expected = picked(states @ halved.astype(np.float32).T)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)
    values, scales = quantize_lines(matrix, axis=0, summed=True)
    [found] = run("ListedByteLogits", [states, ids, places, values, scales], stored=(3, 4))
    rounded, steps = run("QuantizeRows", [states], outputs=2, middle=128)
    sums = (rounded.astype(np.int32) - 128) @ values.T.astype(np.int32)
    np.testing.assert_allclose(found, picked(sums * scales * steps), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("changed", [{"ids": VOCABULARY}, {"ids": -1}, {"places": LISTED}])
@pytest.mark.parametrize("name", ["ListedLogits", "ListedByteLogits"])
def test_tokens_that_are_not_there_are_refused(
    run: Run, name: str, changed: dict[str, Any]
) -> None:
    ids, places = lists(0, 2, 7)
    ids[:] = changed.get("ids", ids)
    places[1, 0] = changed.get("places", places[1, 0])
    matrix: list[np.ndarray] = [np.ones((VOCABULARY, 8), np.float32)]
    if name == "ListedByteLogits":
        matrix = [np.ones((VOCABULARY, 8), np.int8), np.ones(VOCABULARY, np.float32)]
    inputs = [np.ones((2, 8), np.float32), ids, places, *matrix]
    with pytest.raises(InvalidArgument, match="must lie within the lists"):
        run(name, inputs, stored=tuple(range(3, len(inputs))))
    inputs[0] = np.ones((3, 8), np.float32)
    with pytest.raises(InvalidArgument, match="as many rows for each sentence"):
        run(name, inputs, stored=tuple(range(3, len(inputs))))


def test_a_matrix_of_another_type_is_refused(run: Run) -> None:
    ids, places = lists(0, 2, 7)
    inputs = [np.ones((2, 8), np.float32), ids, places, np.ones((VOCABULARY, 8), np.int8)]
    with pytest.raises((InvalidArgument, RuntimeException), match="float32 or bfloat16, got"):
        run("ListedLogits", inputs, stored=(3,))


@pytest.mark.parametrize("count", [None, 3])
def test_chosen_columns_are_the_ids_of_their_rows(run: Run, count: int | None) -> None:
    ids, places = lists(1, 4, 7)
    shape = (4,) if count is None else (4, count)
    columns = np.random.default_rng(2).integers(0, 7, shape).astype(np.int32)
    [found] = run("ListedIds", [ids, places, columns])
    rows = np.arange(4) if count is None else np.arange(4)[:, None]
    # What fills a row up stands for the last id, as a negative index does in ONNX.
    np.testing.assert_array_equal(found, ids[places[rows, columns]])
    for bad in (-1, 7):
        columns.flat[0] = bad
        with pytest.raises(InvalidArgument, match="must lie within the lists"):
            run("ListedIds", [ids, places, columns])
