"""Distances as Transformer-XL reads them: what they promise, and what they refuse. The equations in
float64 are in `test_attention_options`."""

from typing import Any

import numpy as np
import pytest

from keras_transformer.config import AttentionConfig, RotaryConfig
from keras_transformer.layers import MultiHeadAttention
from keras_transformer.layers.distances.relative_sinusoids import RelativeSinusoids


@pytest.fixture
def layer(randomize: Any) -> MultiHeadAttention:
    made = MultiHeadAttention(AttentionConfig(num_heads=2, key_dim=4, relative_sinusoids=True))
    made.build((None, None, 6))
    return randomize(made)


def states(length: int) -> np.ndarray:
    return np.random.default_rng(length).standard_normal((1, length, 6)).astype("float32")


@pytest.mark.parametrize("farthest", [None, 2])
@pytest.mark.parametrize("first_place", [0, 3, 9])
@pytest.mark.parametrize(("queries", "keys"), [(1, 1), (1, 7), (4, 4), (3, 8), (5, 2)])
def test_scores_are_those_of_each_distance(
    queries: int, keys: int, first_place: int, farthest: int | None, randomize, paper
) -> None:
    distances = RelativeSinusoids(2, 4, farthest)
    distances.build((None, None, 6))
    randomize(distances)
    given = np.random.default_rng(0).standard_normal((3, 2, queries, 4)).astype("float32")
    content, found = distances(given, num_keys=keys, first_place=first_place)
    kernel = np.asarray(distances.linear.kernel, np.float64).reshape(6, 2, 4)
    v = np.asarray(distances.position_bias, np.float64)
    assert found.shape == (3, 2, queries, keys)
    for head in range(2):
        for i in range(queries):
            for j in range(keys):
                distance = first_place + i - j
                if farthest is not None:
                    distance = max(-farthest, min(distance, farthest))
                key = paper.sinusoid(distance, 6) @ kernel[:, head]
                expected = (given[:, head, i] + v[head]) @ key
                np.testing.assert_allclose(found[:, head, i, j], expected, atol=2e-5)
    added = np.asarray(content) - given
    np.testing.assert_allclose(
        added, np.broadcast_to(distances.content_bias[:, None], added.shape), atol=1e-5
    )


def test_queries_of_a_cache_have_their_rows_of_the_whole(layer: MultiHeadAttention) -> None:
    whole, keys_values = states(9), layer.project(states(9))
    expected = layer.attend(whole, keys_values)
    found = layer.attend(whole[:, 4:7], keys_values, first_place=4)
    np.testing.assert_allclose(found, expected[:, 4:7], atol=1e-5)


def test_padding_before_a_text_changes_nothing(layer: MultiHeadAttention) -> None:
    text = states(5)
    padded = np.concatenate([states(3), text], axis=1)
    keep = (np.arange(8) >= 3)[None, None, None]
    np.testing.assert_allclose(layer(padded, keep_mask=keep)[:, 3:], layer(text), atol=1e-5)


@pytest.mark.parametrize("heads", [1, 2])
def test_a_batch_equals_its_rows(heads: int, randomize: Any) -> None:
    layer = MultiHeadAttention(AttentionConfig(num_heads=heads, key_dim=6, relative_sinusoids=True))
    batch = np.random.default_rng(0).standard_normal((4, 13, 6)).astype("float32")
    layer.build(batch.shape)
    randomize(layer)
    together = np.asarray(layer(batch))
    for place, row in enumerate(batch):
        np.testing.assert_allclose(together[place], layer(row[None])[0], atol=1e-5)


def test_behind_and_ahead_are_told_apart(layer: MultiHeadAttention) -> None:
    text = states(4)
    backwards = np.asarray(layer(text[:, ::-1]))[:, ::-1]
    assert not np.allclose(backwards, layer(text), atol=1e-2)


def test_each_block_has_a_projection_without_bias_and_two_biases_of_heads() -> None:
    layer = MultiHeadAttention(
        AttentionConfig(num_heads=2, key_dim=4, relative_sinusoids=True, use_bias=False)
    )
    layer.build((None, None, 6))
    shapes = [tuple(weight.shape) for weight in layer.distances.weights]
    assert sorted(shapes) == [(2, 4), (2, 4), (6, 8)]
    assert layer.linear_layers[-1] is layer.distances.linear


def test_rotary_positions_are_refused_beside_it() -> None:
    with pytest.raises(ValueError, match="rotary_base must be None, got 100.0"):
        MultiHeadAttention(
            AttentionConfig(
                num_heads=2, key_dim=4, rotary=RotaryConfig(base=100.0), relative_sinusoids=True
            )
        )
