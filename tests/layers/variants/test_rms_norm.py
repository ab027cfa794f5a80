"""RMSNorm against its equation."""

import numpy as np
import pytest
import tensorflow as tf

from keras_transformer.config import NormConfig
from keras_transformer.layers import Residual, RMSNorm


def test_worked_example() -> None:
    layer = RMSNorm(epsilon=0.5)
    layer.build((None, 2))
    layer.gamma.assign([1.0, 10.0])
    # Mean square of 3, 4 is 12.5; with ε 13; √(1 + 0.5 …) of 1, 0 is 1.
    np.testing.assert_allclose(
        layer(np.array([[3.0, 4.0], [1.0, 0.0]])),
        [[3 / 13**0.5, 40 / 13**0.5], [1, 0]],
        rtol=1e-6,
    )


def test_equals_its_equation_in_float64(paper, randomize) -> None:
    states = np.random.default_rng(0).standard_normal((2, 3, 6)) * 3 + 1
    layer = RMSNorm(epsilon=0.01)
    layer(states)
    randomize(layer)
    np.testing.assert_allclose(layer(states), paper.rms_norm(layer, states), atol=1e-5)


def test_large_float16_states_do_not_overflow() -> None:
    layer = RMSNorm(dtype="mixed_float16")
    # 1,000² is past float16's largest number.
    np.testing.assert_allclose(layer(tf.fill((1, 4), tf.constant(1000, tf.float16))), 1, rtol=1e-3)


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_a_residual_connection_may_have_it(norm: str, paper, randomize) -> None:
    generator = np.random.default_rng(0)
    states, outputs = generator.standard_normal((2, 2, 3, 6)).astype("float32")
    layer = Residual(NormConfig(place=norm, epsilon=0.01, kind="rms_norm"))
    layer(states, outputs)
    randomize(layer)
    normed = paper.rms_norm(layer.layer_norm, states + outputs if norm == "post" else states)
    found = layer(states, outputs) if norm == "post" else layer.enter(states)
    np.testing.assert_allclose(found, normed, atol=1e-5)


def test_an_unknown_kind_is_refused() -> None:
    with pytest.raises(
        ValueError, match="norm_kind must be one of layer_norm, rms_norm, got 'batch_norm'"
    ):
        NormConfig(kind="batch_norm")


def test_an_epsilon_that_is_not_above_0_is_refused() -> None:
    with pytest.raises(ValueError, match="epsilon must be above 0 and finite, got -1"):
        RMSNorm(epsilon=-1)
