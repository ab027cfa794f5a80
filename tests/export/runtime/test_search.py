from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keras_transformer.export.runtime.search import SearchOptions, beam_search
from keras_transformer.export.runtime.top_k import log_softmax

SPECIAL_IDS = {"pad": 0, "unk": 1, "bos": 2, "eos": 3}


class ScriptedStep:
    """Looks log-probabilities up in `log_probs[sentence, tokens so far, last token]`."""

    def __init__(self, log_probs: np.ndarray) -> None:
        self.log_probs = log_probs
        self.sentences = np.arange(len(log_probs))
        self.step = -1
        self.rows: list[int] = []

    def __call__(self, ids: np.ndarray, parents: np.ndarray | None) -> np.ndarray:
        self.step += 1
        if parents is not None:
            self.sentences = self.sentences[parents]
        assert len(ids) == len(self.sentences)
        self.rows.append(len(ids))
        return self.log_probs[self.sentences, self.step, ids]


def search(log_probs: np.ndarray, **options: Any) -> list[list[tuple[list[int], float, float]]]:
    step = ScriptedStep(log_probs)
    found = beam_search(step, len(log_probs), SearchOptions(**options), SPECIAL_IDS)
    return [[tuple(candidate) for candidate in sentence] for sentence in found]


def test_scripted_case_gives_the_expected_ids(search_case: Any) -> None:
    found = search(search_case.log_probs, **search_case.options)
    assert [[ids for ids, _, _ in sentence] for sentence in found] == search_case.expected


def test_scripted_case_agrees_with_the_naive_search(
    search_case: Any, naive_search: Callable[..., Any]
) -> None:
    expected = [naive_search(table, **search_case.options) for table in search_case.log_probs]
    assert search(search_case.log_probs, **search_case.options) == expected


@st.composite
def tables(draw: st.DrawFn) -> np.ndarray:
    """Log-probabilities of a few random sentences; small whole logits, so that ties are common."""
    sentences, length = draw(st.integers(1, 4)), draw(st.integers(1, 6))
    vocabulary = draw(st.integers(4, 9))
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    highest = draw(st.sampled_from([1, 3, 30]))
    logits = random.integers(0, highest + 1, (sentences, length, vocabulary, vocabulary))
    logits[..., 3] += draw(st.sampled_from([-2, 0, 2]))
    return log_softmax(logits.astype(np.float32))


@settings(max_examples=200, deadline=None)
@given(
    log_probs=tables(),
    beam_size=st.integers(1, 4),
    length_penalty=st.sampled_from([0.0, 0.6, 1.0, 2.0]),
)
def test_random_tables_agree_with_the_naive_search(
    naive_search: Callable[..., Any], log_probs: np.ndarray, beam_size: int, length_penalty: float
) -> None:
    options = {
        "beam_size": beam_size,
        "length_penalty": length_penalty,
        "num_hypotheses": beam_size,
        "max_length": log_probs.shape[1],
    }
    expected = [naive_search(table, **options) for table in log_probs]
    assert search(log_probs, **options) == expected


@settings(max_examples=50, deadline=None)
@given(log_probs=tables())
def test_one_beam_is_the_argmax_at_every_step(log_probs: np.ndarray) -> None:
    found = search(log_probs, max_length=log_probs.shape[1])
    for table, [(ids, _, total)] in zip(log_probs, found, strict=True):
        allowed, last, tokens, expected = table.copy(), 2, [], np.float32(0)
        allowed[..., [0, 2]] = -np.inf
        for step in allowed:
            token = int(step[last].argmax())
            expected += step[last, token]
            if token == 3:
                break
            tokens.append(token)
            last = token
        assert (ids, total) == (tokens, float(expected))


def test_finished_sentences_leave_the_batch() -> None:
    # Sentence i ends after i + 1 tokens: end everywhere, word 4 before.
    log_probs = np.full((3, 4, 5, 5), -20, np.float32)
    for sentence in range(3):
        log_probs[sentence, : sentence + 1, :, 4] = 0
        log_probs[sentence, sentence + 1 :, :, 3] = 0
    step = ScriptedStep(log_probs)
    beam_search(step, 3, SearchOptions(max_length=4), SPECIAL_IDS)
    assert step.rows == [3, 3, 2, 1]


def test_no_sentence_needs_no_step() -> None:
    assert search(np.zeros((0, 3, 5, 5), np.float32)) == []


def test_the_score_is_the_log_probability_over_the_penalty() -> None:
    log_probs = np.full((1, 3, 5, 5), -20, np.float32)
    log_probs[0, :2, :, 4], log_probs[0, 2, :, 3] = -0.5, -0.25
    [[(ids, score, total)]] = search(log_probs, length_penalty=0.6, max_length=3)
    assert (ids, total) == ([4, 4], -1.25)
    assert score == pytest.approx(-1.25 / ((5 + 3) / 6) ** 0.6, rel=1e-6)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"beam_size": 0}, ValueError, "beam_size must be at least 1, got 0"),
        ({"beam_size": 2.0}, TypeError, "beam_size must be an integer, got 2.0"),
        ({"beam_size": True}, TypeError, "beam_size must be an integer, got True"),
        ({"max_length": -1}, ValueError, "max_length must be at least 1, got -1"),
        (
            {"num_hypotheses": 2},
            ValueError,
            r"num_hypotheses \(2\) must be at most beam_size \(1\)",
        ),
        ({"length_penalty": -0.1}, ValueError, "length_penalty must be finite and at least 0"),
        ({"length_penalty": float("nan")}, ValueError, "length_penalty must be finite"),
        ({"length_penalty": "1"}, TypeError, "length_penalty must be a number, got '1'"),
    ],
)
def test_options_out_of_range_are_refused(
    options: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        SearchOptions(**options)
