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
