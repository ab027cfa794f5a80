"""Next sentence: the pair's class stands before the hidden tokens, with as much weight."""

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from keras_transformer.config import SpecialIds
from keras_transformer.data.objectives.masked_tokens import MaskedTokens
from keras_transformer.data.objectives.next_sentence import NextSentence
from keras_transformer.data.objectives.objective import Rows

IDS = SpecialIds(mask=4)
MASKED = MaskedTokens(IDS, 40)


@settings(max_examples=15, deadline=None)
@given(
    lengths=st.lists(st.integers(0, 20), min_size=1, max_size=6),
    seed=st.integers(0, 2**31),
)
def test_the_class_stands_first_and_both_weigh_the_same(lengths: list[int], seed: int) -> None:
    texts = [[IDS.bos, *range(5, 5 + length), IDS.eos] for length in lengths]
    ids = tf.ragged.constant(texts, dtype=tf.int32).to_tensor(default_value=IDS.pad)
    classes = tf.constant([number % 2 for number in range(len(texts))], tf.int32)
    rows, drawn = Rows(ids, tf.zeros_like(ids), classes), tf.constant([seed, 1], tf.int64)
    inputs, labels, weights = NextSentence(MASKED)(rows, drawn)
    alone = MASKED(rows, drawn)
    np.testing.assert_array_equal(labels[:, 0], classes)
    for name, values in alone[0].items():
        np.testing.assert_array_equal(inputs[name], values)
    np.testing.assert_array_equal(labels[:, 1:], alone[1])
    np.testing.assert_array_equal(weights[:, 1:], alone[2])
    np.testing.assert_allclose(tf.reduce_sum(weights[:, 0]), tf.reduce_sum(alone[2]), rtol=1e-5)
    assert len(np.unique(weights[:, 0])) == 1


def test_a_model_without_token_types_is_refused() -> None:
    with pytest.raises(ValueError, match="next_sentence needs num_token_types=2"):
        NextSentence(MaskedTokens(IDS, 40, has_token_types=False))
