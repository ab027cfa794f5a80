"""Training that makes a handful of updates, for tests of what it starts from and what it leaves."""

from collections.abc import Iterator

import pytest


@pytest.fixture(scope="module")
def few_updates() -> Iterator[None]:
    """Trains and evaluates the models of a file without a graph.

    Tracing one takes longer than a few updates do. What an update computes is tested with graphs,
    under `training/loop`, `training/run` and `training/texts`.
    """
    import keras

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(keras.Model, "run_eagerly", property(_always, _ignore))
        yield


def _always(model: object) -> bool:
    return True


def _ignore(model: object, value: bool) -> None:
    """What `compile` was told does not matter."""
