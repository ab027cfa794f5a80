"""The Keras-side search: the table of cases, a naive search, brute force, and its stages."""

import itertools
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st
from keras import ops

from keras_transformer.decoding.options import SearchOptions
from keras_transformer.decoding.search import FIRST_STAGE, length_penalty, search
from keras_transformer.special_ids import BOS_ID, EOS_ID, PAD_ID


class TableSteps:
    """A model that looks its answers up: `log_probs[sentence, step, last token]`.

    Its state is each row's sentence and a history of what it was fed, which must be the row's own.
    """

    def __init__(self, log_probs: np.ndarray, beams: int) -> None:
        self.log_probs = tf.constant(log_probs)
        self.beams = beams
        self.lengths: list[int] = []

    def start(self, rows: Any, length: int) -> Any:
        self.lengths.append(length)
        return {
            "sentence": ops.arange(rows) // self.beams,
            "fed": ops.zeros((rows, length), "int32"),
        }

    def grow(self, state: Any, length: int) -> Any:
        self.lengths.append(length)
        more = length - state["fed"].shape[1]
        return {**state, "fed": ops.pad(state["fed"], [[0, 0], [0, more]])}

    def step(self, ids: Any, step: Any, state: Any) -> tuple[Any, Any]:
        steps = ops.broadcast_to(step, ops.shape(ids))
        logits = tf.gather_nd(self.log_probs, ops.stack([state["sentence"], steps, ids], axis=1))
        here = ops.arange(state["fed"].shape[1], dtype="int32") == step
        return logits, {**state, "fed": ops.where(here, ids[:, None], state["fed"])}


def run(log_probs: np.ndarray, **options: Any) -> list[list[tuple[list[int], float, float]]]:
    """Searches in a graph; per sentence the hypotheses as (ids, score, log-probability)."""
    chosen = SearchOptions(**options)
    batch = len(log_probs)
    found = tf.function(
        lambda: vars(search(TableSteps(log_probs, chosen.beam_size), batch, chosen))
    )()
    assert found["ids"].shape[:2] == (batch, chosen.num_hypotheses)
    return [
        [
            (strip(ids), float(score), float(total))
            for ids, score, total in zip(*sentence, strict=True)
        ]
        for sentence in zip(
            *(np.asarray(found[name]) for name in ("ids", "scores", "log_probabilities")),
            strict=True,
        )
    ]


def strip(ids: np.ndarray) -> list[int]:
    """Cuts at the end token; behind it only padding may stand."""
    row = ids.tolist()
    if EOS_ID in row:
        end = row.index(EOS_ID)
        assert set(row[end + 1 :]) <= {PAD_ID}
        return row[:end]
    return row


def random_table(seed: int, sentences: int, length: int, vocabulary: int) -> np.ndarray:
    generator = np.random.default_rng(seed)
    logits = generator.standard_normal((sentences, length, vocabulary, vocabulary)) * 2
    logits[..., EOS_ID] += generator.uniform(-2, 3)
    return np.asarray(keras.ops.log_softmax(logits.astype("float32")))


def test_the_table_of_cases(search_case) -> None:
    found = run(search_case.log_probs, **search_case.options)
    assert [[ids for ids, _, _ in sentence] for sentence in found] == search_case.expected


@settings(max_examples=30)
@given(
    seed=st.integers(0, 10_000),
    sentences=st.integers(1, 3),
    beam_size=st.integers(1, 4),
    max_length=st.integers(1, 6),
    penalty=st.sampled_from([0.0, 0.6, 1.0, 2.0]),
)
def test_equals_the_naive_search(naive_search, seed, sentences, beam_size, max_length, penalty):
    table = random_table(seed, sentences, max_length, vocabulary=9)
    options = {
        "beam_size": beam_size,
        "num_hypotheses": beam_size,
        "max_length": max_length,
        "length_penalty": penalty,
    }
    for found, log_probs in zip(run(table, **options), table, strict=True):
        expected = naive_search(log_probs, **options)
        assert [ids for ids, _, _ in found] == [ids for ids, _, _ in expected]
        np.testing.assert_allclose(
            [numbers for _, *numbers in found], [numbers for _, *numbers in expected], rtol=1e-5
        )


@given(seed=st.integers(0, 10_000), max_length=st.integers(1, 8))
@settings(max_examples=20)
def test_one_beam_is_an_argmax_loop(seed: int, max_length: int) -> None:
    table = random_table(seed, 2, max_length, vocabulary=8)
    for [(ids, score, total)], log_probs in zip(
        run(table, max_length=max_length), table, strict=True
    ):
        expected, last, sum_ = [], BOS_ID, 0.0
        for step in range(max_length):
            row = log_probs[step, last].copy()
            row[[PAD_ID, BOS_ID]] = -np.inf
            last = int(row.argmax())
            sum_ += float(row[last])
            expected.append(last)
            if last == EOS_ID:
                break
        assert ids == [token for token in expected if token != EOS_ID]
        assert total == pytest.approx(sum_, rel=1e-5)
        assert score == pytest.approx(sum_ / ((5 + len(expected)) / 6) ** 0.6, rel=1e-5)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("penalty", [0.0, 1.0])
def test_a_beam_as_wide_as_the_space_finds_the_best_of_all(seed: int, penalty: float) -> None:
    length, words = 3, (1, EOS_ID, 4, 5)
    [log_probs] = random_table(seed, 1, length, vocabulary=6)

    def score(ids: tuple[int, ...]) -> float:
        total = sum(
            float(log_probs[step, last, token])
            for step, (last, token) in enumerate(itertools.pairwise((BOS_ID, *ids)))
        )
        return total / ((5 + len(ids)) / 6) ** penalty

    complete = [
        ids
        for size in range(1, length + 1)
        for ids in itertools.product(words, repeat=size)
        if EOS_ID not in ids[:-1] and (ids[-1] == EOS_ID or size == length)
    ]
    best = sorted(complete, key=score, reverse=True)
    options = {"beam_size": 40, "num_hypotheses": 5, "max_length": length}
    [found] = run(log_probs[None], length_penalty=penalty, **options)
    expected = [[token for token in ids if token != EOS_ID] for ids in best[:5]]
    assert [ids for ids, _, _ in found] == expected
    np.testing.assert_allclose(
        [s for _, s, _ in found], [score(ids) for ids in best[:5]], rtol=1e-5
    )


@pytest.mark.parametrize("beam_size", [1, 3])
def test_long_outputs_go_through_growing_buffers(beam_size: int, naive_search) -> None:
    """Past 32 and past 64 tokens, with the ends of sentences spread over all the stages."""
    length = 2 * FIRST_STAGE + 11
    table = random_table(0, 4, length, vocabulary=8).copy()
    for log_probs, end in zip(table, (5, FIRST_STAGE, FIRST_STAGE + 9, length + 1), strict=True):
        log_probs[: end - 1, :, EOS_ID] -= 30
        log_probs[end - 1 :, :, EOS_ID] += 30
    table = np.asarray(ops.log_softmax(table))
    options = {"beam_size": beam_size, "max_length": length, "num_hypotheses": beam_size}
    found = run(table, **options)
    for sentence, log_probs in zip(found, table, strict=True):
        expected = naive_search(log_probs, length_penalty=0.6, **options)
        assert [ids for ids, _, _ in sentence] == [ids for ids, _, _ in expected]
    assert [len(sentence[0][0]) for sentence in found] == [4, 31, 40, length]


@pytest.mark.parametrize(
    ("max_length", "stages"),
    [(1, [1]), (32, [32]), (33, [32, 33]), (64, [32, 64]), (100, [32, 64, 100])],
)
def test_buffers_double_up_to_the_limit(max_length: int, stages: list[int]) -> None:
    steps = TableSteps(random_table(0, 1, max_length, 7), 1)
    found = search(steps, 1, SearchOptions(max_length=max_length))
    assert steps.lengths == stages
    assert found.ids.shape == (1, 1, max_length)


def test_each_row_keeps_its_own_history() -> None:
    """The model's state follows the beams: it was fed bos and the hypothesis's own tokens."""
    fed = []

    class Watched(TableSteps):
        def step(self, ids: Any, step: Any, state: Any) -> tuple[Any, Any]:
            logits, state = super().step(ids, step, state)
            fed.append(np.array(state["fed"]))
            return logits, state

    table = random_table(3, 3, 6, vocabulary=9) - 30 * (np.arange(9) == EOS_ID)
    options = SearchOptions(beam_size=3, num_hypotheses=3, max_length=6)
    found = search(Watched(table.astype("float32"), 3), 3, options)
    histories = np.array(found.ids)[:, :, :-1].reshape(9, 5)
    assert len(np.unique(histories, axis=0)) > 3
    np.testing.assert_array_equal(fed[-1][:, 0], BOS_ID)
    # Within a sentence the last step may put its beams into another order.
    for rows, expected in zip(
        fed[-1][:, 1:].reshape(3, 3, 5), histories.reshape(3, 3, 5), strict=True
    ):
        assert {tuple(row) for row in expected} <= {tuple(row) for row in rows}


def test_a_hypothesis_that_cannot_be_has_no_score() -> None:
    """Only the end is possible: one hypothesis exists, the second is marked impossible."""
    table = np.full((1, 3, 6, 6), -np.inf, np.float32)
    table[..., EOS_ID] = 0
    [[first, second]] = run(table, beam_size=2, num_hypotheses=2, max_length=3)
    assert first == ([], 0.0, 0.0)
    assert second[1] < -1e29


def test_length_penalty_is_equation_14() -> None:
    assert float(length_penalty(1, 0.6)) == pytest.approx(1.0)
    assert float(length_penalty(7, 0.6)) == pytest.approx(2**0.6)
    assert float(length_penalty(7, 0.0)) == 1.0
