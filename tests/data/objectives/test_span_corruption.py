"""Span corruption: source and target give the text back, specials stay, a seed decides all."""

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from keras_transformer.config import SpecialIds
from keras_transformer.data.objectives.objective import Rows
from keras_transformer.data.objectives.span_corruption import SpanCorruption
from keras_transformer.text.tokenizer import train_tokenizer

IDS = SpecialIds()
VOCABULARY = 60
SENTINELS = tuple(range(4, 14))

TEXTS = st.lists(
    st.lists(st.integers(14, VOCABULARY - 1) | st.just(IDS.unk), min_size=1, max_size=25),
    min_size=1,
    max_size=6,
)


def rows_of(texts: list[list[int]]) -> Rows:
    full = [[IDS.decoder_start, *text, IDS.eos] for text in texts]
    ids = tf.ragged.constant(full, dtype=tf.int32).to_tensor(default_value=IDS.pad)
    return Rows(ids, tf.zeros_like(ids), tf.zeros(len(texts), tf.int32))


def restored(source: list[int], target: list[int]) -> list[int]:
    """The text: each sentinel of the source replaced by what the target writes behind it."""
    spans: dict[int, list[int]] = {}
    for token in target[:-1]:
        if token in SENTINELS:
            newest = spans.setdefault(token, [])
        else:
            newest.append(token)
    return [part for token in source[:-1] for part in spans.get(token, [token])]


@settings(max_examples=40, deadline=None)
@given(
    texts=TEXTS,
    seed=st.integers(0, 2**31),
    count=st.integers(2, len(SENTINELS)),
    share=st.sampled_from([0.15, 0.5]),
)
def test_source_and_target_give_the_text_back(
    texts: list[list[int]], seed: int, count: int, share: float
) -> None:
    objective = SpanCorruption(IDS, SENTINELS[:count], share)
    inputs, labels, weights = objective(rows_of(texts), tf.constant([seed, 3], tf.int64))
    sources, targets = inputs["source_ids"].numpy().tolist(), labels.numpy().tolist()
    np.testing.assert_array_equal(weights, labels.numpy() != IDS.pad)
    for text, source, target, given_ids in zip(
        texts, sources, targets, inputs["target_ids"].numpy().tolist(), strict=True
    ):
        source, target = ([token for token in row if token != IDS.pad] for row in (source, target))
        assert source[-1] == target[-1] == IDS.eos
        assert [token for token in given_ids if token != IDS.pad] == [
            IDS.decoder_start,
            *target[:-1],
        ]
        used = [token for token in source if token in SENTINELS]
        assert used == list(SENTINELS[: len(used)])
        assert [token for token in target if token in SENTINELS] == [
            *used,
            SENTINELS[len(used)],
        ]
        assert len(used) < count
        assert IDS.unk not in target
        assert bool(used) == any(token != IDS.unk for token in text)
        assert restored(source, target) == text


def test_the_share_and_the_spans_are_those_of_the_paper() -> None:
    texts = np.random.default_rng(0).integers(14, VOCABULARY, (200, 60)).tolist()
    objective = SpanCorruption(IDS, SENTINELS)
    _, labels, _ = objective(rows_of(texts), tf.constant([1, 1], tf.int64))
    hidden = (labels.numpy() >= 14).sum()
    spans = np.isin(labels, SENTINELS).sum() - len(texts)
    assert hidden / 12_000 == pytest.approx(0.15, abs=0.01)
    assert 2.7 < hidden / spans < 4


def test_a_seed_decides_all() -> None:
    rows = rows_of(np.random.default_rng(0).integers(14, VOCABULARY, (4, 30)).tolist())
    objective = SpanCorruption(IDS, SENTINELS)
    first, again, other = (
        objective(rows, tf.constant(seed, tf.int64)) for seed in ([7, 1], [7, 1], [7, 2])
    )
    for one, two in zip(tf.nest.flatten(first), tf.nest.flatten(again), strict=True):
        np.testing.assert_array_equal(one, two)
    assert not np.array_equal(first[0]["source_ids"], other[0]["source_ids"])


def test_sentinels_are_pieces_after_the_mask_that_texts_may_hold() -> None:
    tokenizer = train_tokenizer(["a red dog", "a dog"], 16, has_mask=True, num_sentinels=3)
    assert (tokenizer.special_ids.mask, tokenizer.sentinel_ids) == (4, (5, 6, 7))
    assert 6 in tokenizer.encode(["a <extra_id_1> dog"])[0]
    assert train_tokenizer(["a red dog", "a dog"], 12).sentinel_ids == ()


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"sentinels": (4,)}, "needs two sentinels or more, and the vocabulary has 1"),
        ({"sentinels": SENTINELS, "share": 1.0}, "share must lie between 0 and 1, got 1.0"),
    ],
)
def test_wrong_fields_are_named(fields: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        SpanCorruption(IDS, **fields)
