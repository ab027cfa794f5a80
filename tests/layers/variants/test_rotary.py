"""Rotary positions: against complex numbers in float64, and what they promise."""

from typing import Any

import numpy as np
import pytest

from keras_transformer.config import AttentionConfig, RotaryConfig, RotaryScalingConfig
from keras_transformer.layers import MultiHeadAttention
from keras_transformer.layers.variants.rotary import rotate

LONG = RotaryScalingConfig(
    kind="longrope",
    original_length=8,
    short_factors=(1.5, 3.0),
    long_factors=(2.0, 9.0),
    magnitude=1.3,
)


def test_worked_example() -> None:
    # Width 2 has one pair, which turns by one radian a place.
    heads = np.array([[[[1.0, 0.0]] * 3]], "float32")
    expected = [[np.cos(place), np.sin(place)] for place in range(3)]
    np.testing.assert_allclose(rotate(heads, 0, RotaryConfig())[0, 0], expected, atol=1e-6)


@pytest.mark.parametrize("first_place", [0, 7])
@pytest.mark.parametrize(
    "rotary",
    [
        RotaryConfig(base=100.0),
        RotaryConfig(base=100.0, width=4),
        RotaryConfig(base=100.0, width=4, scaling=LONG),
    ],
    ids=str,
)
def test_equals_complex_numbers_in_float64(first_place: int, rotary: Any, paper) -> None:
    heads = np.random.default_rng(0).standard_normal((2, 3, 5, 8))
    found = np.asarray(rotate(heads.astype("float32"), first_place, rotary))
    for sentence in range(2):
        for head in range(3):
            expected = paper.rotary(heads[sentence, head], rotary, first_place)
            np.testing.assert_allclose(found[sentence, head], expected, atol=1e-5)


def test_scores_depend_on_distances_alone(randomize) -> None:
    layer = MultiHeadAttention(
        AttentionConfig(num_heads=2, key_dim=4, rotary=RotaryConfig(base=100.0))
    )
    states = np.random.default_rng(0).standard_normal((1, 6, 8)).astype("float32")
    layer(states)
    randomize(layer)
    here = layer.attend(states, layer.project(states))
    there = layer.attend(states, layer.project(states, first_place=50), first_place=50)
    np.testing.assert_allclose(there, here, atol=1e-4)
    elsewhere = layer.attend(states, layer.project(states, first_place=1), first_place=50)
    assert not np.allclose(elsewhere, here, atol=1e-2)


def test_the_order_of_tokens_matters(randomize) -> None:
    states = np.random.default_rng(0).standard_normal((1, 4, 8)).astype("float32")
    for rotary, differs in ((None, False), (RotaryConfig(base=100.0), True)):
        layer = MultiHeadAttention(AttentionConfig(num_heads=2, key_dim=4, rotary=rotary))
        layer(states)
        randomize(layer)
        backwards = np.asarray(layer(states[:, ::-1]))[:, ::-1]
        assert np.allclose(backwards, layer(states), atol=1e-5) is not differs


def test_an_odd_width_is_refused() -> None:
    with pytest.raises(ValueError, match="rotary_base needs an even key_dim, got key_dim=3"):
        MultiHeadAttention(AttentionConfig(num_heads=2, key_dim=3, rotary=RotaryConfig(base=100.0)))


@pytest.mark.parametrize("base", [1.0, -5.0, float("inf"), float("nan")])
def test_a_base_that_turns_nothing_is_refused(base: float) -> None:
    with pytest.raises(ValueError, match=f"rotary_base must be above 1 and finite, got {base}"):
        MultiHeadAttention(AttentionConfig(num_heads=2, key_dim=4, rotary=RotaryConfig(base=base)))
