"""GloVe: counts against counting by hand, and its steps against the paper in float64."""

import keras
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keras_transformer.vectors import glove
from keras_transformer.vectors.glove import CoOccurrences, GloVe, weights
from tools.covering import some

WORDS = {"a": 0, "b": 1, "c": 2}
LINES = st.lists(st.lists(st.sampled_from(["a", "b", "c", "unknown"]), max_size=6), max_size=6)


def counted(lines: list[list[str]], window: int) -> np.ndarray:
    """Section 4.2: a pair of words d apart adds 1 / d."""
    table = np.zeros((len(WORDS), len(WORDS)))
    for line in lines:
        known = [WORDS[word] for word in line if word in WORDS]
        for i, left in enumerate(known):
            for j in range(i + 1, min(len(known), i + window + 1)):
                table[left, known[j]] += 1 / (j - i)
                table[known[j], left] += 1 / (j - i)
    return table


@given(LINES, st.integers(1, 4), st.sampled_from([1, 5, 1000]))
def test_counts_equal_counting_by_hand_in_blocks_of_any_size(lines, window, block) -> None:
    usual, glove._WORDS_OF_A_BLOCK = glove._WORDS_OF_A_BLOCK, block
    try:
        found = CoOccurrences.count(lines, WORDS, window)
    finally:
        glove._WORDS_OF_A_BLOCK = usual
    table = np.zeros((len(WORDS), len(WORDS)))
    table[tuple(found.pairs.T)] = found.counts
    np.testing.assert_allclose(table, counted(lines, window), rtol=1e-12)
    assert (found.counts > 0).all()


@pytest.mark.parametrize("seed", some(range(3), 0))
def test_a_step_is_that_of_equation_8_by_adagrad(seed: int) -> None:
    draw = np.random.default_rng(seed)
    cells = [(0, 1), (1, 2), (2, 2)]
    counts = draw.uniform(0.5, 300, len(cells))
    model = GloVe(3, 4, seed)
    model(np.array(cells))
    tables = [model.vectors, model.contexts, model.biases, model.context_biases]
    w, c, b, d = before = [np.array(one.embeddings, np.float64) for one in tables]
    gradients, squares = ([np.zeros_like(one) for one in before] for _ in range(2))
    loss = 0.0
    for (i, j), count in zip(cells, counts, strict=True):
        error = w[i] @ c[j] + b[i, 0] + d[j, 0] - np.log(count)
        weight = min(1, count / 100) ** 0.75
        loss += weight * error**2
        # Each pair's own gradient is squared, as in training pair by pair.
        for table, row, value in zip(range(4), (i, j, i, j), (c[j], w[i], 1, 1), strict=True):
            gradients[table][row] += 2 * weight * error * value
            squares[table][row] += (2 * weight * error * value) ** 2
    [measured] = model.learn(CoOccurrences(np.array(cells, np.int32), counts), epochs=1)
    np.testing.assert_allclose(measured, loss, rtol=1e-4)
    for table, first, gradient, square in zip(tables, before, gradients, squares, strict=True):
        expected = first - 0.05 * gradient / np.sqrt(1 + square)
        np.testing.assert_allclose(np.array(table.embeddings), expected, atol=1e-5)


def test_frequent_pairs_weigh_no_more_than_one() -> None:
    np.testing.assert_allclose(weights(np.array([1, 100, 1e6])), [100**-0.75, 1, 1])


def test_a_saved_model_gives_the_same_products(tmp_path) -> None:
    model, pairs = GloVe(3, 4), np.array([[0, 1], [2, 2]])
    before = np.array(model(pairs))
    model.save(tmp_path / "glove.keras")
    after = keras.models.load_model(tmp_path / "glove.keras")(pairs)
    np.testing.assert_array_equal(np.array(after), before)
