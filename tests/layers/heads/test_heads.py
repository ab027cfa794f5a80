"""The layers that read an encoder's states: their equations, and what they are tied to."""

import numpy as np
import pytest
import tensorflow as tf

from keras_transformer.config.text_vectors import POOLINGS, DenseConfig
from keras_transformer.layers import ClassHead, MaskedTokenHead, Pooler, TokenEmbedding
from keras_transformer.layers.heads.pooler import first_state, mean_state
from keras_transformer.layers.heads.text_vector import VectorHead, pooled_states

STATES = np.random.default_rng(0).standard_normal((2, 4, 6)).astype("float32")
KEEP = np.array([[False, True, True, False], [True, True, True, True]])


def test_the_first_state_is_that_of_the_first_real_token() -> None:
    expected = np.stack([STATES[0, 1], STATES[1, 0]])
    np.testing.assert_array_equal(first_state(STATES, KEEP), expected)


def test_the_mean_state_leaves_padding_out() -> None:
    expected = np.stack([STATES[0, 1:3].mean(0), STATES[1].mean(0)])
    np.testing.assert_allclose(mean_state(STATES, KEEP), expected, atol=1e-6)
    # Not even what is no number.
    spoiled = np.where(KEEP[:, :, None], STATES, np.nan).astype("float32")
    np.testing.assert_allclose(mean_state(spoiled, KEEP), expected, atol=1e-6)


def test_the_mean_of_a_row_without_tokens_is_zero() -> None:
    assert not np.any(mean_state(STATES, np.zeros((2, 4), bool)))


@pytest.mark.parametrize(
    ("pooling", "weights"),
    [
        ("last", [0, 0, 0, 1]),
        ("weighted_mean", np.array([1, 2, 3, 4]) / 10),
        ("mean_sqrt_length", [0.5] * 4),
    ],
)
def test_a_text_is_pooled(pooling: str, weights: list[float]) -> None:
    found = np.asarray(pooled_states(STATES, KEEP, pooling))
    np.testing.assert_allclose(found[1], weights @ STATES[1], atol=1e-6)
    short = pooled_states(STATES[:, 1:], KEEP[:, 1:], pooling)
    whole = pooled_states(STATES[:1, 1:3], np.ones((1, 2), bool), pooling)
    np.testing.assert_allclose(short[0], whole[0], atol=1e-6)


def test_joined_poolings_stand_one_behind_the_other() -> None:
    expected = [STATES[0, 1:3].max(0), STATES[0, 1]]
    found = pooled_states(STATES, KEEP, "max+first")
    np.testing.assert_array_equal(found[0], np.concatenate(expected))


@pytest.mark.parametrize("pooling", POOLINGS)
def test_what_is_pooled_of_no_token_is_a_number(pooling: str) -> None:
    assert np.isfinite(pooled_states(STATES, np.zeros((2, 4), bool), pooling)).all()


def test_a_vector_goes_through_linear_layers(paper, randomize) -> None:
    head = VectorHead([DenseConfig(out_dim=3), {"out_dim": 2, "activation": "linear"}])
    vectors = STATES[:, 0]
    head(vectors)
    randomize(head)
    first, second = head.layers
    expected = paper.linear(second, np.tanh(paper.linear(first, vectors)))
    np.testing.assert_allclose(head(vectors), expected, atol=1e-6)
    with pytest.raises(ValueError, match="dense must name at least one layer"):
        VectorHead([])


def test_long_float16_texts_have_a_mean() -> None:
    """More tokens than float16 can count one by one, and a sum past its largest number."""
    states = tf.fill((1, 5000, 2), tf.constant(30.0, tf.float16))
    found = mean_state(states, tf.ones((1, 5000), tf.bool))
    np.testing.assert_allclose(found, 30.0, rtol=1e-2)


def test_the_pooler_is_tanh_of_a_linear_layer_of_the_first_state(paper, randomize) -> None:
    pooler = Pooler()
    pooler(STATES, KEEP)
    randomize(pooler)
    expected = np.tanh(paper.linear(pooler.linear, np.stack([STATES[0, 1], STATES[1, 0]])))
    np.testing.assert_allclose(pooler(STATES, KEEP), expected, atol=1e-6)


def test_a_class_head_is_a_linear_layer_with_dropout_before_it(paper, randomize) -> None:
    head = ClassHead(3, dropout=0.5)
    head(STATES)
    randomize(head)
    np.testing.assert_allclose(head(STATES), paper.linear(head.linear, STATES), atol=1e-5)
    features = np.asarray(head.features(STATES, training=True))
    kept = features != 0
    np.testing.assert_allclose(features[kept], 2 * STATES[kept], rtol=1e-6)
    assert 0.2 < kept.mean() < 0.8


def test_a_masked_token_head_transforms_normalises_and_multiplies(paper, randomize) -> None:
    head = MaskedTokenHead(5, activation="gelu_tanh", norm_kind="rms_norm", epsilon=0.01)
    head(STATES)
    randomize(head)
    features = paper.activate(head.activation, paper.linear(head.transform, STATES))
    features = paper.rms_norm(head.layer_norm, features)
    expected = features @ np.asarray(head.linear.kernel, np.float64) + np.asarray(head.bias)
    np.testing.assert_allclose(head(STATES), expected, atol=2e-5)


@pytest.mark.parametrize("kind", [ClassHead, MaskedTokenHead])
def test_features_and_one_times_the_matrix_are_the_logits(kind, randomize) -> None:
    head = kind(5)
    head(STATES)
    randomize(head)
    features = np.asarray(head.features(STATES))
    with_one = np.concatenate([features, np.ones_like(features[..., :1])], axis=-1)
    assert head.matrix.shape == (5, 7)
    np.testing.assert_allclose(with_one @ np.asarray(head.matrix).T, head(STATES), atol=2e-5)


def test_a_tied_masked_token_head_has_the_matrix_of_the_embedding(randomize) -> None:
    tokens, head = TokenEmbedding(5, 6), MaskedTokenHead(5)
    tokens.build()
    head.tie(tokens)
    head(STATES)
    randomize(head)
    features = np.asarray(head.features(STATES))
    expected = features @ np.asarray(tokens.matrix).T + np.asarray(head.bias)
    np.testing.assert_allclose(head(STATES), expected, atol=2e-5)
    assert head.linear is None
    with pytest.raises(ValueError, match="head of 5 logits cannot use the matrix of 6 tokens"):
        MaskedTokenHead(5).tie(TokenEmbedding(6, 6))


def test_a_head_of_no_class_is_refused() -> None:
    with pytest.raises(ValueError, match="num_classes must be at least 1, got 0"):
        ClassHead(0)
