"""Gradient accumulation: a batch is taken in parts, one after the other, and one update is made of
the sum of their gradients. It needs the memory of a part and is the update of the whole batch.
"""

import tensorflow as tf

from keras_transformer.data.batching.assembly import Batch
from keras_transformer.models import Transformer
from keras_transformer.training.loop.training_model import TrainingModel
from keras_transformer.training.loss.cross_entropy import count_tokens


def accumulated_gradients(
    model: TrainingModel, data: Batch, tokens: tf.Tensor, parts: int
) -> tuple[tf.Tensor, list[tf.Tensor]]:
    """Sums loss and gradients over equal parts of a batch's rows, and updates the metrics.

    Args:
        model: Gives the loss.
        data: `({"source_ids", "target_ids"}, labels, sample_weight)`; where its rows cannot be
            shared evenly, rows of padding are added, which weigh nothing.
        tokens: float32 scalar, what the sum of the tokens' losses is divided by: the tokens of
            this batch, or of the whole batch that this one is a replica's share of.
        parts: Number of parts.

    Returns:
        The loss, and a dense gradient for each of the model's trainable variables.
    """
    variables = model.trainable_variables

    def of_part(part: Batch) -> list[tf.Tensor]:
        inputs, labels, weights = part
        with tf.GradientTape() as tape:
            states = model(inputs, training=True)
            mean = model.compute_loss(inputs, labels, states, weights)
            loss = mean * tf.reduce_sum(weights) / tokens
        # Dense: embeddings are tied to the output layer, so few rows would be zero.
        return [loss, *map(tf.convert_to_tensor, tape.gradient(loss, variables))]

    if parts == 1:
        loss, *gradients = of_part(data)
        return loss, gradients
    split_data = tf.nest.map_structure(lambda values: _split(values, parts), data)

    def add(part: tf.Tensor, *sums: tf.Tensor) -> tuple[tf.Tensor, ...]:
        found = of_part(tf.nest.map_structure(lambda values: values[part], split_data))
        return part + 1, *(total + value for total, value in zip(sums, found, strict=True))

    zeros = [tf.zeros(()), *(tf.zeros(variable.shape) for variable in variables)]
    # One part at a time: side by side they would take the memory of the whole batch.
    _, loss, *gradients = tf.while_loop(
        lambda part, *_: part < parts, add, (0, *zeros), parallel_iterations=1
    )
    # `compute_loss` left the last part's.
    weights = data[2]
    own_mean = loss * tokens / count_tokens(weights)
    model.batch_loss.update_state(own_mean, sample_weight=tf.reduce_sum(weights))
    return loss, gradients


def _split(values: tf.Tensor, parts: int) -> tf.Tensor:
    """`(rows, length)` → `(parts, rows of a part, length)`, filled up with rows of zeros."""
    rows, length = tf.unstack(tf.shape(values))
    size = -(-rows // parts)
    return tf.reshape(tf.pad(values, [[0, size * parts - rows], [0, 0]]), (parts, size, length))


class AccumulatingTrainingModel(TrainingModel):
    """A `TrainingModel` that takes a batch in parts.

    Args:
        transformer: As for `TrainingModel`.
        label_smoothing: As for `TrainingModel`.
        r_drop: As for `TrainingModel`.
        micro_batches: Number of parts.
    """

    def __init__(
        self,
        transformer: Transformer,
        label_smoothing: float = 0.1,
        r_drop: float = 0.0,
        *,
        micro_batches: int,
    ) -> None:
        super().__init__(transformer, label_smoothing, r_drop)
        self.micro_batches = micro_batches

    def train_step(self, data: Batch) -> dict[str, tf.Tensor]:
        """Makes an update with a batch."""
        weights = data[2]
        loss, gradients = accumulated_gradients(
            self, data, count_tokens(weights), self.micro_batches
        )
        self.optimizer.apply(gradients, self.trainable_variables)
        # As Keras does it: a batch counts in the mean as many times as it has rows.
        self.mean_loss.update_state(loss, sample_weight=tf.shape(weights)[0])
        return self.get_metrics_result()
