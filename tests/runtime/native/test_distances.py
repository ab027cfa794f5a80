"""Disentangled attention agrees with equation 4 of He et al. (2021) in float64."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from keras_transformer.layers.distances.disentangled import signed_buckets

Run = Callable[..., list[np.ndarray]]
HEADS = 2


def draw(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def stored(seed: int, width: int, buckets: int, farthest: int) -> list[np.ndarray]:
    """Vectors for queries and keys, and the column of each distance."""
    columns = -(-2 * buckets // 16) * 16
    vectors = [draw(seed + one, HEADS, width, columns) for one in (1, 2)]
    return [*vectors, signed_buckets(buckets, farthest)]


def attend(
    queries: np.ndarray, keys: np.ndarray, values: np.ndarray, columns: np.ndarray, *vectors: Any
) -> np.ndarray:
    """One head's output for queries and keys that are `columns` apart, `(queries, keys)`."""
    asked, answered = (one.astype(np.float64) for one in vectors)
    scores = queries.astype(np.float64) @ keys.T
    scores += np.take_along_axis(queries @ asked, columns, 1)
    scores += np.take_along_axis(keys @ answered, columns.T, 1).T
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    return weights / weights.sum(axis=1, keepdims=True) @ values


@given(
    seed=st.integers(0, 2**31),
    width=st.sampled_from([1, 5, 8, 20, 64]),
    length=st.integers(1, 90),
    buckets=st.sampled_from([4, 8, 32]),
    tokens_alone=st.booleans(),
)
@example(seed=0, width=64, length=300, buckets=256, tokens_alone=True)  # More than one thread's.
def test_queries_and_keys_read_the_vectors_of_their_distances(
    run: Run, seed: int, width: int, length: int, buckets: int, tokens_alone: bool
) -> None:
    mask = np.random.default_rng(seed).integers(0, 2, (2, length)).astype(np.int32)
    keep = mask == 1 if tokens_alone else np.ones_like(mask, bool)
    # Scores of thirty and more, of unscaled queries, would round away more than a model's.
    packed = draw(seed, 2 * length, 3 * HEADS * width) / np.sqrt(width)
    given = stored(seed, width, buckets, 2 * buckets)
    inputs = [packed.astype(np.float32)[keep.ravel()], mask, None, *given]
    [found] = run("SequenceAttention", inputs, stored=[3, 4, 5], heads=HEADS)
    whole = np.zeros((2, length, HEADS, width), np.float32)
    whole[keep] = found.reshape(-1, HEADS, width)
    split = packed.reshape(2, length, 3, HEADS, width)
    for sentence, head in np.ndindex(2, HEADS):
        places = np.flatnonzero(mask[sentence])
        if len(places) == 0:
            continue
        apart = np.clip(places[:, None] - places, -2 * buckets, 2 * buckets) + 2 * buckets
        expected = attend(
            *split[sentence, places, :, head].transpose(1, 0, 2),
            given[2][apart],
            *(one[head] for one in given[:2]),
        )
        np.testing.assert_allclose(whole[sentence, places, head], expected, rtol=1e-4, atol=3e-5)


def test_padding_changes_no_bit(run: Run) -> None:
    packed, given = draw(0, 40, 3 * HEADS * 8), stored(0, 8, 16, 20)
    mask = np.ones((1, 40), np.int32)
    flags: dict[str, Any] = {"stored": [3, 4, 5], "heads": HEADS}
    for length in (1, 7, 33):
        mask[0, length:] = 0
        alone = [packed[:length], np.ones((1, length), np.int32), None, *given]
        [apart] = run("SequenceAttention", alone, **flags)
        [padded] = run("SequenceAttention", [packed, mask, None, *given], **flags)
        mask[0, length:] = 1
        np.testing.assert_array_equal(padded[:length], apart)


COLUMNS = signed_buckets(8, 16)


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        (0, draw(1, 2, 8), "vectors of distances for queries must have 3 axes"),
        (0, draw(1, 2, 4, 16), r"distances for keys must have the shape \(2, 4, 16, \)"),
        (1, draw(1, 3, 8, 16), r"keys must have the shape \(2, 8, 16, \), got \(3, 8, 16, \)"),
        (2, COLUMNS[1:], "as many distances before a key as behind it"),
        (2, COLUMNS[::-1].copy(), "columns of distances must rise from 0"),
        (2, COLUMNS + 1, "fewer than the columns of vectors"),
        (2, COLUMNS - 1, "columns of distances must rise from 0"),
        (2, COLUMNS[None], "columns of distances must have 1 axis"),
        (2, np.zeros(0, np.int32), "distances must be stored in the graph"),
    ],
)
def test_distances_that_do_not_fit_are_refused(
    run: Run, place: int, value: np.ndarray, message: str
) -> None:
    given = stored(0, 8, 8, 16)
    given[place] = value
    inputs = [draw(0, 3, 48), np.ones((1, 3), np.int32), None, *given]
    with pytest.raises(Exception, match=message):
        run("SequenceAttention", inputs, stored=[3, 4, 5], heads=HEADS)


def test_vectors_of_other_heads_than_the_model_s_are_refused(run: Run) -> None:
    inputs = [draw(0, 3, 96), np.ones((1, 3), np.int32), None, *stored(0, 8, 8, 16)]
    with pytest.raises(Exception, match=r"vectors of distances must have the shape \(4, 8, 16"):
        run("SequenceAttention", inputs, stored=[3, 4, 5], heads=4)


def test_vectors_in_parts_of_registers_are_refused(run: Run) -> None:
    vectors = [draw(one, HEADS, 8, 8) for one in (1, 2)]
    inputs = [draw(0, 3, 48), np.ones((1, 3), np.int32), None, *vectors, signed_buckets(4, 8)]
    with pytest.raises(Exception, match="columns of vectors must be a multiple of 16"):
        run("SequenceAttention", inputs, stored=[3, 4, 5], heads=HEADS)


@pytest.mark.parametrize("kept", [[], [3], [3, 4], [4, 5]])
def test_distances_that_the_graph_does_not_hold_are_refused(run: Run, kept: list[int]) -> None:
    inputs = [draw(0, 3, 48), np.ones((1, 3), np.int32), None, *stored(0, 8, 8, 16)]
    with pytest.raises(Exception, match="distances must be stored in the graph"):
        run("SequenceAttention", inputs, stored=kept, heads=HEADS)
