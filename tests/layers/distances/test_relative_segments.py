"""Relative segments: two vectors and a bias of each head, and no numbers of segments."""

import numpy as np
import pytest

from keras_transformer.config import AttentionConfig
from keras_transformer.layers import MultiHeadAttention
from keras_transformer.layers.distances.relative_segments import RelativeSegments


def test_scores_are_those_of_the_paper(randomize) -> None:
    layer = RelativeSegments(2, 4)
    layer.build()
    randomize(layer)
    queries = np.random.default_rng(0).standard_normal((3, 2, 5, 4)).astype("float32")
    differs = np.random.default_rng(1).random((3, 1, 5, 6)) < 0.5
    found = np.asarray(layer(queries, differs))
    for head in range(2):
        asked = queries[:, head] + np.asarray(layer.segment_bias)[head]
        same, other = (asked @ np.asarray(vector)[head] for vector in np.asarray(layer.vectors))
        expected = np.where(differs[:, 0], other[..., None], same[..., None])
        np.testing.assert_allclose(found[:, head], expected, atol=1e-5)


@pytest.fixture
def attention(randomize) -> MultiHeadAttention:
    layer = MultiHeadAttention(AttentionConfig(num_heads=2, key_dim=4, relative_segments=True))
    layer.build((None, None, 6))
    return randomize(layer)


def test_one_segment_is_as_none_named(attention: MultiHeadAttention) -> None:
    states = np.random.default_rng(0).standard_normal((1, 4, 6)).astype("float32")
    one = attention(states, differs=np.zeros((1, 1, 4, 4), bool))
    np.testing.assert_allclose(one, attention(states), atol=1e-5)


def test_another_segment_changes_what_is_read(attention: MultiHeadAttention) -> None:
    states = np.random.default_rng(0).standard_normal((1, 4, 6)).astype("float32")
    differs = (np.arange(4) < 2)[:, None] != (np.arange(4) < 2)[None]
    assert np.abs(attention(states, differs=differs[None, None]) - attention(states)).max() > 1e-2
