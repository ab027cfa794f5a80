"""Masks, written out by hand."""

import numpy as np
import pytest
import tensorflow as tf

from keras_transformer.config.special_ids import SpecialIds
from keras_transformer.layers.masks import (
    attention_mask,
    causal_mask,
    masked_softmax,
    padding_mask,
)

PAD_ID = SpecialIds.pad

X, _ = True, False


def test_padding_mask_marks_the_real_tokens() -> None:
    ids = np.array([[PAD_ID, 7, 3], [5, PAD_ID, PAD_ID]])
    np.testing.assert_array_equal(padding_mask(ids), [[_, X, X], [X, _, _]])


def test_causal_mask_is_the_lower_triangle() -> None:
    np.testing.assert_array_equal(causal_mask(3), [[X, _, _], [X, X, _], [X, X, X]])


def test_attention_mask_hides_padded_keys_from_every_query() -> None:
    mask = np.asarray(attention_mask(np.array([[X, X, _], [_, X, X]])))
    assert mask.dtype == bool
    np.testing.assert_array_equal(mask, [[[[X, X, _]]], [[[_, X, X]]]])


def test_causal_attention_mask_joins_both() -> None:
    mask = attention_mask(np.array([[X, X, _], [_, X, X]]), causal=True)
    np.testing.assert_array_equal(
        mask,
        [
            [[[X, _, _], [X, X, _], [X, X, _]]],
            [[[_, _, _], [_, X, _], [_, X, X]]],
        ],
    )


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_a_masked_score_gets_no_weight_however_high_it_is(dtype: str) -> None:
    scores = tf.constant([[-40_000, 20_000], [60_000, -60_000], [3, 4]], dtype)
    keep = np.array([[X, _], [_, X], [_, _]])
    expected = [[1, 0], [0, 1], [0, 0]]
    np.testing.assert_array_equal(tf.cast(masked_softmax(scores, keep), "float32"), expected)
