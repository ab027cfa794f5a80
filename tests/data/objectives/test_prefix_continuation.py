"""Prefix language modelling: source and target are the text in two parts, a seed decides where."""

import numpy as np
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from keras_transformer.config import SpecialIds
from keras_transformer.data.objectives.objective import Batch, Rows
from keras_transformer.data.objectives.prefix_continuation import PrefixContinuation

IDS = SpecialIds()
VOCABULARY = 40
TEXTS = st.lists(
    st.lists(st.integers(4, VOCABULARY - 1) | st.just(IDS.unk), min_size=1, max_size=20),
    min_size=1,
    max_size=6,
)


def batch_of(texts: list[list[int]], seed: int) -> Batch:
    full = [[IDS.decoder_start, *text, IDS.eos] for text in texts]
    ids = tf.ragged.constant(full, dtype=tf.int32).to_tensor(default_value=IDS.pad)
    rows = Rows(ids, tf.zeros_like(ids), tf.zeros(len(texts), tf.int32))
    return PrefixContinuation(IDS)(rows, tf.constant([seed, 3], tf.int64))


def without_padding(rows: tf.Tensor) -> list[list[int]]:
    return [[token for token in row if token != IDS.pad] for row in rows.numpy().tolist()]


@settings(max_examples=40, deadline=None)
@given(texts=TEXTS, seed=st.integers(0, 2**31))
def test_source_and_target_are_the_text_in_two_parts(texts: list[list[int]], seed: int) -> None:
    inputs, labels, weights = batch_of(texts, seed)
    np.testing.assert_array_equal(weights, labels.numpy() != IDS.pad)
    rows = zip(
        texts,
        without_padding(inputs["source_ids"]),
        without_padding(inputs["target_ids"]),
        without_padding(labels),
        strict=True,
    )
    for text, source, target, label in rows:
        assert source[-1] == label[-1] == IDS.eos
        assert source[:-1] + label[:-1] == text
        assert target == [IDS.decoder_start, *label[:-1]]
        assert len(label) > 1
        assert len(source) > 1 or len(text) == 1


def test_every_place_is_drawn_as_often_as_any_other() -> None:
    inputs, _, _ = batch_of([[7] * 11] * 5_000, seed=1)
    lengths = [len(row) - 1 for row in without_padding(inputs["source_ids"])]
    counts = np.bincount(lengths, minlength=11)
    assert counts[0] == 0
    assert counts.shape == (11,)
    np.testing.assert_allclose(counts[1:], 500, atol=100)


def test_a_seed_decides_all() -> None:
    texts = np.random.default_rng(0).integers(4, VOCABULARY, (8, 30)).tolist()
    first, again, other = (batch_of(texts, seed) for seed in (7, 7, 8))
    for one, two in zip(tf.nest.flatten(first), tf.nest.flatten(again), strict=True):
        np.testing.assert_array_equal(one, two)
    assert not np.array_equal(first[0]["source_ids"], other[0]["source_ids"])
