"""The training model on several replicas: each computes its rows of a batch, and losses, gradients
and metrics are those of the whole batch.

Stock Keras takes the mean of the replicas' means, which differs if the replicas hold different
numbers of tokens, and clips gradients before it sums them. `replica_fit.py` has the loop around
these steps.
"""

from collections.abc import Sequence
from typing import Any

import keras
import tensorflow as tf

from keras_transformer.data.batching.assembly import Batch
from keras_transformer.training.loop.accumulation import (
    AccumulatingTrainingModel,
    accumulated_gradients,
)
from keras_transformer.training.loss.cross_entropy import count_tokens
from keras_transformer.training.optimizer.adam import FusedAdam
from keras_transformer.training.optimizer.muon import FusedMuon


class SynchronousAdam(FusedAdam):
    """Adam that sums the replicas' gradients first and clips the sum.

    Each replica then makes the same update of its own copy of the variables.
    """

    def apply(self, grads: Sequence[tf.Tensor], trainable_variables: Any = None) -> None:
        """Applies an update with the sum of all replicas' gradients, which are dense."""
        super().apply(_sum_of_replicas(grads), trainable_variables)

    @property
    def iterations(self) -> tf.Tensor:
        """The number of updates made, as a tensor: `int()` does not accept a mirrored variable."""
        return tf.convert_to_tensor(super().iterations)


class SynchronousMuon(SynchronousAdam, FusedMuon):
    """Muon that does the same."""


class SynchronousTrainingModel(AccumulatingTrainingModel):
    """A training model to be built and compiled with one of these optimizers in a strategy's scope.

    Both steps run on all replicas at once and return the same values on each.

    Takes the arguments of `AccumulatingTrainingModel`.
    """

    def train_step(self, data: Batch) -> dict[str, tf.Tensor]:
        """Performs one update with one replica's rows of a batch."""
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
        # As Keras does on one device: a batch is weighted in the mean by its number of rows.
        rows = tf.reduce_sum(tf.cast(tf.reduce_any(weights > 0, axis=-1), tf.float32))
        self.mean_loss.update_state(_sum_of_replicas(part_of_loss), sample_weight=rows)
        # Metrics hold sums and counts, so those of all replicas can be added.
        variables = self.metrics_variables
        # tf.identity puts them on the replica's device, which a read variable does not name.
        sums = _sum_of_replicas([tf.identity(variable.value) for variable in variables])
        with keras.StatelessScope(state_mapping=list(zip(variables, sums, strict=True))):
            return self.get_metrics_result()


def _tokens_of_replicas(weights: tf.Tensor) -> tf.Tensor:
    return count_tokens(_sum_of_replicas(tf.reduce_sum(weights)))


def _sum_of_replicas(values: Any) -> Any:
    return tf.distribute.get_replica_context().all_reduce(tf.distribute.ReduceOp.SUM, values)
