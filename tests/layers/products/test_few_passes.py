"""Losses on large vocabularies are compiled, and what is compiled gives the same results."""

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from keras_transformer.layers.products import few_passes
from keras_transformer.training.loss.linear_cross_entropy import linear_cross_entropy
from keras_transformer.training.loss.linear_distillation import linear_distillation
from keras_transformer.training.loss.linear_r_drop import linear_r_drop
from tools.covering import sampled

VOCABULARY, WIDTH = 40, 6


def draw(*shape: int) -> tf.Tensor:
    return tf.constant(np.random.default_rng(len(shape)).standard_normal(shape), tf.float32)


def cross_entropy(states: Any, matrix: Any, labels: Any, weights: Any) -> Any:
    return linear_cross_entropy(states, matrix, labels, weights, 0.1)


def r_drop(states: Any, matrix: Any, labels: Any, weights: Any) -> Any:
    both = tf.concat([states, states[::-1]], axis=0)
    return linear_r_drop(both, matrix, labels, weights, 0.1, 5.0)


def distillation(states: Any, matrix: Any, labels: Any, weights: Any) -> Any:
    teacher = states[:, ::-1], matrix[::-1]
    return linear_distillation(states, matrix, labels, weights, 0.1, *teacher, 0.5)


LOSSES = [cross_entropy, r_drop, distillation]


def results(loss: Callable[..., Any], tokens: int, dtype: str) -> list[np.ndarray]:
    """The sums, and the gradients by states and matrix."""
    states, matrix = (tf.cast(draw(*shape), dtype) for shape in ((tokens, WIDTH), (40, WIDTH)))
    labels = tf.constant(np.arange(tokens) % VOCABULARY, tf.int32)
    weights = tf.constant(np.arange(tokens) % 3 / 2, tf.float32)
    with tf.GradientTape() as tape:
        tape.watch([states, matrix])
        sums = loss(states, matrix, labels, weights)
        loss_sum = sums[0]
    gradients = tape.gradient(loss_sum, [states, matrix])
    return [tf.cast(value, "float32").numpy() for value in (sums, *gradients)]


@pytest.mark.parametrize(
    ("loss", "dtype"),
    sampled(list(itertools.product(LOSSES, ["float32", "bfloat16"]))),
)
def test_compiled_or_not_the_results_are_the_same(
    loss: Callable[..., Any], dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for tokens in (9, 2):  # Of two tokens, most of the parts are empty.
        plain = results(loss, tokens, dtype)
        with monkeypatch.context() as patched:
            patched.setattr(few_passes, "_LARGE_VOCABULARY", 1)
            compiled = results(loss, tokens, dtype)
        tolerance = 1e-5 if dtype == "float32" else 0.03
        for ours, theirs in zip(compiled, plain, strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance)


def test_large_vocabularies_alone_are_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Any] = []
    function = tf.function

    def counted(*arguments: Any, **options: Any) -> Any:
        made.append(options)
        return function(*arguments, **options)

    monkeypatch.setattr(tf, "function", counted)
    double = few_passes.in_few_passes(lambda logits: 2 * logits)
    double(draw(3, few_passes._LARGE_VOCABULARY - 1))
    assert made == []
    for _ in range(2):
        double(draw(3, few_passes._LARGE_VOCABULARY))
    assert [one["jit_compile"] for one in made] == [True]
