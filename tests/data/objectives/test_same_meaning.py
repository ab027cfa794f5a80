"""Pairs of texts: rows of both, and the inputs that part them again."""

import numpy as np
import pytest
import tensorflow as tf

from keras_transformer.data.batching.batches import evaluation_batches, training_batches
from keras_transformer.data.encoding.text_pairs import encode_text_pairs
from keras_transformer.data.objectives.objective import Rows
from keras_transformer.data.objectives.same_meaning import SameMeaning
from keras_transformer.data.sources.corpus import Pairs
from keras_transformer.text.tokenizer import Tokenizer, train_tokenizer

WORDS = ("ab", "ba", "cad", "dac", "bed", "deb")
FIRST = [f"{a} {b}" for a in WORDS for b in WORDS]
SECOND = [f"{b} {a} {b}" for a in WORDS for b in WORDS]
PAIRS = Pairs([*FIRST, "ab", ""], [*SECOND, "ab " * 30, "ab"], "pairs")


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return train_tokenizer([*FIRST, *SECOND], 14)


def test_the_texts_of_a_row_are_parted_and_padded_to_one_width() -> None:
    ids = tf.constant([[2, 7, 3, 2, 8, 9, 3, 0], [2, 7, 8, 9, 3, 2, 6, 3]])
    types = tf.constant([[0, 0, 0, 1, 1, 1, 1, 0], [0, 0, 0, 0, 0, 1, 1, 1]])
    rows = Rows(ids, types, tf.zeros(2, tf.int32))
    inputs, labels, weights = SameMeaning(pad=0)(rows, tf.constant([0, 0], tf.int64))
    expected = [[[2, 7, 3, 0, 0], [2, 8, 9, 3, 0]], [[2, 7, 8, 9, 3], [2, 6, 3, 0, 0]]]
    np.testing.assert_array_equal(inputs["token_ids"], expected)
    np.testing.assert_array_equal(inputs["token_type_ids"], np.zeros((2, 2, 5)))
    np.testing.assert_array_equal(labels, [[0], [1]])
    np.testing.assert_array_equal(weights, np.ones((2, 1)))
    assert list(SameMeaning(0, has_token_types=False)(rows, tf.zeros(2, tf.int64))[0]) == [
        "token_ids"
    ]


def test_every_pair_is_in_a_batch_once_as_the_tokenizer_reads_it(tokenizer: Tokenizer) -> None:
    encoded = encode_text_pairs(PAIRS, tokenizer, SameMeaning(0), 20)
    report = encoded.report
    assert (report.kept, report.empty, report.too_long) == (36, 1, 1)
    special = tokenizer.special_ids
    longest = max(map(len, tokenizer.encode([*FIRST, *SECOND])))
    assert encoded.longest_text == longest
    found = []
    for inputs, _, _ in evaluation_batches(encoded, 80):
        for pair in inputs["token_ids"].numpy():
            rows = [row[row != 0].tolist() for row in pair]
            assert all((row[0], row[-1]) == (special.bos, special.eos) for row in rows)
            found.append(tuple(tokenizer.decode(rows)))
    assert sorted(found) == sorted(zip(FIRST, SECOND, strict=True))


def test_batches_that_begin_later_are_those_of_the_whole_stream(tokenizer: Tokenizer) -> None:
    encoded = encode_text_pairs(PAIRS, tokenizer, SameMeaning(0), 20)
    whole = list(training_batches(encoded, 80, seed=3).take(5))
    later = next(iter(training_batches(encoded, 80, seed=3, start_step=4)))
    np.testing.assert_array_equal(whole[4][0]["token_ids"], later[0]["token_ids"])


def test_pairs_of_which_none_is_left_are_refused(tokenizer: Tokenizer) -> None:
    with pytest.raises(ValueError, match="no pair of pairs is left: kept 0 of 38"):
        encode_text_pairs(PAIRS, tokenizer, SameMeaning(0), 3)
