"""Lengths that no model can take are refused, with the mend, or cut."""

from collections.abc import Callable

import pytest

from keras_transformer.search.model_limits import (
    ModelLimits,
    PositionsError,
    SourceLimit,
    TooLongError,
)
from keras_transformer.search.options import SearchOptions


def test_marks_count_among_the_positions(limits: Callable[..., ModelLimits]) -> None:
    marked = limits(10, source_begins=1, source_ends=2, target_begins=1)
    assert (marked.longest_source(99), marked.longest_target(99)) == (7, 8)
    assert (marked.longest_source(3), marked.longest_target(4)) == (3, 4)
    assert marked.longest_translation(SearchOptions(max_length_ratio=0.1), 5) == 2
    with pytest.raises(ValueError, match="max_length must be at least 2, .* got 1"):
        marked.fit(SearchOptions(max_length=1))


def test_a_text_beyond_the_positions_is_named_with_its_side(
    limits: Callable[..., ModelLimits],
) -> None:
    with pytest.raises(PositionsError, match="text 1 has 11 target tokens with eos") as raised:
        limits(10).check_pairs([[5], [5]], [[5], [5] * 10])
    error = raised.value
    assert (error.index, error.side, error.tokens, error.limit) == (1, "target", 11, 10)


def test_marks_leave_less_room_to_a_source(limits: Callable[..., ModelLimits]) -> None:
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
