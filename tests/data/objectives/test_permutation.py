"""Permutation language modelling: how much is predicted, in what spans and order."""

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from keras_transformer.config import SpecialIds
from keras_transformer.data.objectives.objective import Rows
from keras_transformer.data.objectives.permutation import Permutation

IDS = SpecialIds(mask=4)
TEXTS = st.lists(st.lists(st.integers(5, 59), min_size=1, max_size=70), min_size=1, max_size=5)


def rows_of(texts: list[list[int]]) -> Rows:
    full = [[IDS.bos, *text, IDS.eos] for text in texts]
    ids = tf.ragged.constant(full, dtype=tf.int32).to_tensor(default_value=IDS.pad)
    return Rows(ids, tf.zeros_like(ids), tf.zeros(len(texts), tf.int32))


def lengths_of_spans(predicted: np.ndarray) -> list[int]:
    """Of one row, in order."""
    edges = np.diff(np.concatenate([[0], predicted.astype(int), [0]]))
    return list(np.flatnonzero(edges == -1) - np.flatnonzero(edges == 1))


@settings(deadline=None)
@given(texts=TEXTS, seed=st.integers(0, 2**31), one_in=st.sampled_from([2, 6, 7]))
def test_text_alone_is_predicted_in_an_order_of_its_own(
    texts: list[list[int]], seed: int, one_in: int
) -> None:
    rows = rows_of(texts)
    inputs, labels, weights = Permutation(IDS, one_in=one_in)(rows, tf.constant([seed, 1]))
    ids, order = rows.token_ids.numpy(), inputs["order"].numpy()
    np.testing.assert_array_equal(inputs["token_ids"], ids)
    for row, text in enumerate(texts):
        places = inputs["places"].numpy()[row][weights.numpy()[row] == 1]
        np.testing.assert_array_equal(places, np.flatnonzero(order[row]))
        np.testing.assert_array_equal(labels.numpy()[row, : len(places)], ids[row][places])
        assert sorted(order[row][places]) == [*range(1, len(places) + 1)]
        assert not np.isin(ids[row][places], sorted(IDS.without_text)).any()
        # Whole contexts have their share; what is left at the end is rounded.
        assert abs(len(places) - len(text) / one_in) <= 1


@pytest.mark.parametrize("one_in", [2, 6])
def test_spans_have_the_lengths_of_the_paper(one_in: int) -> None:
    rows = rows_of(np.random.default_rng(0).integers(5, 60, (300, 240)).tolist())
    inputs, _, weights = Permutation(IDS, one_in=one_in)(rows, tf.constant([3, 4]))
    assert weights.numpy().sum() / (300 * 240) == pytest.approx(1 / one_in, rel=0.02)
    spans = [each for row in inputs["order"].numpy() for each in lengths_of_spans(row > 0)]
    if one_in == 6:  # Neighbours seldom touch.
        shares = np.bincount(spans, minlength=6)[1:6] / len(spans)
        expected = 1 / np.arange(1, 6)
        np.testing.assert_allclose(shares, expected / expected.sum(), atol=0.03)


def test_a_seed_decides_all() -> None:
    rows = rows_of([list(range(5, 55))])
    first, same, other = (
        Permutation(IDS)(rows, tf.constant(seed))[0]["order"].numpy()
        for seed in ([1, 2], [1, 2], [1, 3])
    )
    np.testing.assert_array_equal(first, same)
    assert (first != other).any()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"special_ids": SpecialIds()}, "the vocabulary has no <mask>, with which a trained"),
        ({"special_ids": IDS, "one_in": 1}, "one_in must be at least 2, got 1"),
    ],
)
def test_what_cannot_be_predicted_is_refused(arguments: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Permutation(**arguments)
