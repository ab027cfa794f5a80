"""Muon on all matrices of a shape at once against Keras's own, which takes one after the other."""

from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given
from hypothesis import strategies as st

from keras_transformer import build_transformer
from keras_transformer.config import TransformerConfig
from keras_transformer.training.loop.compiling import compile_transformer
from keras_transformer.training.optimizer.muon import FusedMuon, is_matrix_of_a_block, orthogonal
from keras_transformer.training.optimizer.schedule import WarmupSchedule
from keras_transformer.training.run.options import TrainPlan

SHAPES = {"kernel": [(4, 6), (6, 4), (4, 4), (4, 6), (1, 5)], "bias": [(6,)], "matrix": [(9, 4)]}


def variables_of_a_block() -> list[keras.Variable]:
    """Some matrices of a block, and what Adam changes: a vector and a table."""
    found = []
    for kind, shapes in SHAPES.items():
        for number, shape in enumerate(shapes):
            with keras.name_scope("encoder"), keras.name_scope(f"block_{number}"):
                values = np.random.default_rng(number).normal(size=shape).astype("float32")
                found.append(keras.Variable(values, name=kind))
    return found


def after_updates(optimizer: Any, *, jit_compile: bool = False) -> list[np.ndarray]:
    variables = variables_of_a_block()
    optimizer.build(variables)

    @tf.function(jit_compile=jit_compile)
    def update(gradients: list[tf.Tensor]) -> None:
        optimizer.apply(gradients, variables)

    generator = np.random.default_rng(7)
    for _ in range(6):
        update([tf.constant(generator.normal(size=each.shape), tf.float32) for each in variables])
    return [np.asarray(variable) for variable in variables]


@pytest.mark.parametrize("jit_compile", [False, pytest.param(True, marks=pytest.mark.exhaustive)])
def test_updates_are_those_of_keras(jit_compile: bool) -> None:
    rate = WarmupSchedule(0.1, 3)
    ours = FusedMuon(rate, beta_1=0.8, beta_2=0.95, epsilon=1e-3, global_clipnorm=1.0)
    theirs = keras.optimizers.Muon(
        rate,
        adam_beta_1=0.8,
        adam_beta_2=0.95,
        epsilon=1e-3,
        global_clipnorm=1.0,
        weight_decay=None,
        adam_weight_decay=None,
        exclude_layers=["matrix"],
    )
    pairs = zip(after_updates(ours, jit_compile=jit_compile), after_updates(theirs), strict=True)
    for mine, other in pairs:
        np.testing.assert_allclose(mine, other, rtol=1e-4, atol=1e-5)


@given(st.integers(1, 8), st.integers(1, 8), st.integers(0, 99), st.floats(1e-3, 1e3))
def test_singular_values_of_what_it_adds_are_near_1_whatever_the_gradients(
    rows: int, columns: int, seed: int, scale: float
) -> None:
    """But for tiny ones, which grow as far as the iterations carry them."""
    given_matrix = np.random.default_rng(seed).normal(size=(1, rows, columns)) * scale
    found = np.asarray(orthogonal(tf.constant(given_matrix, tf.float32)))[0]
    left, values, right = np.linalg.svd(given_matrix[0], full_matrices=False)
    own = np.diag(left.T @ found @ right.T)
    np.testing.assert_allclose(left * own @ right, found, atol=2e-3)
    large = values > 0.05 * np.linalg.norm(values)
    assert (own[large] > 0.6).all()
    assert (own < 1.3).all()


def test_a_matrix_without_gradient_stays() -> None:
    assert not np.asarray(orthogonal(tf.zeros((1, 3, 4)))).any()


def test_embeddings_biases_and_tables_are_left_to_adam() -> None:
    config = TransformerConfig.preset("tiny", vocab_size=20)
    model = build_transformer(config)
    matrices = [w.path for w in model.trainable_weights if is_matrix_of_a_block(w)]
    others = [w.path for w in model.trainable_weights if not is_matrix_of_a_block(w)]
    # Four projections and two layers of the feed-forward part; the decoder attends twice.
    assert len(matrices) == 4 * (4 + 2) + 4 * (8 + 2)
    assert all(path.split("/")[-1] in ("bias", "gamma", "beta", "matrix") for path in others)


def test_matrices_have_no_second_moment() -> None:
    optimizer = FusedMuon(0.1)
    variables = variables_of_a_block()
    optimizer.build(variables)
    kernels, others = len(SHAPES["kernel"]), len(SHAPES["bias"] + SHAPES["matrix"])
    # And the count of updates, and the rate.
    assert len(optimizer.variables) == 2 + kernels + 2 * others


def test_layers_that_learn_slower_make_smaller_steps() -> None:
    variables = variables_of_a_block()
    before = [np.asarray(variable) for variable in variables]
    optimizer = FusedMuon(0.1)
    optimizer.rates = {variables[0].path: 0.5}
    optimizer.build(variables)
    gradients = [tf.ones(variable.shape) for variable in variables]
    gradients[3] = gradients[0]
    optimizer.apply(gradients, variables)
    changes = [np.asarray(after) - old for after, old in zip(variables, before, strict=True)]
    np.testing.assert_allclose(2 * changes[0], changes[3], rtol=1e-3, atol=1e-5)


def test_config_round_trip() -> None:
    optimizer = FusedMuon(WarmupSchedule(0.1, 3), 0.8, 0.95, 1e-3, momentum=0.9)
    twin = FusedMuon.from_config(optimizer.get_config())
    assert twin.get_config() == optimizer.get_config()
    assert (twin.momentum, twin.beta_1) == (0.9, 0.8)


@pytest.mark.parametrize(("name", "kind"), [("adam", "FusedAdam"), ("muon", "FusedMuon")])
def test_the_option_chooses_the_optimizer(name: Any, kind: str) -> None:
    config = TransformerConfig.preset("tiny", vocab_size=20)
    options = TrainPlan(optimizer=name)
    assert (
        type(compile_transformer(build_transformer(config), options, 9).optimizer).__name__ == kind
    )


def test_another_name_is_refused() -> None:
    with pytest.raises(ValueError, match="optimizer must be one of adam, muon, got 'sgd'"):
        TrainPlan(optimizer="sgd")  # type: ignore[arg-type]
