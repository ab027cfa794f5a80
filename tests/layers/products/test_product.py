"""Products by matrices: the same whichever operator multiplies, and rounded only if told to."""

import json
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf
from fresh_process import python

from keras_transformer.layers.products import product as products
from keras_transformer.layers.products.product import product

# What a process finds when it rounds: whether it does, how far its products are from float64's, and
# what a model's loss is before and after a few updates.
_ROUNDING = """
import json
import sys
import keras
import numpy as np
from keras_transformer.layers import FeedForward
from keras_transformer.config import FeedForwardConfig
from keras_transformer.layers.products.product import multiply_in_bfloat16, product

if sys.argv[1] == "late":
    keras.ops.matmul(np.ones((1, 64, 64), "float32"), np.ones((1, 64, 64), "float32"))
rounds = multiply_in_bfloat16()
left, right = np.random.default_rng(0).uniform(0.5, 1, (2, 96, 96))
found = product(left.astype("float32"), right.astype("float32"))
error = float(np.abs(found / (left @ right) - 1).max())
keras.utils.set_random_seed(0)
model = keras.Sequential([keras.Input((5, 32)), FeedForward(FeedForwardConfig(hidden_dim=64))])
model.compile(optimizer=keras.optimizers.Adam(0.01), loss="mse")
inputs = np.random.default_rng(0).standard_normal((64, 5, 32)).astype("float32")
losses = model.fit(inputs, -inputs, epochs=8, verbose=0).history["loss"]
print(json.dumps([rounds, error, losses[0], losses[-1]]))
"""


def rounding(when: str) -> list[Any]:
    return json.loads(python("-c", _ROUNDING, when).stdout)


@pytest.fixture(params=[False, True], ids=["plain", "for rounding"])
def operator(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Either operator; the second does not round here, since nothing told oneDNN."""
    monkeypatch.setattr(products, "_rounds_factors", request.param)


@pytest.mark.usefixtures("operator")
@pytest.mark.parametrize("shape", [(7, 4), (3, 7, 4), (0, 4), (2, 0, 4), (2, 3, 5, 4)])
@pytest.mark.parametrize("transposed", [False, True])
def test_the_last_axis_is_multiplied_by_the_matrix(shape: tuple[int, ...], transposed) -> None:
    left = np.random.default_rng(0).standard_normal(shape).astype("float32")
    right = np.random.default_rng(1).standard_normal((4, 6)).astype("float32")
    given = right.T if transposed else right
    found = product(tf.constant(left), tf.constant(given), transpose_right=transposed)
    np.testing.assert_allclose(found, left @ right, atol=1e-5)


@pytest.mark.usefixtures("operator")
def test_the_left_factor_may_be_transposed() -> None:
    left, right = np.random.default_rng(0).standard_normal((2, 5, 5))[:, :, :3].astype("float32")
    np.testing.assert_allclose(
        product(tf.constant(left), tf.constant(right), transpose_left=True),
        left.T @ right,
        atol=1e-5,
    )


@pytest.mark.usefixtures("operator")
def test_lengths_need_not_be_known_when_a_graph_is_traced() -> None:
    matrix = tf.constant(np.arange(12, dtype="float32").reshape(4, 3))
    traced = tf.function(
        lambda states: product(states, matrix),
        input_signature=[tf.TensorSpec((None, None, 4), tf.float32)],
    )
    states = np.random.default_rng(0).standard_normal((2, 5, 4)).astype("float32")
    assert traced.get_concrete_function().output_shapes[-1] == 3
    np.testing.assert_allclose(traced(states), states @ matrix.numpy(), atol=1e-5)


@pytest.mark.usefixtures("operator")
def test_gradients_are_those_of_a_product() -> None:
    left, upstream = np.random.default_rng(0).standard_normal((2, 2, 3, 4)).astype("float32")
    right = tf.constant(np.random.default_rng(1).standard_normal((4, 4)).astype("float32"))
    given = tf.constant(left)
    with tf.GradientTape() as tape:
        tape.watch([given, right])
        result = tf.reduce_sum(product(given, right) * upstream)
    by_left, by_right = tape.gradient(result, [given, right])
    np.testing.assert_allclose(by_left, upstream @ right.numpy().T, atol=1e-5)
    np.testing.assert_allclose(by_right, np.einsum("abi,abo->io", left, upstream), atol=1e-5)


@pytest.mark.exhaustive
@pytest.mark.skipif(not Path("/proc/cpuinfo").exists(), reason="says what the processor can do")
def test_factors_are_rounded_where_the_processor_multiplies_bfloat16() -> None:
    flags = Path("/proc/cpuinfo").read_text(encoding="utf-8").split()
    rounds, error, first, last = rounding("first")
    assert rounds == ("amx_bf16" in flags)
    # bfloat16 has eight digits, so a factor is off by at most one part in 512; sums are exact.
    assert (1e-4 < error < 2**-7) if rounds else error < 1e-5
    assert last < 0.8 * first


@pytest.mark.exhaustive
def test_a_process_that_has_multiplied_is_not_promised_rounding() -> None:
    rounds, error, *_ = rounding("late")
    assert not rounds
    assert error < 1e-5


def test_other_backends_do_not_round(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keras.backend, "backend", lambda: "jax")
    assert not products.is_tensorflow_on_a_processor()
