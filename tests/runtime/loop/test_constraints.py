"""Constraints: what each option forbids, by hand, and that the rest keeps its log-probability."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keras_transformer.config.special_ids import SpecialIds
from keras_transformer.runtime.loop.constraints import Constraints
from keras_transformer.runtime.loop.requests import Best, SearchRequest
from keras_transformer.runtime.loop.top_k import log_softmax
from keras_transformer.search.options import SearchOptions

SPECIAL_IDS = SpecialIds()
VOCABULARY = 9


def constraints(sentences: int = 1, prefixes: Any = (), **options: Any) -> Constraints:
    chosen = SearchOptions(**options)
    limits = [chosen.max_length] * sentences
    request = SearchRequest(
        options=chosen, special_ids=SPECIAL_IDS, limits=limits, prefixes=prefixes
    )
    return Constraints(request)


def apply(history: list[list[int]], *, prefixes: Any = (), **options: Any) -> np.ndarray:
    """Constrained log-probabilities of equal logits, one sentence a row; the end may come first."""
    options = {"min_length": 0, **options}
    rows = np.array(history, np.int32).reshape(len(history), -1)
    logits = np.zeros((len(rows), VOCABULARY), np.float32)
    found = constraints(len(rows), prefixes, **options)
    return found.apply(logits, rows, np.arange(len(rows)))


def forbidden(log_probs: np.ndarray) -> list[list[int]]:
    """The ids of each row that are forbidden; the rest must be what it was."""
    rest = log_probs[np.isfinite(log_probs)]
    np.testing.assert_allclose(rest, -np.log(VOCABULARY), rtol=1e-6)
    return [np.flatnonzero(np.isneginf(row)).tolist() for row in log_probs]


def test_padding_and_the_start_token_are_never_said() -> None:
    assert forbidden(apply([[]])) == [[0, 2]]
    assert forbidden(apply([[5, 6]])) == [[0, 2]]


def test_by_default_the_first_token_is_not_the_end() -> None:
    default = SearchOptions().min_length
    assert forbidden(apply([[]], min_length=default)) == [[0, 2, 3]]
    assert forbidden(apply([[5]], min_length=default)) == [[0, 2]]


@pytest.mark.parametrize(("said", "ids"), [(0, [0, 2, 3]), (1, [0, 2, 3]), (2, [0, 2])])
def test_no_end_comes_before_min_length(said: int, ids: list[int]) -> None:
    assert forbidden(apply([[5] * said], min_length=2)) == [ids]


@pytest.mark.parametrize(
    ("size", "history", "ids"),
    [
        (1, [], []),
        (1, [5, 7], [5, 7]),
        (2, [5], []),
        (2, [5, 7, 5], [7]),
        (2, [5, 5], [5]),
        (2, [5, 7, 5, 8, 5], [7, 8]),
        (3, [5, 7, 8, 5, 7], [8]),
        (3, [5, 7, 8, 7], []),
        (4, [5, 7, 8], []),
    ],
)
def test_no_n_gram_is_said_twice(size: int, history: list[int], ids: list[int]) -> None:
    assert forbidden(apply([history], no_repeat_ngram_size=size)) == [sorted([0, 2, *ids])]


@pytest.mark.parametrize(
    ("sequences", "history", "ids"),
    [
        ([[6]], [], [6]),
        ([[6], [7]], [5], [6, 7]),
        ([[5, 6]], [], []),
        ([[5, 6]], [5], [6]),
        ([[5, 6]], [5, 7], []),
        ([[5, 7, 6], [7, 8]], [5, 7], [6, 8]),
        ([[5, 7, 6]], [7], []),
        ([[3]], [5], [3]),
    ],
)
def test_no_banned_sequence_is_completed(
    sequences: list[list[int]], history: list[int], ids: list[int]
) -> None:
    assert forbidden(apply([history], banned_sequences=sequences)) == [sorted([0, 2, *ids])]


def test_rows_differ_by_their_own_history() -> None:
    found = apply([[5, 7, 5], [7, 5, 7]], no_repeat_ngram_size=2, banned_sequences=[[7, 8]])
    assert forbidden(found) == [[0, 2, 7], [0, 2, 5, 8]]


def test_what_was_said_is_penalized_once_before_the_softmax() -> None:
    logits = np.array([[0, 0, 0, 0, 2, -1, 3]], np.float32)
    found = constraints(repetition_penalty=2.0).apply(
        logits.copy(), np.array([[4, 5, 4]], np.int32), np.zeros(1, np.int64)
    )
    wanted = log_softmax(np.array([[0, 0, 0, 0, 1, -2, 3]], np.float32))
    wanted[:, [0, 2]] = -np.inf
    np.testing.assert_allclose(found, wanted, rtol=1e-6)


def test_only_the_forced_token_is_left_and_keeps_its_own_log_probability() -> None:
    found = apply([[5], [6]], forced_tokens=[(1, 7)])
    assert forbidden(found) == [[id_ for id_ in range(VOCABULARY) if id_ != 7]] * 2
    assert forbidden(apply([[5, 7]], forced_tokens=[(1, 7)])) == [[0, 2]]


@pytest.mark.parametrize(
    "options",
    [
        {"min_length": 5},
        {"banned_sequences": [[3]]},
        {"banned_sequences": [[5, 3]]},
        {"no_repeat_ngram_size": 1},
    ],
    ids=str,
)
def test_a_forced_token_may_be_forbidden_otherwise(options: dict[str, Any]) -> None:
    found = apply([[3, 5]], forced_tokens=[(2, 3)], **options)
    assert np.flatnonzero(np.isfinite(found[0])).tolist() == [3]
    assert found[0, 3] == pytest.approx(-np.log(VOCABULARY))


def test_a_prefix_is_its_sentence_s_own_and_comes_before_forced_tokens() -> None:
    prefixes = [[4, 5], [], [8]]
    first = apply([[], [], []], prefixes=prefixes, forced_tokens=[(1, 7)])
    left = [np.flatnonzero(np.isfinite(row)).tolist() for row in first]
    assert left == [[4], [1, *range(3, VOCABULARY)], [8]]
    second = apply([[4], [6], [8]], prefixes=prefixes, forced_tokens=[(1, 7)])
    assert [np.flatnonzero(np.isfinite(row)).tolist() for row in second] == [[5], [7], [7]]


def test_beams_share_their_sentence_s_prefix() -> None:
    found = constraints(2, [[4], [5]]).apply(
        np.zeros((4, VOCABULARY), np.float32), np.zeros((4, 0), np.int32), np.array([0, 0, 1, 1])
    )
    assert np.isfinite(found).argmax(axis=1).tolist() == [4, 4, 5, 5]


@pytest.mark.parametrize(
    ("options", "steps"),
    [
        ({}, []),
        ({"min_length": 3}, []),
        ({"forced_tokens": [(2, 7)]}, [2]),
        ({"prefixes": [[5, 6]]}, [0, 1]),
        ({"no_repeat_ngram_size": 2}, [0, 1, 2, 3]),
        ({"repetition_penalty": 1.1}, [0, 1, 2, 3]),
        ({"banned_sequences": [[7]]}, [0, 1, 2, 3]),
    ],
    ids=str,
)
def test_few_options_need_every_logit(options: dict[str, Any], steps: list[int]) -> None:
    found = constraints(**options)
    assert [step for step in range(4) if found.need_logits(step)] == steps


@pytest.mark.parametrize(("step", "struck"), [(0, [0, 2, 3]), (1, [0, 2])])
def test_striking_a_list_does_what_applying_does(step: int, struck: list[int]) -> None:
    ids = np.array([[5, 0, 3], [2, 1, 8]], np.int32)
    values = -np.arange(6, dtype=np.float32).reshape(2, 3)
    best = Best(ids, values.copy(), np.zeros_like(ids))
    found = constraints(2, min_length=1)
    found.strike(best, step)
    np.testing.assert_array_equal(np.isneginf(best.values), np.isin(ids, struck))
    np.testing.assert_array_equal(
        best.values[np.isfinite(best.values)], values[~np.isin(ids, struck)]
    )
    assert found.last_special == 3


@pytest.mark.parametrize(
    ("lengths", "bound"), [((2, 2), []), ((2, 3), [3, 4, 5, 6])], ids=["alike", "not"]
)
def test_behind_prompts_steps_are_free_unless_some_may_end_and_others_not(
    lengths: tuple[int, int], bound: list[int]
) -> None:
    request = SearchRequest(
        options=SearchOptions(min_length=4),
        special_ids=SPECIAL_IDS,
        limits=[9, 9],
        prefixes=[[5] * length for length in lengths],
        prompt_lengths=[*lengths],
    )
    found = Constraints(request)
    reading = [*range(max(lengths))]
    assert [step for step in range(9) if not found.free_steps(step)] == [*reading, *bound]


@given(data=st.data(), step=st.integers(0, 8))
def test_a_row_s_constraints_are_those_of_the_row_alone(data: st.DataObject, step: int) -> None:
    words = st.integers(4, VOCABULARY - 1)
    history = data.draw(st.lists(st.lists(words, min_size=step, max_size=step), min_size=1))
    options = {
        "no_repeat_ngram_size": data.draw(st.integers(0, 3)),
        "repetition_penalty": data.draw(st.sampled_from([1.0, 0.8, 1.5])),
        "banned_sequences": data.draw(st.lists(st.lists(words, min_size=1, max_size=3))),
        "min_length": data.draw(st.integers(0, 9)),
    }
    random = np.random.default_rng(data.draw(st.integers(0, 1000)))
    logits = random.standard_normal((len(history), VOCABULARY)).astype(np.float32)
    rows = np.array(history, np.int32).reshape(len(history), step)
    found = constraints(len(rows), **options).apply(logits.copy(), rows, np.arange(len(rows)))
    for row, said, constrained in zip(logits, rows, found, strict=True):
        alone = constraints(**options).apply(row[None].copy(), said[None], np.zeros(1, np.int64))
        np.testing.assert_allclose(constrained, alone[0], rtol=1e-6)
