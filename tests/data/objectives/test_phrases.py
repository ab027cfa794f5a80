"""Phrases: found as plain Python finds them, hidden as a whole, and told if they are missing."""

from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from keras_transformer.config import SpecialIds
from keras_transformer.data.objectives.masked_tokens import MaskedTokens
from keras_transformer.data.objectives.objective import Rows
from keras_transformer.data.objectives.phrases import PhraseTree
from keras_transformer.data.sources.files import read_phrases

IDS = SpecialIds(mask=4)
VOCABULARY = 12
# Ids from 8 on begin a word; 5 to 7 continue one.
BEGINS_WORD = tuple(token >= 8 for token in range(VOCABULARY))

WORD = st.tuples(st.integers(8, 11), st.lists(st.integers(5, 7), max_size=1)).map(
    lambda word: [word[0], *word[1]]
)
WORDS = st.lists(WORD, min_size=1, max_size=3).map(lambda words: sum(words, []))
TEXTS = st.lists(
    st.lists(WORD, min_size=1, max_size=12).map(lambda words: sum(words, [])),
    min_size=1,
    max_size=4,
)


def rows_of(texts: list[list[int]]) -> Rows:
    full = [[IDS.bos, *text, IDS.eos] for text in texts]
    ids = tf.ragged.constant(full, dtype=tf.int32).to_tensor(default_value=IDS.pad)
    return Rows(ids, tf.zeros_like(ids), tf.zeros(len(texts), tf.int32))


def masked(phrases: list[list[int]]) -> MaskedTokens:
    tree = PhraseTree.of(phrases, VOCABULARY)
    return MaskedTokens(IDS, VOCABULARY, unit="phrases", begins_word=BEGINS_WORD, phrases=tree)


def matches(row: list[int], phrases: list[list[int]]) -> list[tuple[int, int]]:
    """Where phrases begin and end in a row, whole words only."""
    begins = [token < 5 or token >= 8 for token in row] + [True]
    return [
        (place, place + len(phrase))
        for phrase in phrases
        for place in range(len(row) - len(phrase) + 1)
        if row[place : place + len(phrase)] == phrase and begins[place + len(phrase)]
    ]


@settings(max_examples=40, deadline=None)
@given(texts=TEXTS, phrases=st.lists(WORDS, min_size=1, max_size=4), seed=st.integers(0, 2**31))
def test_phrases_are_found_and_each_is_hidden_as_a_whole(
    texts: list[list[int]], phrases: list[list[int]], seed: int
) -> None:
    rows, objective = rows_of(texts), masked(phrases)
    inputs, _, weights = objective(rows, tf.constant([seed, 1], tf.int64))
    ids = rows.token_ids.numpy()
    chosen = np.zeros(ids.shape, bool)
    for row, places in enumerate(inputs["places"].numpy()):
        chosen[row, places[weights.numpy()[row] == 1]] = True
    assert not chosen[np.isin(ids, sorted(IDS.without_text))].any()
    begins = tf.constant(np.isin(ids, [0, 2, 3, *range(8, 12)]))
    continues = objective.phrases.continues(rows.token_ids, begins).numpy()
    found = [matches(row, phrases) for row in ids.tolist()]
    expected = np.zeros(ids.shape, bool)
    for row, spans in enumerate(found):
        for begin, end in spans:
            expected[row, begin + 1 : end] = True
            assert len(set(chosen[row, begin:end])) == 1
    np.testing.assert_array_equal(continues, expected)
    inside = begins.numpy() | expected
    for row, place in zip(*np.nonzero(~inside), strict=True):
        assert chosen[row, place] == chosen[row, place - 1]  # the rest of a word


def test_phrases_that_are_found_are_counted() -> None:
    objective = masked([[8, 9], [9, 10], [11, 11]])
    assert objective.count_phrases([2, 8, 9, 3, 2, 9, 10, 5, 3]) == 1
    assert objective.count_phrases([2, 8, 3, 2, 9, 3]) == 0
    assert objective.count_phrases([2, 11, 11, 9, 10, 3]) == 2


def test_a_seed_decides_all_and_the_share_is_that_of_tokens() -> None:
    texts = np.random.default_rng(0).integers(8, VOCABULARY, (100, 60)).tolist()
    objective, rows = masked([[8, 9], [9, 10, 11], [11, 11]]), rows_of(texts)
    first, again, other = (
        objective(rows, tf.constant(seed, tf.int64)) for seed in ([7, 1], [7, 1], [7, 2])
    )
    for one, two in zip(tf.nest.flatten(first), tf.nest.flatten(again), strict=True):
        np.testing.assert_array_equal(one, two)
    assert not np.array_equal(first[0]["token_ids"], other[0]["token_ids"])
    assert float(tf.reduce_sum(first[2])) / 6000 == pytest.approx(0.15, abs=0.01)


def test_the_unit_and_the_phrases_need_each_other() -> None:
    with pytest.raises(ValueError, match="masking='phrases' needs phrases"):
        MaskedTokens(IDS, VOCABULARY, unit="phrases", begins_word=BEGINS_WORD)


def test_a_file_has_a_phrase_a_line(tmp_path: Path) -> None:
    path = tmp_path / "phrases.txt"
    path.write_text("New  York\n\n a dog \nNew York\n", encoding="utf-8")
    assert read_phrases(path) == ("New York", "a dog")
    path.write_text("\n \n", encoding="utf-8")
    with pytest.raises(ValueError, match="has no phrase: write one a line"):
        read_phrases(path)
