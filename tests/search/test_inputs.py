"""Texts, token ids and prefixes that no search can take are refused, with the mend."""

from typing import Any

import numpy as np
import pytest

from keras_transformer.config.special_ids import SpecialIds
from keras_transformer.search.inputs import (
    ModelLimits,
    SourceLimit,
    TooLongError,
    check_prefixes,
    check_texts,
    check_token_ids,
)
from keras_transformer.search.options import SearchOptions

BOS_ID, EOS_ID, PAD_ID = SpecialIds.bos, SpecialIds.eos, SpecialIds.pad


def test_texts_come_back_as_a_list() -> None:
    assert check_texts(("a", "b")) == ["a", "b"]
    assert check_texts(iter(())) == []


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ("a dog", r"target_prefixes must be a list of strings, got one str: write \[text\]"),
        (b"a", "target_prefixes must be a list of strings, got one bytes"),
        (["a", None], "target_prefixes must be strings, got NoneType at index 1"),
    ],
)
def test_anything_but_a_list_of_strings_is_refused(texts: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        check_texts(texts, "target_prefixes")


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (
            {"banned_sequences": [[4], [5, 24]]},
            "banned_sequences names token 24, but the target vocabulary has the ids 0 to 23",
        ),
        (
            {"forced_tokens": [[0, 99]]},
            "forced_tokens names token 99, but the target vocabulary has the ids 0 to 23",
        ),
        ({"forced_tokens": [[0, PAD_ID]]}, r"forced_tokens names token 0: padding \(0\)"),
        ({"forced_tokens": [[0, BOS_ID]]}, r"forced_tokens names token 2: .* never generated"),
    ],
)
def test_ids_that_options_must_not_name(fields: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        check_token_ids(SearchOptions(**fields), 24, SpecialIds())


def test_ids_that_options_may_name() -> None:
    banned = [[PAD_ID], [EOS_ID], [4, EOS_ID], [23]]
    options = SearchOptions(banned_sequences=banned, forced_tokens=[[3, EOS_ID]])
    check_token_ids(options, 24, SpecialIds())


def test_prefixes_come_back_as_plain_integers() -> None:
    rows = check_prefixes([np.array([4, 5]), []], [3, 1], 24, SpecialIds())
    assert rows == [[4, 5], []]
    assert type(rows[0][0]) is int


@pytest.mark.parametrize(
    ("prefixes", "message"),
    [
        ([[4]], "got 1 prefixes for 2 sentences: give one for each, empty if"),
        ([[], [24]], "the prefix of sentence 1 holds token 24: it must hold ids from 0 to 23"),
        ([[-1], []], "the prefix of sentence 0 holds token -1"),
        ([[4, PAD_ID], []], "the prefix of sentence 0 holds token 0: .* without padding"),
        ([[BOS_ID], []], "the prefix of sentence 0 holds token 2"),
        ([[EOS_ID], []], "the prefix of sentence 0 holds token 3"),
        ([[4, 4, 4], [4, 4]], "the prefix of sentence 1 has 2 tokens, .* at most 2, the end"),
    ],
)
def test_prefixes_that_cannot_be_are_refused(prefixes: list, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        check_prefixes(prefixes, [4, 2], 24, SpecialIds())


def limits(max_positions: int | None, **marks: int) -> ModelLimits:
    """Returns those of a model of so many learned positions."""
    return ModelLimits(
        source_vocab_size=24,
        target_vocab_size=24,
        special_ids=SpecialIds(),
        max_positions=max_positions,
        **marks,
    )


def test_marks_count_among_the_positions() -> None:
    marked = limits(10, source_begins=1, source_ends=2, target_begins=1)
    assert (marked.longest_source(99), marked.longest_target(99)) == (7, 8)
    assert (marked.longest_source(3), marked.longest_target(4)) == (3, 4)
    assert SourceLimit(None, "refuse", marked).length == 7
    assert marked.longest_translation(SearchOptions(max_length_ratio=0.1), 5) == 2
    with pytest.raises(ValueError, match="max_length must be at least 2, .* got 1"):
        marked.fit(SearchOptions(max_length=1))


def test_long_sources_are_refused_with_their_index_or_cut() -> None:
    rows = [[5], [5, 6, 7], [8] * 4]
    assert SourceLimit(4, "refuse", limits(None)).fit(rows) == rows
    assert SourceLimit(None, "refuse", limits(None)).fit(rows) == rows
    assert SourceLimit(9, "cut", limits(3)).fit(rows) == [[5], [5, 6], [8, 8]]
    with pytest.raises(TooLongError, match="index 2 has 4 tokens, more than the 3") as caught:
        SourceLimit(3, "refuse", limits(90)).fit(rows)
    assert (caught.value.index, caught.value.tokens, caught.value.limit) == (2, 4, 3)


@pytest.mark.parametrize(
    ("limit", "long_texts", "error"),
    [(0, "refuse", ValueError), (True, "cut", TypeError), (9, "split", ValueError)],
)
def test_a_wrong_limit_is_refused(limit: int, long_texts: str, error: type) -> None:
    with pytest.raises(error, match="max_source_length must|long_texts must"):
        SourceLimit(limit, long_texts, limits(None))
