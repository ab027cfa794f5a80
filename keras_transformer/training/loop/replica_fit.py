"""The loop of `model.fit` for several replicas: the same callbacks in the same order, with metrics
that are equal on all replicas. One device trains with `model.fit` itself.

Keras's own loop reads a batch to build the model even if it is already built, which fails on
several workers, and averages the replicas' metrics.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import keras
import tensorflow as tf

from keras_transformer.data.batching.assembly import Batch
from keras_transformer.training.loop.synchronous import SynchronousTrainingModel

Figures = dict[str, tf.Tensor]
# Takes an iterator over a distributed data set; trains or evaluates on its next element.
Step = Callable[[Iterator[Any]], Figures]


def fit_replicas(
    model: SynchronousTrainingModel,
    batches: Iterable[Any],
    *,
    steps_per_epoch: int,
    initial_epoch: int,
    epochs: int,
    callbacks: list[keras.callbacks.Callback],
    validation_data: Iterable[Any] | None = None,
    validation_steps: int = 0,
    verbose: int = 1,
) -> None:
    """Trains as `model.fit` does with arguments of the same names.

    Args:
        model: Built and compiled in a strategy.
        batches: The strategy's endless data set, starting at the first update of `initial_epoch`.
        steps_per_epoch: Number of updates in an epoch.
        initial_epoch: Number of epochs already completed.
        epochs: Number of the epoch to end after.
        callbacks: The callbacks to run.
        validation_data: The strategy's data set for validation, or None.
        validation_steps: Number of its batches.
        verbose: Passed to the callback that shows progress; 0 for none.
    """
    calls = keras.callbacks.CallbackList(
        callbacks,
        add_history=True,
        add_progbar=verbose != 0,
        verbose=verbose,
        epochs=epochs,
        steps=steps_per_epoch,
        model=model,
    )
    train_step = _on_replicas(model.distribute_strategy, model.train_step)
    test_step = _on_replicas(model.distribute_strategy, model.test_step)
    model.stop_training = False
    calls.on_train_begin()
    logs: dict[str, Any] = {}
    iterator = iter(batches)
    for epoch in range(initial_epoch, epochs):
        model.reset_metrics()
        calls.on_epoch_begin(epoch)
        logs = _train_epoch(model, train_step, iterator, steps_per_epoch, calls)
        if validation_data is not None:
            found = _validate(model, test_step, iter(validation_data), validation_steps, calls)
            logs.update({f"val_{name}": value for name, value in found.items()})
        calls.on_epoch_end(epoch, logs)
        if model.stop_training:
            break
    calls.on_train_end(logs)


def _train_epoch(
    model: keras.Model,
    train_step: Step,
    iterator: Iterator[Any],
    steps: int,
    calls: keras.callbacks.CallbackList,
) -> dict[str, Any]:
    """Returns the figures after the last update, which are those of all updates of the epoch."""
    figures: Figures = {}
    for step in range(steps):
        calls.on_train_batch_begin(step)
        figures = train_step(iterator)
        calls.on_train_batch_end(step, figures)
        if model.stop_training:
            break
    return dict(figures)


def _validate(
    model: keras.Model,
    test_step: Step,
    iterator: Iterator[Any],
    steps: int,
    calls: keras.callbacks.CallbackList,
) -> dict[str, float]:
    """Returns the figures of all validation batches."""
    calls.on_test_begin()
    model.reset_metrics()
    figures: Figures = {}
    for step in range(steps):
        calls.on_test_batch_begin(step)
        figures = test_step(iterator)
        calls.on_test_batch_end(step, figures)
    found = {name: float(value) for name, value in figures.items()}
    calls.on_test_end(found)
    return found


def _on_replicas(strategy: tf.distribute.Strategy, step: Callable[[Batch], Figures]) -> Step:
    # A step has no Python control flow to convert, and conversion takes as long as tracing.
    @tf.function(autograph=False, reduce_retracing=True)
    def on_next_batch(iterator: Any) -> Figures:
        figures = strategy.run(step, args=(next(iterator),))
        # The values are the same on all replicas.
        return {
            name: strategy.experimental_local_results(value)[0] for name, value in figures.items()
        }

    return on_next_batch
