"""Hypotheses whose texts differ, in a graph."""

import tensorflow as tf

from keras_transformer.artefact.signatures import LOWEST
from keras_transformer.export.saved_model.distinct import distinct
from keras_transformer.export.saved_model.translation import Found


def test_the_best_of_equal_texts_stays_and_others_are_missing() -> None:
    texts = tf.constant([["a", "a", "b", "a"], ["c", "d", "", ""]])
    scores = tf.constant([[-1.0, -2.0, -3.0, -4.0], [-1.0, -2.0, LOWEST, LOWEST]])
    ids = tf.reshape(tf.range(8), (2, 4, 1))
    found, best = distinct(texts, Found(ids, scores, 2 * scores[:, ::-1]), 3)
    assert found.numpy().tolist() == [[b"a", b"b", b""], [b"c", b"d", b""]]
    assert best.scores.numpy().tolist() == [[-1.0, -3.0, LOWEST], [-1.0, -2.0, LOWEST]]
    assert best.ids.numpy()[:, :2, 0].tolist() == [[0, 2], [4, 5]]
