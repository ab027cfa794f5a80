"""Texts that no search can take are refused, with the mend, or cut."""

from collections.abc import Callable
from typing import Any

import pytest

from keras_transformer.search.inputs import SourceLimit, TooLongError, check_texts
from keras_transformer.search.model_limits import ModelLimits


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


def test_marks_count_among_the_positions(limits: Callable[..., ModelLimits]) -> None:
    marked = limits(10, source_begins=1, source_ends=2)
    assert SourceLimit(None, "refuse", marked).length == 7


def test_long_sources_are_refused_with_their_index_or_cut(
    limits: Callable[..., ModelLimits],
) -> None:
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
def test_a_wrong_limit_is_refused(
    limits: Callable[..., ModelLimits], limit: int, long_texts: str, error: type
) -> None:
    with pytest.raises(error, match="max_source_length must|long_texts must"):
        SourceLimit(limit, long_texts, limits(None))
