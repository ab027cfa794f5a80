"""Subword regularization: drawn segmentations spell the same texts, and streams can be resumed."""

import numpy as np
import pytest

from keras_transformer.config.special_ids import SpecialIds
from keras_transformer.data.batching.batches import (
    batch_pairs,
    batches_per_epoch,
    padding_fraction,
    training_batches,
)
from keras_transformer.data.encoding.encode import encode_pairs
from keras_transformer.data.encoding.subword_regularization import ResegmentedPairs
from keras_transformer.data.sources.corpus import Pairs
from keras_transformer.data.sources.demo import demo_corpus
from keras_transformer.text.tokenizer import ModelType, Tokenizer, train_tokenizer

EOS_ID, PAD_ID = SpecialIds.eos, SpecialIds.pad

BATCH_TOKENS = 400


@pytest.fixture(scope="module")
def pairs() -> Pairs:
    return demo_corpus(size=300).train


@pytest.fixture(scope="module", params=["unigram", "bpe"])
def model_type(request: pytest.FixtureRequest) -> ModelType:
    return request.param


@pytest.fixture(scope="module")
def tokenizer(pairs: Pairs, model_type: ModelType) -> Tokenizer:
    return train_tokenizer([*pairs.source, *pairs.target], 600, model_type)


@pytest.fixture(scope="module")
def sampled(pairs: Pairs, tokenizer: Tokenizer, model_type: ModelType) -> ResegmentedPairs:
    encoded = encode_pairs(pairs, tokenizer, tokenizer)
    return ResegmentedPairs.from_encoded(encoded, pairs, tokenizer, tokenizer, model_type, 256)


def test_a_drawn_segmentation_spells_its_text(
    sampled: ResegmentedPairs, tokenizer: Tokenizer
) -> None:
    source, target = sampled.draw(seed=1, epoch=2)
    for ids, texts in ((source, sampled.source_texts), (target, sampled.target_texts)):
        best = tokenizer.decode(tokenizer.encode(texts))
        assert tokenizer.decode([ids[row].tolist() for row in range(len(ids))]) == best


def test_epochs_and_seeds_draw_differently_and_repeat_themselves(sampled: ResegmentedPairs) -> None:
    draws = {
        key: sampled.draw(*key)[1].values.tobytes() for key in ((0, 0), (0, 1), (1, 0), (7, 3))
    }
    assert len(set(draws.values())) == len(draws)
    assert all(sampled.draw(*key)[1].values.tobytes() == drawn for key, drawn in draws.items())


def test_drawn_segmentations_are_somewhat_longer_than_the_best(sampled: ResegmentedPairs) -> None:
    source, _ = sampled.draw(0, 0)
    assert 1.0 < len(source.values) / len(sampled.source.values) < 1.6


def test_a_row_that_would_grow_too_long_keeps_its_best_segmentation(
    pairs: Pairs, tokenizer: Tokenizer, model_type: ModelType
) -> None:
    encoded = encode_pairs(pairs, tokenizer, tokenizer)
    limit = int(max(encoded.source_lengths.max(), encoded.target_lengths.max()))
    tight = ResegmentedPairs.from_encoded(encoded, pairs, tokenizer, tokenizer, model_type, limit)
    for epoch in range(3):
        assert max(ids.lengths.max() for ids in tight.draw(0, epoch)) < limit


def test_batches_of_a_resumed_stream_are_those_of_the_unbroken_one(
    sampled: ResegmentedPairs,
) -> None:
    per_epoch = batches_per_epoch(sampled, BATCH_TOKENS)
    unbroken = list(training_batches(sampled, BATCH_TOKENS, seed=3).take(2 * per_epoch + 2))
    for start in (1, per_epoch, per_epoch + 3):
        resumed = training_batches(sampled, BATCH_TOKENS, seed=3, start_step=start).take(3)
        for ours, theirs in zip(resumed, unbroken[start:], strict=False):
            np.testing.assert_array_equal(ours[0]["source_ids"], theirs[0]["source_ids"])
            np.testing.assert_array_equal(ours[1], theirs[1])


def test_an_epoch_holds_every_pair_once_and_its_batches_lines_are_known(
    pairs: Pairs, sampled: ResegmentedPairs, tokenizer: Tokenizer
) -> None:
    per_epoch = batches_per_epoch(sampled, BATCH_TOKENS)
    texts = []
    for number, (inputs, _, _) in enumerate(
        training_batches(sampled, BATCH_TOKENS, seed=0).take(per_epoch)
    ):
        rows = [
            [i for i in row if i not in (PAD_ID, EOS_ID)] for row in inputs["source_ids"].numpy()
        ]
        texts += tokenizer.decode(rows)
        lines = batch_pairs(sampled, BATCH_TOKENS, 0, number)
        named = [pairs.source[line] for line in lines]
        assert tokenizer.decode(rows) == tokenizer.decode(tokenizer.encode(named))
    best = tokenizer.decode(tokenizer.encode(sampled.source_texts))
    assert sorted(texts) == sorted(best)


def test_drawn_rows_of_like_lengths_share_a_batch(sampled: ResegmentedPairs) -> None:
    per_epoch = batches_per_epoch(sampled, BATCH_TOKENS)
    places = tokens = 0
    for inputs, labels, _ in training_batches(sampled, BATCH_TOKENS, seed=5).take(per_epoch):
        for ids in (inputs["source_ids"].numpy(), labels.numpy()):
            places += ids.size
            tokens += (ids != PAD_ID).sum()
    assert 1 - tokens / places < padding_fraction(sampled, BATCH_TOKENS) + 0.05
