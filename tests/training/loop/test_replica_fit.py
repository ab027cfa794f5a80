"""The loop of several replicas against `model.fit`: callbacks, their order, what they are told."""

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf
from few_updates import without_graphs

from keras_transformer.training.loop.compiling import compile_transformer
from keras_transformer.training.loop.replica_fit import fit_replicas
from keras_transformer.training.run.options import TrainPlan

OPTIONS = TrainPlan(warmup_steps=2, learning_rate=0.01)
EVENTS = [
    f"on_{what}_{when}"
    for what in ("train", "epoch", "train_batch", "test", "test_batch")
    for when in ("begin", "end")
]


class Events(keras.callbacks.Callback):
    """Keeps what it is called with; asks to stop after some updates."""

    def __init__(self, stop_after: int) -> None:
        super().__init__()
        self.seen: list[tuple[Any, ...]] = []
        self.figures: list[dict[str, float]] = []
        self._left = stop_after

    def keep(self, event: str, *given: Any, **named: Any) -> None:
        *place, logs = [*given, *named.values()] if given or named else [None]
        logs = logs if isinstance(logs, dict) else {}
        self.seen.append((event, *place[:1], sorted(logs)))
        self.figures.append({name: float(value) for name, value in logs.items()})
        if event == "on_train_batch_end":
            self._left -= 1
            self.model.stop_training = self._left == 0


for name in EVENTS:

    def call(self: Events, *given: Any, event: str = name, **named: Any) -> None:
        self.keep(event, *given, **named)

    setattr(Events, name, call)


@pytest.fixture(scope="module")
def batches() -> tf.data.Dataset:
    ids = np.random.default_rng(0).integers(4, 40, (12, 6)).astype("int32")
    ids[::3, 4:] = 0
    inputs = {"source_ids": ids, "target_ids": ids}
    weights = (ids != 0).astype("float32")
    return tf.data.Dataset.from_tensor_slices((inputs, ids, weights)).batch(4)


# To the end, and stopped in the middle of a round.
@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("has_validation", "stop_after"),
    [pytest.param(False, 99, marks=pytest.mark.exhaustive), (True, 5)],
)
def test_callbacks_see_what_those_of_fit_see(
    small: Callable[..., Any], batches: tf.data.Dataset, has_validation: bool, stop_after: int
) -> None:
    rounds = {"steps_per_epoch": 2, "initial_epoch": 1, "epochs": 4, "verbose": 0}
    expected, found = Events(stop_after), Events(stop_after)
    given = {"validation_data": batches, "validation_steps": 3} if has_validation else {}
    alone = compile_transformer(small(dropout=0.0), OPTIONS, updates=8)
    with without_graphs():
        history = alone.fit(
            batches.repeat(), callbacks=[expected], shuffle=False, **rounds, **given
        )

    strategy = tf.distribute.MirroredStrategy(["/cpu:0"])
    with strategy.scope():
        model = compile_transformer(small(dropout=0.0), OPTIONS, updates=8)
    if has_validation:
        given["validation_data"] = strategy.experimental_distribute_dataset(batches)
    repeated = strategy.experimental_distribute_dataset(batches.repeat())
    fit_replicas(model, repeated, callbacks=[found], **rounds, **given)

    assert found.seen == expected.seen
    for ours, theirs in zip(found.figures, expected.figures, strict=True):
        assert ours == pytest.approx(theirs, rel=1e-4)
    assert model.history.epoch == history.epoch
    for mine, other in zip(model.get_weights(), alone.get_weights(), strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-3, atol=1e-4)
