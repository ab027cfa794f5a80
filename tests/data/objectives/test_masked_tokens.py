"""Masked tokens: what is chosen, what becomes of it, and that a seed decides all."""

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from keras_transformer.config import SpecialIds
from keras_transformer.data.objectives.masked_tokens import MaskedTokens
from keras_transformer.data.objectives.objective import Rows

IDS = SpecialIds(mask=4)
VOCABULARY = 60
# Ids from 30 on begin a word.
BEGINS_WORD = tuple(token >= 30 for token in range(VOCABULARY))
UNITS = ("tokens", "whole-words", "spans")


def rows_of(texts: list[list[int]]) -> Rows:
    full = [[IDS.bos, *text, IDS.eos] for text in texts]
    ids = tf.ragged.constant(full, dtype=tf.int32).to_tensor(default_value=IDS.pad)
    return Rows(ids, tf.zeros_like(ids), tf.zeros(len(texts), tf.int32))


def masked(unit: str = "tokens", share: float = 0.15) -> MaskedTokens:
    return MaskedTokens(IDS, VOCABULARY, share=share, unit=unit, begins_word=BEGINS_WORD)


TEXTS = st.lists(
    st.lists(st.integers(5, VOCABULARY - 1) | st.just(IDS.unk), min_size=1, max_size=25),
    min_size=1,
    max_size=6,
)


@settings(max_examples=25, deadline=None)
@given(texts=TEXTS, seed=st.integers(0, 2**31), unit=st.sampled_from(UNITS))
def test_only_chosen_places_of_text_change_and_their_labels_are_the_hidden_ids(
    texts: list[list[int]], seed: int, unit: str
) -> None:
    rows = rows_of(texts)
    inputs, labels, weights = masked(unit)(rows, tf.constant([seed, 3], tf.int64))
    before, after = rows.token_ids.numpy(), inputs["token_ids"].numpy()
    places, labels, weights = inputs["places"].numpy(), labels.numpy(), weights.numpy()
    assert places.shape == labels.shape == weights.shape
    assert set(np.unique(weights)) <= {0.0, 1.0}
    for row, text in enumerate(texts):
        chosen = places[row][weights[row] == 1]
        assert len(set(chosen)) == len(chosen)
        np.testing.assert_array_equal(before[row][chosen], labels[row][weights[row] == 1])
        others = np.setdiff1d(np.arange(before.shape[1]), chosen)
        np.testing.assert_array_equal(before[row][others], after[row][others])
        assert not np.isin(before[row][chosen], sorted(IDS.without_text)).any()
        assert not np.isin(after[row][chosen], sorted(IDS.without_text - {IDS.mask})).any()
        known = sum(token != IDS.unk for token in text)
        assert bool(len(chosen)) == bool(known)
        if unit == "tokens" and known:
            assert len(chosen) == max(1, round(0.15 * known)) or known * 0.15 % 1 == 0.5


@settings(max_examples=25, deadline=None)
@given(texts=TEXTS, seed=st.integers(0, 2**31))
def test_a_word_is_hidden_as_a_whole(texts: list[list[int]], seed: int) -> None:
    rows = rows_of(texts)
    inputs, _, weights = masked("whole-words")(rows, tf.constant([seed, 0], tf.int64))
    chosen = np.zeros(rows.token_ids.shape, bool)
    for row, places in enumerate(inputs["places"].numpy()):
        chosen[row, places[weights.numpy()[row] == 1]] = True
    ids = rows.token_ids.numpy()
    for row in range(len(texts)):
        for place in range(2, ids.shape[1]):
            pair = ids[row, place - 1 : place + 1]
            if (pair >= 5).all() and pair[1] < 30:
                assert chosen[row, place - 1] == chosen[row, place]


@pytest.mark.parametrize("unit", UNITS)
def test_the_shares_are_those_of_the_paper(unit: str) -> None:
    texts = np.random.default_rng(0).integers(5, VOCABULARY, (200, 100)).tolist()
    rows = rows_of(texts)
    inputs, labels, weights = masked(unit)(rows, tf.constant([1, 1], tf.int64))
    now = tf.gather(inputs["token_ids"], inputs["places"], batch_dims=1).numpy()
    now, labels = now[weights.numpy() == 1], labels.numpy()[weights.numpy() == 1]
    assert len(now) / 20_000 == pytest.approx(0.15, abs=0.005)
    assert np.mean(now == IDS.mask) == pytest.approx(0.8, abs=0.03)
    # A random token may be the same by chance.
    assert np.mean(now == labels) == pytest.approx(0.1, abs=0.03)


@pytest.mark.parametrize("share", [0.15, 0.3])
def test_spans_of_short_texts_hide_no_more_than_single_tokens(share: float) -> None:
    random = np.random.default_rng(0)
    rows = rows_of([random.integers(5, VOCABULARY, 6 + row % 17).tolist() for row in range(500)])
    seed = tf.constant([1, 1], tf.int64)
    hidden = {unit: masked(unit, share)(rows, seed)[2].numpy().sum(axis=1) for unit in UNITS}
    np.testing.assert_array_equal(hidden["spans"], hidden["tokens"])


def test_spans_are_longer_than_tokens() -> None:
    rows = rows_of(np.random.default_rng(0).integers(5, VOCABULARY, (100, 200)).tolist())

    def runs(unit: str) -> float:
        inputs, _, weights = masked(unit)(rows, tf.constant([1, 1], tf.int64))
        chosen = np.zeros((100, 203), int)
        for row, places in enumerate(inputs["places"].numpy()):
            chosen[row, places[weights.numpy()[row] == 1]] = 1
        return chosen.sum() / (np.diff(chosen, axis=1) == -1).sum()

    assert runs("tokens") < 1.3
    assert 2.7 < runs("spans") < 4


@pytest.mark.parametrize("unit", UNITS)
def test_a_seed_decides_all(unit: str) -> None:
    rows = rows_of(np.random.default_rng(0).integers(5, VOCABULARY, (4, 30)).tolist())
    first, again, other = (
        masked(unit)(rows, tf.constant(seed, tf.int64)) for seed in ([7, 1], [7, 1], [7, 2])
    )
    for one, two in zip(tf.nest.flatten(first), tf.nest.flatten(again), strict=True):
        np.testing.assert_array_equal(one, two)
    assert not np.array_equal(first[0]["token_ids"], other[0]["token_ids"])


def test_a_vocabulary_without_mask_is_refused() -> None:
    with pytest.raises(ValueError, match="the vocabulary has no <mask>"):
        MaskedTokens(SpecialIds(), 40)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"share": 1.0}, "share must lie between 0 and 1, got 1.0"),
        (
            {"unit": "letters"},
            "masking must be one of tokens, whole-words, spans, phrases, got 'letters'",
        ),
        ({"unit": "whole-words"}, "begins_word must say of each of 60 ids .* got 0 values"),
    ],
)
def test_wrong_fields_are_named(fields: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        MaskedTokens(IDS, VOCABULARY, **fields)
