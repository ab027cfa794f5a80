"""Similarities of a batch's pairs against the formula in float64."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from keras import ops

from keras_transformer.training.texts.embedding_model import in_batch_logits


@given(pairs=st.integers(1, 5), width=st.integers(1, 6), seed=st.integers(0, 99))
@settings(max_examples=20, deadline=None)
def test_logits_are_twenty_times_the_cosines(pairs: int, width: int, seed: int) -> None:
    vectors = np.random.default_rng(seed).normal(size=(pairs, 2, width))
    ids = np.arange(pairs * 2 * 3).reshape(pairs, 2, 3)
    first, second = vectors[:, 0], vectors[:, 1]
    lengths = np.linalg.norm(first, axis=1)[:, None] * np.linalg.norm(second, axis=1)[None]
    found = np.asarray(in_batch_logits(ops.cast(vectors, "float32"), ids))
    np.testing.assert_allclose(found, 20 * (first @ second.T) / lengths, rtol=1e-4, atol=1e-4)


def test_a_pair_that_shares_a_text_is_no_negative() -> None:
    vectors = np.random.default_rng(0).normal(size=(4, 2, 3)).astype(np.float32)
    ids = np.asarray([[[5, 6], [7, 0]], [[5, 6], [8, 0]], [[9, 0], [8, 0]], [[5, 0], [7, 7]]])
    is_none = np.asarray(in_batch_logits(vectors, ids)) < -100
    expected = np.zeros((4, 4), bool)
    expected[[0, 1, 1, 2], [1, 0, 2, 1]] = True
    np.testing.assert_array_equal(is_none, expected)


def test_a_vector_of_zeros_has_no_nan() -> None:
    found = np.asarray(
        in_batch_logits(np.zeros((2, 2, 3), np.float32), np.arange(8).reshape(2, 2, 2))
    )
    np.testing.assert_array_equal(found, 0)
