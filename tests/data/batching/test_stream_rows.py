"""Streams of texts: rows that go on from batch to batch, each token once, from any step on."""

from itertools import islice

import numpy as np
import pytest

from keras_transformer.config.special_ids import SpecialIds
from keras_transformer.data.batching.batches import (
    batch_pairs,
    batches_per_epoch,
    evaluation_batches,
    training_batches,
)
from keras_transformer.data.encoding.id_pairs import TextReport
from keras_transformer.data.encoding.stream import EncodedStream

SPECIAL = SpecialIds()


def stream(tokens: int, segment: int) -> EncodedStream:
    """Tokens that count from 5, of texts of four tokens."""
    ids = np.concatenate([[SPECIAL.decoder_start], 5 + np.arange(tokens)]).astype(np.int32)
    return EncodedStream(ids, np.arange(tokens) // 4, segment, TextReport(9, 9, 0, 0), SPECIAL)


def taken(batches, count: int) -> list:
    return [
        ({name: ids.numpy() for name, ids in inputs.items()}, labels.numpy(), weights.numpy())
        for inputs, labels, weights in islice(batches, count)
    ]


SHAPES = [(40, 4, 8), (41, 4, 12), (37, 5, 25), (7, 4, 40), (3, 8, 8), (64, 4, 16)]


@pytest.mark.parametrize(("tokens", "segment", "batch_tokens"), SHAPES)
def test_every_token_is_predicted_once_from_the_one_before(tokens, segment, batch_tokens) -> None:
    labelled = []
    for inputs, labels, weights in evaluation_batches(stream(tokens, segment), batch_tokens):
        real = weights.numpy() > 0
        read, asked = inputs["token_ids"].numpy()[real], labels.numpy()[real]
        np.testing.assert_array_equal(np.where(asked == 5, SPECIAL.decoder_start, asked - 1), read)
        labelled += asked.tolist()
    assert sorted(labelled) == list(range(5, 5 + tokens))


@pytest.mark.parametrize(("tokens", "segment", "batch_tokens"), SHAPES)
def test_a_row_goes_on_where_it_ended(tokens, segment, batch_tokens) -> None:
    texts = stream(tokens, segment)
    count = batches_per_epoch(texts, batch_tokens)
    batches = taken(training_batches(texts, batch_tokens, seed=1), 2 * count)
    goes_on = [set(inputs["goes_on"].tolist()) for inputs, *_ in batches]
    assert goes_on == 2 * [{0}, *[{1}] * (count - 1)]
    for (_, ended, _), (inputs, _, weights) in zip(batches, batches[1:count], strict=False):
        begins = weights[:, 0] > 0
        np.testing.assert_array_equal(inputs["token_ids"][begins, 0], ended[begins, -1])


@pytest.mark.parametrize("step", [1, 4, 9, 23])
def test_batches_go_on_at_any_step(step: int) -> None:
    texts = stream(41, 4)
    unbroken = taken(training_batches(texts, 12, seed=1), step + 3)[step:]
    for one, other in zip(unbroken, taken(training_batches(texts, 12, 1, step), 3), strict=True):
        np.testing.assert_array_equal(one[0]["token_ids"], other[0]["token_ids"])
        np.testing.assert_array_equal(one[1], other[1])


def test_lines_of_a_batch_are_those_of_its_tokens() -> None:
    # Rows of 20 tokens: the second batch reads tokens 4 to 7 and 24 to 27.
    assert batch_pairs(stream(40, 4), 8, seed=1, step=1).tolist() == [1, 6]


def test_several_workers_are_refused() -> None:
    with pytest.raises(ValueError, match="a stream is read by one worker, .* got 2 workers"):
        training_batches(stream(40, 4), 8, seed=1, worker=(0, 2))


def test_a_batch_without_room_for_a_segment_is_refused() -> None:
    with pytest.raises(ValueError, match="batch_tokens=3 cannot hold a segment of 4 tokens"):
        batches_per_epoch(stream(40, 4), 3)
