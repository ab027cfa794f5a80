"""Training that makes a handful of updates, for tests of what it starts from and what it leaves."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

# Its data sets are traced all the same, which TensorFlow would tell each time.
_WARNING = "ignore:Even though the .*run_functions_eagerly:UserWarning"


def pytest_configure(config: pytest.Config) -> None:
    """Has its warning ignored."""
    config.addinivalue_line("filterwarnings", _WARNING)


@pytest.fixture(scope="module")
def few_updates() -> Iterator[None]:
    """Trains, evaluates and translates in a file without graphs."""
    with without_graphs():
        yield


@contextmanager
def without_graphs() -> Iterator[None]:
    """Trains, evaluates and translates without graphs.

    Tracing one takes longer than a few updates do, or a translation of a few tokens. What an update
    computes is tested with graphs, under `training/loop`, `training/run` and `training/texts`.
    """
    import keras
    import tensorflow as tf

    before = tf.config.functions_run_eagerly()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(keras.Model, "run_eagerly", property(_always, _ignore))
        tf.config.run_functions_eagerly(True)
        try:
            yield
        finally:
            tf.config.run_functions_eagerly(before)


def _always(model: object) -> bool:
    return True


def _ignore(model: object, value: bool) -> None:
    """What `compile` was told does not matter."""
