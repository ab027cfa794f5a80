"""The training model on several replicas: each computes its rows of a batch, and losses, gradients
and metrics are those of the whole batch.

Stock Keras takes the mean of the replicas' means, which is another number where they hold unequally
many tokens, clips gradients before it sums them, and cannot fit dictionaries on several workers.
"""

from collections.abc import Callable
from typing import Any

import keras
import tensorflow as tf

from keras_transformer.data.batching.assembly import Batch
from keras_transformer.training.loop.accumulation import (
    AccumulatingTrainingModel,
    accumulated_gradients,
)
from keras_transformer.training.loop.adam import FusedAdam
from keras_transformer.training.loop.keras_internals import loss_tracker, update_count


class SynchronousAdam(FusedAdam):
    """Adam that sums the replicas' gradients first and clips the sum."""

    def apply(self, grads: Any, trainable_variables: Any = None) -> None:
        """Makes an update with the sum of all replicas' gradients, which are dense."""
        super().apply(_sum_of_replicas(grads), trainable_variables)

    def _all_reduce_sum_gradients(self, grads_and_vars: Any) -> Any:
        # Keras would sum here, after clipping.
        return grads_and_vars

    @property
    def iterations(self) -> tf.Tensor:
        """Updates made; unlike a mirrored variable, `int()` takes it."""
        return tf.convert_to_tensor(update_count(self))


class SynchronousTrainingModel(AccumulatingTrainingModel):
    """A training model to be built, compiled with `SynchronousAdam` and fitted in a strategy.

    Arguments as for `AccumulatingTrainingModel`.
    """

    def train_step(self, data: Batch) -> dict[str, tf.Tensor]:
        """Makes an update with one replica's rows of a batch."""
        weights = data[2]
        loss, gradients = accumulated_gradients(
            self, data, _tokens_of_replicas(weights), self.micro_batches
        )
        self.optimizer.apply(gradients, self.trainable_variables)
        return self._figures(loss, weights)

    def test_step(self, data: Batch) -> dict[str, tf.Tensor]:
        """Evaluates one replica's rows of a batch."""
        inputs, labels, weights = data
        states = self(inputs, training=False)
        mean = self.compute_loss(inputs, labels, states, weights, training=False)
        loss = mean * tf.reduce_sum(weights) / _tokens_of_replicas(weights)
        return self._figures(loss, weights)

    def _figures(self, part_of_loss: tf.Tensor, weights: tf.Tensor) -> dict[str, tf.Tensor]:
        """Returns the metrics of all replicas' rows, the same on each of them."""
        # As Keras does it on one device: a batch counts in the mean as many times as it has rows.
        rows = tf.reduce_sum(tf.cast(tf.reduce_any(weights > 0, axis=-1), tf.float32))
        loss_tracker(self).update_state(_sum_of_replicas(part_of_loss), sample_weight=rows)
        # Metrics are made of sums and counts, so that those of all replicas can be added.
        variables = self.metrics_variables
        # tf.identity puts them on the replica's device, which a read variable does not name.
        sums = _sum_of_replicas([tf.identity(variable.value) for variable in variables])
        with keras.StatelessScope(state_mapping=list(zip(variables, sums, strict=True))):
            return self.get_metrics_result()

    train_function: Callable[..., Any] | None
    test_function: Callable[..., Any] | None

    def make_train_function(self, force: bool = False) -> None:
        """Compiles `train_step` for all replicas."""
        if self.train_function is None or force:
            self.train_function = self._on_replicas(self.train_step)

    def make_test_function(self, force: bool = False) -> None:
        """Compiles `test_step` for all replicas."""
        if self.test_function is None or force:
            self.test_function = self._on_replicas(self.test_step)

    def _on_replicas(self, step: Callable[[Batch], dict[str, tf.Tensor]]) -> Callable[..., Any]:
        strategy = self.distribute_strategy

        # Nothing in a step is Python to be converted; converting takes as long as tracing.
        @tf.function(autograph=False, reduce_retracing=True)
        def on_next_batch(iterator: Any) -> Any:
            figures = strategy.run(step, args=(next(iterator),))
            # All replicas have the same; Keras would reduce once more.
            return {
                name: strategy.experimental_local_results(value)[0]
                for name, value in figures.items()
            }

        # A plain function, as Keras expects it.
        return lambda iterator: on_next_batch(iterator)

    def _maybe_symbolic_build(self, iterator: Any = None, data_batch: Any = None) -> None:
        # Keras would read a batch to build what is built already (and fails on several workers).
        pass


def _tokens_of_replicas(weights: tf.Tensor) -> tf.Tensor:
    return tf.maximum(_sum_of_replicas(tf.reduce_sum(weights)), 1.0)


def _sum_of_replicas(values: Any) -> Any:
    return tf.distribute.get_replica_context().all_reduce(tf.distribute.ReduceOp.SUM, values)
