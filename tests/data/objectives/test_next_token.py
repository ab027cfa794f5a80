"""Next tokens: labels are the inputs shifted by one place."""

import numpy as np
import tensorflow as tf

from keras_transformer.config import SpecialIds
from keras_transformer.data.objectives.next_token import NextToken
from keras_transformer.data.objectives.objective import Rows


def test_labels_are_the_tokens_that_follow() -> None:
    ids = tf.constant([[2, 7, 8, 3], [2, 9, 3, 0]])
    rows = Rows(ids, tf.zeros_like(ids), tf.zeros(2, tf.int32))
    inputs, labels, weights = NextToken(SpecialIds())(rows, tf.zeros(2, tf.int64))
    np.testing.assert_array_equal(inputs["token_ids"], [[2, 7, 8], [2, 9, 0]])
    np.testing.assert_array_equal(labels, [[7, 8, 3], [9, 3, 0]])
    np.testing.assert_array_equal(weights, [[1, 1, 1], [1, 1, 0]])


def test_backward_rows_begin_with_the_last_token_and_end_in_eos() -> None:
    # A text, a shorter one, two joined, and a row that was cut within a text.
    ids = tf.constant([[2, 7, 8, 9, 3], [2, 9, 3, 0, 0], [2, 7, 3, 8, 3], [2, 7, 3, 8, 9]])
    rows = Rows(ids, tf.zeros_like(ids), tf.zeros(4, tf.int32))
    inputs, labels, weights = NextToken(SpecialIds(), backward=True)(rows, tf.zeros(2, tf.int64))
    expected = [[9, 8, 7, 3], [9, 3, 0, 0], [8, 3, 7, 3], [9, 8, 3, 7]]
    np.testing.assert_array_equal(labels, expected)
    read = [[2, 9, 8, 7], [2, 9, 0, 0], [2, 8, 3, 7], [2, 9, 8, 3]]
    np.testing.assert_array_equal(inputs["token_ids"], read)
    np.testing.assert_array_equal(weights, np.array(expected) != 0)
