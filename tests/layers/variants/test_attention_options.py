"""Attention with fewer heads of keys than of queries, without biases, without a scale, with norms
of queries and keys, within a window, with capped scores: against the equations in float64.
"""

from typing import Any

import numpy as np
import pytest

from keras_transformer.config import AttentionConfig, BlockOptions, NormConfig, RotaryConfig
from keras_transformer.config.positions.disentangled import DisentangledConfig
from keras_transformer.layers import MultiHeadAttention

OPTIONS: list[dict[str, Any]] = [
    {"num_key_value_heads": 2},
    {"num_key_value_heads": 1, "value_dim": 3},
    {"use_bias": False},
    {"scale": False},
    {
        "num_key_value_heads": 2,
        "use_bias": False,
        "scale": False,
        "rotary": RotaryConfig(base=50.0),
    },
    {"query_key_norm": NormConfig(epsilon=1e-3)},
    {
        "num_key_value_heads": 2,
        "query_key_norm": NormConfig(kind="rms_norm"),
        "rotary": RotaryConfig(base=50.0),
    },
    {"output_bias": False},
    {
        "num_key_value_heads": 2,
        "query_key_norm": NormConfig(kind="rms_norm"),
        "query_key_norm_over": "all_heads",
    },
    {"window": 2},
    {"soft_cap": 0.5},
    {"soft_cap": 0.7, "scale": False, "num_key_value_heads": 2, "window": 2},
    {"additive": True},
    {"additive": True, "num_key_value_heads": 2, "value_dim": 3, "window": 2, "soft_cap": 0.5},
    {"relative_sinusoids": True},
    {"num_key_value_heads": 2, "scale": False, "value_dim": 3, "relative_sinusoids": True},
    {"soft_cap": 0.5, "relative_sinusoids": True},
    {"disentangled": DisentangledConfig(buckets=4, max_distance=5)},
    {"disentangled": DisentangledConfig(buckets=8, max_distance=20), "value_dim": 3, "window": 4},
]
every_option = pytest.mark.parametrize("options", OPTIONS, ids=str)


def make(options: dict[str, Any], randomize: Any) -> MultiHeadAttention:
    layer = MultiHeadAttention(AttentionConfig(num_heads=4, **{"key_dim": 4, **options}))
    layer.build((None, None, 6))
    return randomize(layer)


@every_option
@pytest.mark.parametrize("masked", [False, True])
def test_equals_its_equations_in_float64(options: dict, masked: bool, paper, randomize) -> None:
    layer = make(options, randomize)
    states = np.random.default_rng(0).standard_normal((2, 5, 6))
    keep = np.tril(np.ones((5, 5), bool)) if masked else None
    outputs, weights = layer(
        states.astype("float32"),
        keep_mask=None if keep is None else keep[None, None],
        return_weights=True,
    )
    for row in range(2):
        expected = paper.multi_head(layer, states[row], states[row], keep)
        np.testing.assert_allclose(outputs[row], expected[0], atol=2e-5)
        np.testing.assert_allclose(weights[row], expected[1], atol=1e-5)


def test_every_mask_that_broadcasts_reaches_each_head(paper, randomize) -> None:
    layer = make(OPTIONS[0], randomize)
    states = np.random.default_rng(0).standard_normal((1, 3, 6)).astype("float32")
    keep = np.random.default_rng(1).random((1, 4, 3, 3)) < 0.7
    weights = np.asarray(layer(states, keep_mask=keep, return_weights=True)[1])
    assert (weights[~keep] == 0).all()
    assert (weights[keep] > 0).all()


def test_without_biases_there_are_four_weights_and_narrow_keys(randomize) -> None:
    layer = make(OPTIONS[4], randomize)
    assert [weight.shape for weight in layer.weights] == [(6, 16), (6, 8), (6, 8), (16, 6)]


@pytest.mark.parametrize(
    "other", [{"rotary": RotaryConfig(base=9.0)}, {"relative_sinusoids": True}]
)
def test_additive_scores_have_no_products_to_change(other: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="additive_attention has no products of queries and keys"):
        AttentionConfig(num_heads=2, key_dim=4, additive=True, **other)


@pytest.mark.parametrize("options", [{}, {"additive": True}, {"soft_cap": 0.5, "scale": False}])
def test_the_weights_are_the_softmax_of_the_scores_that_the_mask_leaves(options, randomize) -> None:
    layer = make(options, randomize)
    states = np.random.default_rng(0).standard_normal((2, 3, 6)).astype("float32")
    keep = np.tril(np.ones((3, 3), bool))
    outputs, weights, scores = layer(
        states, keep_mask=keep, return_weights=True, return_scores=True
    )
    hidden = np.where(keep, np.exp(np.asarray(scores, "float64")), 0)
    np.testing.assert_allclose(weights, hidden / hidden.sum(-1, keepdims=True), atol=1e-6)
    assert (np.asarray(scores)[..., ~keep] != 0).all()
    alone = layer(states, keep_mask=keep, return_scores=True)
    np.testing.assert_array_equal(alone[1], scores)
    np.testing.assert_allclose(alone[0], outputs, atol=1e-6)


@pytest.mark.parametrize("policy", ["float32", "mixed_bfloat16", "mixed_float16"])
def test_a_cap_that_no_score_comes_near_changes_nothing(policy: str, randomize) -> None:
    states = np.random.default_rng(0).standard_normal((2, 5, 6)).astype("float32")
    found = []
    for cap in (None, 1e9):
        config = AttentionConfig(num_heads=2, key_dim=4, soft_cap=cap)
        layer = MultiHeadAttention(config, dtype=policy)
        layer.build((None, None, 6))
        found.append(np.asarray(randomize(layer)(states), "float32"))
    np.testing.assert_allclose(*found, rtol=0, atol=1e-6)


@pytest.mark.parametrize("cap", [0, -1.0, float("inf"), float("nan"), 1e31, 1e-31])
def test_a_cap_is_positive_and_finite(cap: float) -> None:
    with pytest.raises(ValueError, match="attention_soft_cap must be positive, between 1e-30"):
        AttentionConfig(num_heads=4, key_dim=4, soft_cap=cap)


@pytest.mark.parametrize("cap", [True, "50"])
def test_a_cap_is_a_number(cap: object) -> None:
    with pytest.raises(TypeError, match="attention_soft_cap must be a number"):
        BlockOptions(attention_soft_cap=cap)


def test_heads_of_keys_must_divide_those_of_queries() -> None:
    with pytest.raises(ValueError, match=r"num_heads \(4\) .* num_key_value_heads \(3\)"):
        MultiHeadAttention(AttentionConfig(num_heads=4, key_dim=4, num_key_value_heads=3))
