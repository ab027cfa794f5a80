"""Pairs of sentences: the next one of a document, or a random one of another; a seed decides."""

from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from keras_transformer.data.batching.batches import evaluation_batches, training_batches
from keras_transformer.data.batching.sentence_pair_rows import SentencePairReader
from keras_transformer.data.encoding.sentence_pairs import (
    EncodedSentencePairs,
    encode_sentence_pairs,
)
from keras_transformer.data.sources.texts import Texts
from keras_transformer.text.tokenizer import Tokenizer, train_tokenizer

# Each sentence stands once, so that its ids tell which it is.
WORDS = ("ab", "ba", "cad", "dac", "bed", "deb")
SENTENCES = [f"{a} {b} {c}" for a in WORDS for b in WORDS for c in WORDS]


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return train_tokenizer(SENTENCES, 15, has_mask=True)


def as_rows(rows: Any, seed: tf.Tensor) -> Any:
    """An objective that passes the rows on."""
    del seed
    inputs = {"token_ids": rows.token_ids, "token_type_ids": rows.token_type_ids}
    return inputs, rows.classes[:, None], tf.ones_like(rows.classes[:, None], tf.float32)


def encode(sizes: list[int], tokenizer: Tokenizer, max_length: int = 64) -> EncodedSentencePairs:
    """Documents of so many sentences."""
    lines, sentences = [], iter(SENTENCES)
    for size in sizes:
        lines += [next(sentences) for _ in range(size)] + [""]
    return encode_sentence_pairs(Texts(lines, "documents"), tokenizer, as_rows, max_length)


def pairs_of(batch: Any, tokenizer: Tokenizer) -> list[tuple[int, int, int]]:
    """The numbers of both sentences of each row, and its class."""
    inputs, classes, _ = batch
    ids, types = inputs["token_ids"].numpy(), inputs["token_type_ids"].numpy()
    found = []
    for row, kinds, label in zip(ids, types, classes.numpy()[:, 0], strict=True):
        special = tokenizer.special_ids
        length = int((row != special.pad).sum())
        assert row[0] == special.bos and row[length - 1] == special.eos
        second = int(kinds.argmax())
        assert row[second - 1] == special.eos and kinds[:length].tolist() == sorted(kinds[:length])
        first, other = row[1 : second - 1], row[second : length - 1]
        texts = tokenizer.decode([first.tolist(), other.tolist()])
        found.append((*map(SENTENCES.index, texts), int(label)))
    return found


@settings(max_examples=3, deadline=None)
@given(sizes=st.lists(st.integers(2, 9), min_size=2, max_size=9), seed=st.integers(0, 2**31))
def test_a_sentence_is_followed_by_its_next_or_by_one_of_another_document(
    tokenizer: Tokenizer, sizes: list[int], seed: int
) -> None:
    encoded = encode(sizes, tokenizer)
    document = np.repeat(np.arange(len(sizes)), sizes)
    seen = []
    for batch in training_batches(encoded, 128, seed).take(
        SentencePairReader(encoded).per_epoch(128, 1)
    ):
        for first, second, is_random in pairs_of(batch, tokenizer):
            seen.append(first)
            if is_random:
                assert document[first] != document[second]
            else:
                assert second == first + 1 and document[first] == document[second]
    assert sorted(seen) == np.flatnonzero(np.diff(document) == 0).tolist()


def test_half_of_the_pairs_are_random_and_their_lengths_tell_nothing(tokenizer: Tokenizer) -> None:
    encoded = encode([8] * 27, tokenizer)
    lengths, labels = [], []
    for batch in training_batches(encoded, 512, 3).take(60):
        inputs, classes, _ = batch
        lengths += inputs["token_type_ids"].numpy().sum(axis=1).tolist()
        labels += classes.numpy()[:, 0].tolist()
    labels = np.array(labels)
    assert labels.mean() == pytest.approx(0.5, abs=0.04)
    of_random, of_next = (np.array(lengths)[labels == kind].mean() for kind in (1, 0))
    assert of_random == pytest.approx(of_next, rel=0.05)


def test_batches_and_rows_stay_within_their_limits(tokenizer: Tokenizer) -> None:
    limit = 15
    encoded = encode([8] * 27, tokenizer, max_length=limit)
    assert encoded.report.too_long
    for batch in training_batches(encoded, 128, 3).take(60):
        rows, width = batch[0]["token_ids"].shape
        assert rows * width <= 128 and width <= limit


@pytest.mark.exhaustive
def test_the_seed_and_the_batch_decide_all(tokenizer: Tokenizer) -> None:
    encoded = encode([8] * 27, tokenizer)
    first, again, other = (
        next(iter(training_batches(encoded, 512, seed, start_step=1))) for seed in (7, 7, 8)
    )
    for one, two in zip(tf.nest.flatten(first), tf.nest.flatten(again), strict=True):
        np.testing.assert_array_equal(one, two)
    assert not np.array_equal(first[1], other[1])
    whole = [list(evaluation_batches(encoded, 512)) for _ in range(2)]
    for one, two in zip(*map(tf.nest.flatten, whole), strict=True):
        np.testing.assert_array_equal(one, two)


def test_documents_of_one_sentence_hold_no_pair(tokenizer: Tokenizer) -> None:
    with pytest.raises(ValueError, match="no pair of sentences of documents is left"):
        encode([1, 1, 1], tokenizer)
