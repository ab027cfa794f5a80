"""encode_pairs, EncodedPairs, FilterReport: ids as the tokenizer gives them, counts of drops."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keras_transformer.data.encoding import encode as encoding
from keras_transformer.data.encoding.encode import (
    EncodedPairs,
    FilterReport,
    RaggedIds,
    encode_pairs,
)
from keras_transformer.data.sources.corpus import Pairs
from keras_transformer.text.tokenizer import train_tokenizer

ENGLISH = ["a red house", "two red cats", "", "the cat", "a house and a house and a house", "cat"]
GERMAN = ["ein rotes Haus", "zwei rote Katzen", "leer", " \u3000", "ein Haus", "Katze"]
SOURCE_TOKENIZER = train_tokenizer(ENGLISH, 26, "bpe")
TARGET_TOKENIZER = train_tokenizer(GERMAN, 28, "bpe")
PAIRS = Pairs(ENGLISH, GERMAN, "example")
ID_ROWS = st.lists(
    st.tuples(st.lists(st.integers(4, 99), max_size=6), st.lists(st.integers(4, 99), max_size=6))
)


def rows(ids):
    return [ids[row].tolist() for row in range(len(ids))]


def test_each_side_has_the_ids_of_its_tokenizer():
    encoded = encode_pairs(PAIRS, SOURCE_TOKENIZER, TARGET_TOKENIZER)
    kept = [0, 1, 4, 5]
    assert encoded.pair_numbers.tolist() == kept
    assert rows(encoded.source) == SOURCE_TOKENIZER.encode([ENGLISH[i] for i in kept])
    assert rows(encoded.target) == TARGET_TOKENIZER.encode([GERMAN[i] for i in kept])


def test_one_tokenizer_may_read_both_sides():
    tokenizer = train_tokenizer(ENGLISH + GERMAN, 34, "bpe")
    encoded = encode_pairs(PAIRS, tokenizer, tokenizer)
    assert rows(encoded.target) == tokenizer.encode([GERMAN[i] for i in encoded.pair_numbers])


def test_blocks_are_joined_in_order(monkeypatch):
    whole = encode_pairs(PAIRS, SOURCE_TOKENIZER, TARGET_TOKENIZER)
    monkeypatch.setattr(encoding, "_BLOCK", 2)
    blocks = encode_pairs(PAIRS, SOURCE_TOKENIZER, TARGET_TOKENIZER)
    assert rows(blocks.source) == rows(whole.source)
    assert rows(blocks.target) == rows(whole.target)


def test_ids_are_held_compactly():
    encoded = encode_pairs(PAIRS, SOURCE_TOKENIZER, TARGET_TOKENIZER)
    assert encoded.source.values.dtype == np.int32
    assert encoded.source.offsets.dtype == np.int64
    assert encoded.source.values.ndim == 1


def test_the_report_counts_empty_and_over_long_pairs():
    longest = len(SOURCE_TOKENIZER.encode([ENGLISH[4]])[0]) + 1
    encoded = encode_pairs(PAIRS, SOURCE_TOKENIZER, TARGET_TOKENIZER, max_length=longest)
    assert encoded.report == FilterReport(6, kept=4, empty=2, too_long=0, max_length=longest)
    encoded = encode_pairs(PAIRS, SOURCE_TOKENIZER, TARGET_TOKENIZER, max_length=longest - 1)
    assert encoded.report == FilterReport(6, kept=3, empty=2, too_long=1, max_length=longest - 1)
    assert 4 not in encoded.pair_numbers


def test_the_report_is_one_line():
    report = FilterReport(29_000, kept=28_950, empty=2, too_long=48, max_length=64)
    assert str(report) == (
        "kept 28,950 of 29,000 pairs; dropped 2 empty, 48 too long (over 64 tokens)"
    )


@settings(max_examples=150, deadline=None)
@given(pairs=ID_ROWS, max_length=st.none() | st.integers(2, 8))
def test_exactly_the_pairs_with_text_and_of_allowed_length_stay(pairs, max_length):
    limit = max_length or 1000
    kept = [i for i, (s, t) in enumerate(pairs) if s and t and max(len(s), len(t)) < limit]
    source, target = [s for s, _ in pairs], [t for _, t in pairs]
    if not kept:
        with pytest.raises(ValueError, match="no pair of the given ids is left"):
            EncodedPairs.from_ids(source, target, max_length)
        return
    encoded = EncodedPairs.from_ids(source, target, max_length)
    assert len(encoded) == encoded.report.kept == len(kept)
    assert encoded.pair_numbers.tolist() == kept
    assert rows(encoded.source) == [source[i] for i in kept]
    assert rows(encoded.target) == [target[i] for i in kept]
    assert encoded.source_lengths.tolist() == [len(source[i]) + 1 for i in kept]
    assert encoded.target_lengths.tolist() == [len(target[i]) + 1 for i in kept]
    report = encoded.report
    assert report.empty == sum(not s or not t for s, t in pairs)
    assert report.kept + report.empty + report.too_long == report.total == len(pairs)


def test_nothing_left_is_an_error_that_names_the_origin_and_the_counts():
    with pytest.raises(ValueError, match="no pair of example is left: kept 0 of 6 pairs; dropped"):
        encode_pairs(PAIRS, SOURCE_TOKENIZER, TARGET_TOKENIZER, max_length=2)


def test_max_length_leaves_room_for_one_piece():
    with pytest.raises(ValueError, match="max_length must be at least 2 .* got 1"):
        encode_pairs(PAIRS, SOURCE_TOKENIZER, TARGET_TOKENIZER, max_length=1)


def test_given_ids_must_be_as_many_on_both_sides():
    with pytest.raises(ValueError, match="equally many rows, got 1 and 2"):
        EncodedPairs.from_ids([[4]], [[4], [5]])


@pytest.mark.parametrize("token", [0, 2, 3, -1])
def test_given_ids_must_not_hold_what_batching_adds(token):
    with pytest.raises(ValueError, match="target ids must not hold pad, bos, eos"):
        EncodedPairs.from_ids([[4]], [[4, token]])


def test_rows_outside_are_refused():
    ids = RaggedIds.from_rows([[4], [5, 6]])
    assert ids[1].tolist() == [5, 6]
    with pytest.raises(IndexError, match="row must lie in 0 to 1, got 2"):
        ids[2]
