"""Single texts in shards: the rows and batches of the same texts in memory, resumed and shared."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from keras_transformer.data.batching.batches import (
    batch_pairs,
    batches_per_epoch,
    evaluation_batches,
    training_batches,
)
from keras_transformer.data.encoding.single_texts import encode_for_decoder, encode_for_encoder
from keras_transformer.data.objectives.masked_tokens import MaskedTokens
from keras_transformer.data.objectives.next_token import NextToken
from keras_transformer.data.prepared.corpus import PreparedCorpus
from keras_transformer.data.prepared.options import PrepareOptions
from keras_transformer.data.prepared.prepare import prepare
from keras_transformer.data.prepared.text_batches import ShardedTexts
from keras_transformer.data.sources.streams import SingleFiles
from keras_transformer.data.sources.texts import read_texts

WORDS = ("ab", "ba", "cad", "dac", "bed", "deb")
LINES = [f"{a} {b} {c}" for a in WORDS for b in WORDS for c in WORDS[:2]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory, without_workers) -> Path:
    """A folder with texts, of which one is empty and one too long, and the prepared corpus."""
    folder = tmp_path_factory.mktemp("texts")
    lines = [*LINES[:30], "", "ab " * 50, *LINES[30:]]
    (folder / "a.txt").write_text("".join(f"{line}\n" for line in lines))
    prepare(
        SingleFiles((folder / "a.txt",)),
        folder / "prepared",
        options=PrepareOptions(vocab_size=14, max_length=24, shards=3),
        workers=1,
        say=lambda line: None,
    )
    return folder


def opened(folder: Path, kind: str) -> tuple[ShardedTexts, Any]:
    """Returns prepared texts, and the same in memory."""
    corpus = PreparedCorpus.load(folder / "prepared")
    tokenizer, pairs = corpus.source_tokenizer, corpus.train
    special = tokenizer.special_ids
    texts = read_texts(folder / "a.txt")
    objective: Any
    if kind == "encoder":
        objective, begin = MaskedTokens(special, tokenizer.vocab_size), special.bos
        encoded = encode_for_encoder(texts, tokenizer, objective, 24)
    else:
        objective, begin = NextToken(special), special.decoder_start
        encoded = encode_for_decoder(texts, tokenizer, objective, 24)
    return ShardedTexts(pairs.directory, pairs.split, pairs.pad, begin, objective), encoded


def flat(batch: Any) -> list[np.ndarray]:
    inputs, labels, weights = batch
    return [np.asarray(part) for part in (*inputs.values(), labels, weights)]


def rows_of(batches: Any) -> list[tuple[int, ...]]:
    """Returns the rows that a decoder reads, without padding, sorted."""
    rows = (row for inputs, _, _ in batches for row in inputs["token_ids"].numpy())
    return sorted(tuple(row[row != 0].tolist()) for row in rows)


def test_rows_and_report_are_those_of_the_texts_in_memory(folder: Path) -> None:
    sharded, encoded = opened(folder, "decoder")
    assert PreparedCorpus.load(folder / "prepared").is_single
    assert (
        str(sharded.report) == "kept 72 of 74 texts; dropped 1 empty, 1 too long (over 24 tokens)"
    )
    assert rows_of(evaluation_batches(sharded, 60)) == rows_of(evaluation_batches(encoded, 60))
    count = batches_per_epoch(sharded, 60)
    epoch = training_batches(sharded, 60, seed=1).take(count)
    assert rows_of(epoch) == rows_of(evaluation_batches(encoded, 60))
    for inputs, _, _ in evaluation_batches(sharded, 60):
        assert np.prod(inputs["token_ids"].shape) <= 60


@pytest.mark.parametrize("kind", [pytest.param("encoder", marks=pytest.mark.exhaustive), "decoder"])
def test_batches_that_begin_later_are_those_of_the_whole_stream(folder: Path, kind: str) -> None:
    sharded, _ = opened(folder, kind)
    steps = batches_per_epoch(sharded, 60) + 3
    whole = list(training_batches(sharded, 60, seed=3).take(steps + 1))
    later = next(iter(training_batches(sharded, 60, seed=3, start_step=steps)))
    for one, other in zip(flat(whole[steps]), flat(later), strict=True):
        np.testing.assert_array_equal(one, other)
    twice = (list(evaluation_batches(sharded, 60)) for _ in range(2))
    for first, second in zip(*twice, strict=True):
        for one, other in zip(flat(first), flat(second), strict=True):
            np.testing.assert_array_equal(one, other)


def test_hidden_tokens_are_those_of_the_texts(folder: Path) -> None:
    sharded, encoded = opened(folder, "encoder")
    special = sharded.objective.special_ids  # type: ignore[attr-defined]
    restored = []
    for inputs, labels, weights in evaluation_batches(sharded, 60):
        ids = inputs["token_ids"].numpy()
        for row, places, hidden, weight in zip(
            ids, inputs["places"].numpy(), labels.numpy(), weights.numpy(), strict=True
        ):
            row[places[weight > 0]] = hidden[weight > 0]
            restored.append(tuple(row[row != special.pad].tolist()))
    expected = [tuple(encoded.rows[number].tolist()) for number in range(len(encoded))]
    assert sorted(restored) == sorted(expected)


@pytest.mark.exhaustive
def test_workers_share_the_texts_of_an_epoch(folder: Path) -> None:
    sharded, encoded = opened(folder, "decoder")
    steps = batches_per_epoch(sharded, 60, workers=2)
    found = []
    for index in (0, 1):
        for step, batch in enumerate(
            training_batches(sharded, 60, seed=2, worker=(index, 2)).take(steps)
        ):
            if batch[2].numpy().any():
                found += rows_of([batch])
                lines = batch_pairs(sharded, 60, 2, step, (index, 2))
                assert len(lines) == len(batch[1])
    assert sorted(found) == rows_of(evaluation_batches(encoded, 60))
