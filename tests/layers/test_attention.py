"""Attention against the paper's equations, against Keras's own layer, and under every mask."""

import keras
import ml_dtypes
import numpy as np
import pytest
import tensorflow as tf

from keras_transformer.config import AttentionConfig
from keras_transformer.layers import MultiHeadAttention
from keras_transformer.layers.masks import causal_mask, masked_softmax

BATCH, TARGET, SOURCE, HEADS, WIDTH = 2, 4, 5, 3, 6
FLOATS = ("float32", "float16", "bfloat16")


def normal(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype("float32")


def boolean(*shape: int, seed: int = 0) -> np.ndarray:
    """A mask that leaves every query at least one key."""
    mask = np.random.default_rng(seed).random(shape) < 0.5
    mask[..., 0] = True
    return mask


@pytest.fixture
def layer(randomize) -> MultiHeadAttention:
    layer = MultiHeadAttention(AttentionConfig(num_heads=HEADS, key_dim=4, value_dim=2))
    layer(normal(BATCH, TARGET, WIDTH), normal(BATCH, SOURCE, WIDTH))
    return randomize(layer)


def test_softmax_worked_example() -> None:
    row = np.array([[78.49, 43.29, 1.2, 41.74, 91.43, 74.47]], np.float32)
    weights = np.asarray(masked_softmax(row, None))
    assert weights[0, 4] == pytest.approx(0.9999976, abs=5e-8)
    assert weights.sum() == pytest.approx(1, abs=1e-6)
    # Without the fifth entry the first wins, by exp(78.49 - 74.47) over the last.
    keep = np.array([True, True, True, True, False, True])
    weights = np.asarray(masked_softmax(row, keep))
    assert weights[0, 4] == 0
    assert weights[0, 0] == pytest.approx(1 / (1 + np.exp(74.47 - 78.49)), abs=1e-6)


def test_scores_are_products_of_projected_queries_and_keys(layer: MultiHeadAttention) -> None:
    query, key = normal(BATCH, TARGET, WIDTH), normal(BATCH, SOURCE, WIDTH, seed=1)
    queries, (keys, _) = np.asarray(layer.project_queries(query)), layer.project(key)
    assert queries.shape == (BATCH, HEADS, TARGET, 4)
    *_, scores = layer(query, key, return_scores=True)
    np.testing.assert_allclose(queries @ np.swapaxes(keys, 2, 3) / 2, scores, atol=1e-5)


def test_under_the_causal_mask_every_weight_above_the_diagonal_is_exactly_zero() -> None:
    layer = MultiHeadAttention(AttentionConfig(num_heads=2, key_dim=4))
    # The worked example's scale: scores far apart, where a mask of small bias would leak.
    states = 90 * normal(2, 6, 8)
    _, weights = layer(states, keep_mask=causal_mask(6), return_weights=True)
    above = np.triu_indices(6, k=1)
    weights = np.asarray(weights)
    assert (weights[:, :, above[0], above[1]] == 0).all()
    np.testing.assert_allclose(weights.sum(axis=-1), 1, atol=1e-6)
    np.testing.assert_allclose(weights[:, :, 0, 0], 1, atol=1e-6)


@pytest.mark.parametrize("masked", [False, True])
def test_equals_the_paper_in_float64(layer: MultiHeadAttention, paper, masked: bool) -> None:
    query, key = normal(BATCH, TARGET, WIDTH), normal(BATCH, SOURCE, WIDTH, seed=1)
    keep = boolean(BATCH, TARGET, SOURCE) if masked else None
    outputs, weights = layer(
        query, key, keep_mask=None if keep is None else keep[:, None], return_weights=True
    )
    for row in range(BATCH):
        expected, expected_weights = paper.multi_head(
            layer, query[row].astype(float), key[row].astype(float), keep[row] if masked else None
        )
        np.testing.assert_allclose(outputs[row], expected, atol=1e-5)
        np.testing.assert_allclose(weights[row], expected_weights, atol=1e-6)


@pytest.mark.parametrize("masked", [False, True])
def test_equals_keras_multi_head_attention(layer: MultiHeadAttention, masked: bool) -> None:
    query, key, value = (
        normal(BATCH, length, WIDTH, seed=seed)
        for seed, length in enumerate((TARGET, SOURCE, SOURCE))
    )
    peer = keras.layers.MultiHeadAttention(HEADS, key_dim=4, value_dim=2)
    peer.build(query.shape, value.shape, key.shape)
    ours = layer.get_weights()
    peer.set_weights([w.reshape(p.shape) for w, p in zip(ours, peer.get_weights(), strict=True)])
    keep = boolean(BATCH, TARGET, SOURCE) if masked else None
    expected, expected_weights = peer(
        query, value, key, attention_mask=keep, return_attention_scores=True
    )
    outputs, weights = layer(
        query,
        key,
        value,
        keep_mask=None if keep is None else keep[:, None],
        return_weights=True,
    )
    np.testing.assert_allclose(outputs, expected, atol=1e-5)
    np.testing.assert_allclose(weights, expected_weights, atol=1e-6)


def test_self_attention_is_attention_to_the_query() -> None:
    layer, states = MultiHeadAttention(AttentionConfig(num_heads=2, key_dim=4)), normal(2, 3, 8)
    np.testing.assert_array_equal(layer(states), layer(states, states, states))


def test_weights_come_back_on_request(layer: MultiHeadAttention) -> None:
    query, key = normal(BATCH, TARGET, WIDTH), normal(BATCH, SOURCE, WIDTH)
    outputs, weights = layer(query, key, return_weights=True)
    assert weights.shape == (BATCH, HEADS, TARGET, SOURCE)
    np.testing.assert_array_equal(outputs, layer(query, key))


def test_weights_come_back_in_a_functional_model(layer: MultiHeadAttention) -> None:
    query, key = keras.Input((None, WIDTH)), keras.Input((None, WIDTH))
    outputs, weights = layer(query, key, return_weights=True)
    assert tuple(weights.shape) == (None, HEADS, None, None)
    model = keras.Model([query, key], [outputs, weights])
    given = [normal(BATCH, TARGET, WIDTH), normal(BATCH, SOURCE, WIDTH)]
    for found, expected in zip(model(given), layer(*given, return_weights=True), strict=True):
        np.testing.assert_array_equal(found, expected)


def test_projected_once_equals_the_call(layer: MultiHeadAttention) -> None:
    query, key, value = (normal(BATCH, SOURCE, WIDTH, seed=seed) for seed in range(3))
    keys, values = layer.project(key, value)
    assert keys.shape == (BATCH, HEADS, SOURCE, 4)
    assert values.shape == (BATCH, HEADS, SOURCE, 2)
    keep = boolean(BATCH, 1, SOURCE, SOURCE)
    np.testing.assert_array_equal(
        layer.attend(query, (keys, values), keep), layer(query, key, value, keep_mask=keep)
    )


@pytest.mark.parametrize(
    "shape",
    [
        (SOURCE,),
        (TARGET, SOURCE),
        (TARGET, 1),
        (1, TARGET, SOURCE),
        (HEADS, 1, SOURCE),
        (BATCH, 1, 1, SOURCE),
        (BATCH, 1, TARGET, SOURCE),
        (1, HEADS, TARGET, SOURCE),
        (BATCH, HEADS, TARGET, SOURCE),
    ],
)
@pytest.mark.parametrize("seed", [0, 1])
def test_any_mask_that_broadcasts(
    layer: MultiHeadAttention, shape: tuple[int, ...], seed: int
) -> None:
    query, key = normal(BATCH, TARGET, WIDTH), normal(BATCH, SOURCE, WIDTH)
    mask = np.random.default_rng(seed).random(shape) < 0.3
    outputs, weights = layer(query, key, keep_mask=mask, return_weights=True)
    full = np.broadcast_to(mask, (BATCH, HEADS, TARGET, SOURCE))
    expected, expected_weights = layer(query, key, keep_mask=full, return_weights=True)
    np.testing.assert_array_equal(weights, expected_weights)
    np.testing.assert_allclose(outputs, expected, atol=1e-6)
    assert (np.asarray(weights)[~full] == 0).all()
    has_keys = full.any(axis=-1)
    np.testing.assert_allclose(np.sum(weights, axis=-1), has_keys, atol=1e-6)
    # A query is without keys only where it is so in every head.
    np.testing.assert_array_equal((np.asarray(outputs) != 0).any(axis=-1), has_keys.any(axis=1))


@pytest.mark.parametrize("dtype", FLOATS)
def test_a_row_with_nothing_to_attend_to_gives_zeros(dtype: str, randomize) -> None:
    layer = MultiHeadAttention(
        AttentionConfig(num_heads=2, key_dim=4), dtype=keras.DTypePolicy(dtype)
    )
    states = tf.Variable(tf.cast(normal(2, 3, 8), dtype))
    layer(states)
    randomize(layer)
    keep = np.ones((2, 1, 3, 3), bool)
    keep[0, 0, 1] = False  # One query of the first sentence, and all of the second.
    keep[1] = False
    with tf.GradientTape() as tape:
        outputs, weights = layer(states, keep_mask=keep, return_weights=True)
        loss = tf.reduce_sum(outputs * tf.cast(normal(2, 3, 8, seed=1), dtype))
    outputs, weights = np.asarray(outputs, "float32"), np.asarray(weights, "float32")
    assert np.isfinite(outputs).all()
    assert (outputs[0, 1] == 0).all() and (outputs[1] == 0).all()
    assert (weights[0, :, 1] == 0).all() and (weights[1] == 0).all()
    assert (outputs[0, [0, 2]] != 0).any()
    sources = [states, *(weight.value for weight in layer.trainable_weights)]
    for gradient in tape.gradient(loss, sources):
        assert np.isfinite(np.asarray(gradient, "float32")).all()


@pytest.mark.parametrize("dtype", FLOATS)
def test_a_mask_hides_exactly_in_every_precision(dtype: str) -> None:
    layer = MultiHeadAttention(
        AttentionConfig(num_heads=2, key_dim=4), dtype=keras.DTypePolicy(dtype)
    )
    states = tf.cast(normal(1, 4, 8), dtype)
    keep = np.array([True, False, True, False])
    _, weights = layer(states, keep_mask=keep, return_weights=True)
    assert (np.asarray(weights, "float32")[..., ~keep] == 0).all()
    outputs = np.asarray(layer(states, keep_mask=keep), "float32")
    others = tf.where(keep[:, None], states, -9 * states)
    np.testing.assert_array_equal(
        np.asarray(layer(states, others, keep_mask=keep), "float32"), outputs
    )
    # Processors sum four weights in another order than two.
    shorter = np.asarray(layer(states, states[:, ::2]), "float32")
    np.testing.assert_allclose(outputs, shorter, atol=4 * float(ml_dtypes.finfo(dtype).eps))


def test_one_key_is_attended_to_unless_it_is_masked() -> None:
    layer, states = MultiHeadAttention(AttentionConfig(num_heads=2, key_dim=4)), normal(2, 1, 8)
    keep = np.array([True, False])[:, None, None, None]
    outputs, weights = layer(states, keep_mask=keep, return_weights=True)
    np.testing.assert_array_equal(np.asarray(weights)[:, 0, 0, 0], [1, 0])
    np.testing.assert_array_equal(outputs[0], layer(states)[0])
    assert (np.asarray(outputs[1]) == 0).all()


def test_dropout_falls_on_weights_but_returned_ones_are_whole() -> None:
    layer = MultiHeadAttention(AttentionConfig(num_heads=2, key_dim=4, dropout=0.5))
    states = normal(1, 5, 8)
    still, weights = layer(states, return_weights=True, training=False)
    dropped, dropped_weights = layer(states, return_weights=True, training=True)
    np.testing.assert_array_equal(weights, dropped_weights)
    assert not np.allclose(still, dropped)


@pytest.mark.parametrize("argument", ["num_heads", "key_dim", "value_dim"])
@pytest.mark.parametrize("value", [0, -1])
def test_sizes_are_checked(argument: str, value: int) -> None:
    with pytest.raises(ValueError, match=f"{argument} must be at least 1, got {value}"):
        MultiHeadAttention(AttentionConfig(**{"num_heads": 2, "key_dim": 4, argument: value}))
