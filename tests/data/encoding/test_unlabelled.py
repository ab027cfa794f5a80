"""Texts without labels stand among those with, which are repeated until they are as many."""

import numpy as np
import pytest
import tensorflow as tf

from keras_transformer.data.encoding.single_texts import encode_for_encoder
from keras_transformer.data.encoding.tagged import encode_tagged
from keras_transformer.data.encoding.unlabelled import with_unlabelled
from keras_transformer.data.objectives.labels import Classes, Tags
from keras_transformer.data.objectives.objective import Rows
from keras_transformer.data.sources.tagged import TaggedTexts
from keras_transformer.data.sources.texts import LabelledTexts
from keras_transformer.text.tokenizer import train_tokenizer

LINES = ["a dog runs", "cats sleep", "dogs sleep", "a cat runs", "", "dogs run"]


@pytest.fixture(scope="module")
def tokenizer():
    """Of a few letters."""
    return train_tokenizer(LINES, 20)


@pytest.mark.parametrize("count", [1, 2, 3, 6])
def test_both_kinds_of_texts_are_about_equally_many(tokenizer, count: int) -> None:
    texts = LabelledTexts(["x", "y"], ["a dog", "a cat"], None, "here")
    labelled = encode_for_encoder(texts, tokenizer, Classes(), 20, ("x", "y"))
    joined, report = with_unlabelled(labelled, LINES[:count], "there", tokenizer, 20)
    added = sum(map(bool, LINES[:count]))
    assert report.kept == added
    known = joined.classes >= 0
    assert (~known).sum() == added and added <= known.sum() < added + 2
    assert (np.bincount(joined.classes[known]) == known.sum() // 2).all()
    assert [joined.rows[row].tolist() for row in range(2)] == [r.tolist() for r in labelled.rows]
    assert joined.line_numbers.max() == 2 + max(n for n, line in enumerate(LINES[:count]) if line)


def test_unknown_labels_weigh_nothing_and_are_told_apart() -> None:
    ids = tf.ones((3, 2), tf.int32)
    tags = tf.constant([[1, -1], [-2, -1], [0, -2]])
    rows = Rows(ids, ids, tf.constant([1, -2, 0]), tags)
    labels, weights = Classes().labels_of(rows)
    assert labels.numpy().tolist() == [[1], [-1], [0]]
    assert weights.numpy().tolist() == [[1], [0], [1]]
    labels, weights = Tags().labels_of(rows)
    assert labels.numpy().tolist() == [[1, 0], [-1, 0], [0, -1]]
    assert weights.numpy().tolist() == [[1, 0], [0, 0], [1, 0]]


def test_words_of_texts_without_tags_ask_at_their_first_token(tokenizer) -> None:
    texts = TaggedTexts([["a", "dog"]], [["DET", "NOUN"]], "here")
    labelled = encode_tagged(texts, tokenizer, Tags(), 20, ("DET", "NOUN"))
    joined, _ = with_unlabelled(labelled, ["cats sleep"], "there", tokenizer, 20)
    own = joined.token_classes[joined.rows.offsets[1] :]
    assert (own == -2).sum() == 2 and set(own) == {-1, -2}
    assert (
        joined.token_classes[: joined.rows.offsets[1]].tolist() == labelled.token_classes.tolist()
    )
