"""Initializers of linear layers and embeddings; zeros where weights are loaded from a file
afterwards.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import keras

_IS_LOADING = ContextVar("is_loading", default=False)


@contextmanager
def values_follow() -> Iterator[None]:
    """Lets models that are built within begin with zeros, as a file's values replace them all.

    Random numbers for 600 million weights take as long as reading them does, and memory for three
    copies of the largest matrix, which TensorFlow keeps.
    """
    before = _IS_LOADING.set(True)
    try:
        yield
    finally:
        _IS_LOADING.reset(before)


def linear_initializer() -> keras.initializers.Initializer:
    """Returns Glorot's uniform initializer with half its standard deviation.

    Residual branches with small initial weights learn faster (`docs/results/quality.md`).
    """
    return _unless_values_follow(
        keras.initializers.VarianceScaling(0.25, mode="fan_avg", distribution="uniform")
    )


def head_initializer() -> keras.initializers.Initializer:
    """Returns the initializer of a final linear layer: Glorot's."""
    return _unless_values_follow(keras.initializers.GlorotUniform())


def normal_initializer(stddev: float) -> keras.initializers.Initializer:
    """Returns the initializer of tables: normally distributed around 0."""
    return _unless_values_follow(keras.initializers.RandomNormal(stddev=stddev))


def _unless_values_follow(
    initializer: keras.initializers.Initializer,
) -> keras.initializers.Initializer:
    return keras.initializers.Zeros() if _IS_LOADING.get() else initializer
