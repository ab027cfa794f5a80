"""Adam in one operator against Keras's own."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_transformer.training.optimizer.adam import FusedAdam
from keras_transformer.training.optimizer.schedule import WarmupSchedule

SHAPES = [(3, 4), (4,), ()]


def weights_after_updates(optimizer_class: type, jit_compile: bool) -> list[np.ndarray]:
    variables = [keras.Variable(np.ones(shape, "float32")) for shape in SHAPES]
    optimizer = optimizer_class(
        WarmupSchedule(0.1, 3), beta_1=0.8, beta_2=0.95, epsilon=1e-3, global_clipnorm=1.0
    )
    optimizer.build(variables)

    @tf.function(jit_compile=jit_compile)
    def update(gradients: list[tf.Tensor]) -> None:
        optimizer.apply(gradients, variables)

    generator = np.random.default_rng(0)
    for _ in range(6):
        update([tf.constant(generator.normal(size=shape), tf.float32) for shape in SHAPES])
    return [np.asarray(variable) for variable in (*variables, *optimizer.variables)]


@pytest.mark.parametrize("jit_compile", [False, True])
def test_updates_and_moments_are_those_of_keras(jit_compile: bool) -> None:
    ours = weights_after_updates(FusedAdam, jit_compile)
    theirs = weights_after_updates(keras.optimizers.Adam, False)
    for mine, other in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("jit_compile", [False, True])
def test_variables_that_learn_later_make_the_updates_of_an_adam_that_begins_then(
    jit_compile: bool,
) -> None:
    """Against the formula in float64, the norm of the gradients being that of those that count."""
    firsts, rate, beta_1, beta_2, epsilon, largest_norm = (0, 2, 4), 0.1, 0.8, 0.95, 1e-3, 1.0
    variables = [
        keras.Variable(np.ones(shape, "float32"), name=f"v{n}") for n, shape in enumerate(SHAPES)
    ]
    optimizer = FusedAdam(rate, beta_1, beta_2, epsilon, largest_norm)
    optimizer.first_updates = {
        variable.path: first for variable, first in zip(variables, firsts, strict=True)
    }
    optimizer.build(variables)
    update = tf.function(lambda *given: optimizer.apply(given, variables), jit_compile=jit_compile)
    expected = [np.ones(shape) for shape in SHAPES]
    first_moments, second_moments = ([np.zeros(shape) for shape in SHAPES] for _ in range(2))
    generator = np.random.default_rng(0)
    for count in range(7):
        gradients = [generator.normal(size=shape) for shape in SHAPES]
        update(*(tf.constant(gradient, tf.float32) for gradient in gradients))
        active = [place for place, first in enumerate(firsts) if count >= first]
        norm = np.sqrt(sum(np.sum(gradients[place] ** 2) for place in active))
        for place in active:
            own = count - firsts[place] + 1
            gradient = gradients[place] * min(1, largest_norm / norm)
            first_moments[place] = beta_1 * first_moments[place] + (1 - beta_1) * gradient
            second_moments[place] = beta_2 * second_moments[place] + (1 - beta_2) * gradient**2
            step = rate * np.sqrt(1 - beta_2**own) / (1 - beta_1**own)
            change = step * first_moments[place] / (np.sqrt(second_moments[place]) + epsilon)
            expected[place] = expected[place] - change
        for variable, value in zip(variables, expected, strict=True):
            np.testing.assert_allclose(variable, value, rtol=1e-5, atol=1e-6)
    assert update.experimental_get_tracing_count() == 1


def test_its_variables_are_named_as_keras_names_them() -> None:
    """A checkpoint of either can be read by the other."""
    variables = [keras.Variable(np.ones(shape, "float32")) for shape in SHAPES]
    ours, theirs = FusedAdam(0.1), keras.optimizers.Adam(0.1)
    for optimizer in (ours, theirs):
        optimizer.build(variables)
    assert [one.name for one in ours.variables] == [one.name for one in theirs.variables]


def test_some_of_the_variables_may_be_updated_alone() -> None:
    variables = [keras.Variable(np.ones(shape, "float32")) for shape in SHAPES]
    optimizer = FusedAdam(0.1)
    optimizer.build(variables)
    optimizer.apply([tf.ones(SHAPES[1])], variables[1:2])
    optimizer.apply([None, tf.ones(SHAPES[1]), None], variables)
    optimizer.apply([tf.zeros(shape) for shape in SHAPES])
    changed = [bool(np.any(np.asarray(variable) != 1)) for variable in variables]
    assert changed == [False, True, False]
    assert int(optimizer.iterations) == 3


def test_a_norm_that_is_not_finite_spoils_the_weights_for_all_to_see() -> None:
    variables = [keras.Variable(np.ones(2, "float32")) for _ in range(2)]
    optimizer = FusedAdam(0.1, global_clipnorm=1.0)
    optimizer.build(variables)
    optimizer.apply([tf.constant([np.inf, 0.0]), tf.ones(2)], variables)
    assert np.isnan(np.concatenate([np.asarray(variable) for variable in variables])).all()


def test_config_round_trip() -> None:
    optimizer = FusedAdam(WarmupSchedule(0.1, 3), 0.8, 0.95, 1e-3, global_clipnorm=1.0)
    twin = FusedAdam.from_config(optimizer.get_config())
    assert twin.get_config() == optimizer.get_config()
    assert (twin.beta_1, twin.beta_2, twin.epsilon, twin.global_clipnorm) == (0.8, 0.95, 1e-3, 1.0)
