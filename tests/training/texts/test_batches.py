"""Batches of single texts: what is masked, what labels stand where, and how they go on."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from single_texts import DOCUMENTS, LABELLED, LABELS, LINES, PLAIN, VOCABULARY

from keras_transformer.config.decoder_only import DecoderConfig
from keras_transformer.data.batching.batches import (
    batch_pairs,
    batches_per_epoch,
    evaluation_batches,
    training_batches,
)
from keras_transformer.data.encoding.single_texts import EncodedTexts
from keras_transformer.data.sources.tagged import TaggedTexts
from keras_transformer.data.sources.texts import LabelledTexts
from keras_transformer.text.tokenizer import train_tokenizer
from keras_transformer.training.recipes import nearest_preset
from keras_transformer.training.texts.options import TextOptions
from keras_transformer.training.texts.tasks import KINDS


def encode(task: str, texts: Any, **options: Any) -> EncodedTexts:
    """Returns the rows of a task, without a run."""
    asked = TextOptions(**options)
    sentinels = asked.num_sentinels
    tokenizer = train_tokenizer(
        LINES, VOCABULARY + sentinels, has_mask=True, num_sentinels=sentinels
    )
    kind = KINDS[task]
    head = {} if kind.family is DecoderConfig else kind.head(SimpleNamespace(train=texts), asked)
    size, special_ids = tokenizer.vocab_size, tokenizer.special_ids
    config = kind.family.preset(
        nearest_preset(task, kind.family), vocab_size=size, special_ids=special_ids, **head
    )
    return kind.encode(texts, tokenizer, config, 32, asked)


def flat(batch: Any) -> list[np.ndarray]:
    inputs, labels, weights_ = batch
    return [np.asarray(part) for part in (*inputs.values(), labels, weights_)]


@pytest.mark.parametrize(
    ("task", "texts", "options"),
    [
        ("masked-lm", PLAIN.train, {}),
        pytest.param(
            "masked-lm", PLAIN.train, {"masking": "whole-words"}, marks=pytest.mark.exhaustive
        ),
        pytest.param("masked-lm", PLAIN.train, {"masking": "spans"}, marks=pytest.mark.exhaustive),
        pytest.param(
            "masked-lm", DOCUMENTS.train, {"next_sentence": True}, marks=pytest.mark.exhaustive
        ),
        pytest.param("permutation-lm", PLAIN.train, {}, marks=pytest.mark.exhaustive),
        ("causal-lm", PLAIN.train, {"packing": "stream"}),
        ("classify", LABELLED.train, {}),
        ("denoising", PLAIN.train, {}),
        pytest.param(
            "denoising", PLAIN.train, {"denoising": "sentinels"}, marks=pytest.mark.exhaustive
        ),
        pytest.param(
            "denoising", PLAIN.train, {"denoising": "prefix"}, marks=pytest.mark.exhaustive
        ),
    ],
)
def test_batches_go_on_after_a_break_as_if_there_had_been_none(
    task: str, texts: Any, options: dict
) -> None:
    encoded = encode(task, texts, **options)
    per_epoch = batches_per_epoch(encoded, 96)
    assert per_epoch > 1
    steps = per_epoch + 2
    whole = list(training_batches(encoded, 96, seed=4).take(steps))
    # Within the first epoch, and within the second.
    for done in (1, per_epoch + 1):
        rest = list(training_batches(encoded, 96, seed=4, start_step=done).take(steps - done))
        for one, two in zip(whole[done:], rest, strict=True):
            for left, right in zip(flat(one), flat(two), strict=True):
                np.testing.assert_array_equal(left, right)


def test_each_epoch_masks_anew_and_holds_every_text_once() -> None:
    encoded = encode("masked-lm", PLAIN.train)
    count = batches_per_epoch(encoded, 96)
    batches = list(training_batches(encoded, 96, seed=4).take(2 * count))
    for epoch in (batches[:count], batches[count:]):
        assert sum(len(labels) for _, labels, _ in epoch) == len(encoded)
    assert len({flat(batch)[0].tobytes() for batch in batches}) == 2 * count


def test_lines_of_a_batch_are_those_that_it_holds() -> None:
    encoded = encode("classify", LABELLED.train)
    inputs, _, _ = next(iter(training_batches(encoded, 96, seed=4, start_step=2)))
    lines = batch_pairs(encoded, 96, 4, 2)
    for row, line in zip(inputs["token_ids"].numpy(), lines, strict=True):
        np.testing.assert_array_equal(row[row != 0], encoded.rows[int(line)])


def test_workers_share_the_batch_of_one() -> None:
    encoded = encode("masked-lm", PLAIN.train)
    whole = flat(next(iter(training_batches(encoded, 96, seed=4))))
    for index in range(2):
        share = flat(next(iter(training_batches(encoded, 96, seed=4, worker=(index, 2)))))
        for part, all_rows in zip(share, whole, strict=True):
            np.testing.assert_array_equal(part, all_rows[index::2])


def test_validation_masks_are_always_the_same() -> None:
    encoded = encode("masked-lm", PLAIN.train)
    first, again = list(evaluation_batches(encoded, 64)), list(evaluation_batches(encoded, 64))
    assert sum(len(labels) for _, labels, _ in first) == len(encoded)
    for one, two in zip(first, again, strict=True):
        for left, right in zip(flat(one), flat(two), strict=True):
            np.testing.assert_array_equal(left, right)


def test_tags_stand_at_the_first_token_of_each_word() -> None:
    words = [line.split() for line in LINES]
    tags = [["LONG" if len(word) > 2 else "SHORT" for word in row] for row in words]
    encoded = encode("tag", TaggedTexts(words, tags, "tagged"))
    tokenizer = train_tokenizer(LINES, VOCABULARY, has_mask=True)
    for inputs, labels, weights_ in evaluation_batches(encoded, 64):
        ids, labels, places = inputs["token_ids"].numpy(), labels.numpy(), weights_.numpy() == 1
        for row in range(len(ids)):
            pieces = tokenizer.pieces(ids[row].tolist())
            firsts = [place for place, piece in enumerate(pieces) if piece.startswith("\u2581")]
            assert np.flatnonzero(places[row]).tolist() == firsts
            [text] = tokenizer.decode([ids[row].tolist()])
            assert labels[row][firsts].tolist() == [len(word) <= 2 for word in text.split()]


def test_the_longest_text_counts_no_special_ids() -> None:
    encoded = encode("masked-lm", PLAIN.train)
    assert encoded.longest_text == encoded.lengths.max() - 2


def test_pairs_have_token_types() -> None:
    encoded = encode("classify", LabelledTexts(LABELS, LINES, LINES[::-1], "pairs"))
    inputs, _, _ = next(iter(evaluation_batches(encoded, 64)))
    ids, types = inputs["token_ids"].numpy(), inputs["token_type_ids"].numpy()
    for row, kinds in zip(ids, types, strict=True):
        first, second = np.flatnonzero(row == encoded.special_ids.eos)
        assert kinds.tolist() == [0] * (first + 1) + [1] * (second - first) + [0] * (
            len(row) - second - 1
        )
