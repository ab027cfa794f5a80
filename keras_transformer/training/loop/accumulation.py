"""Gradient accumulation: processes a batch in parts, one after the other, and makes one update with
the sum of their gradients. The update is that of the whole batch, in the memory of one part.
"""

import tensorflow as tf

from keras_transformer.data.batching.assembly import Batch
from keras_transformer.models.families import AnyModel
from keras_transformer.training.loop.training_model import TrainingModel
from keras_transformer.training.loss.cross_entropy import count_tokens


def accumulated_gradients(
    model: TrainingModel, data: Batch, tokens: tf.Tensor, parts: int
) -> tuple[tf.Tensor, list[tf.Tensor]]:
    """Sums loss and gradients over equal parts of a batch's rows, and updates the metrics.

    Args:
        model: Computes the loss.
        data: `({"source_ids", "target_ids"}, labels, sample_weight)`; if its rows cannot be
            divided evenly, rows of padding with weight 0 are added.
        tokens: float32 scalar, the divisor of the sum of the tokens' losses: the tokens of this
            batch, or, if it is a replica's share, of the whole batch.
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
        # Dense: embeddings are tied to the output layer, so few rows are zero.
        return [loss, *map(tf.convert_to_tensor, tape.gradient(loss, variables))]

    if parts == 1:
        loss, *gradients = of_part(data)
        return loss, gradients
    split_data = tf.nest.map_structure(lambda values: _split(values, parts), data)

    def add(part: tf.Tensor, *sums: tf.Tensor) -> tuple[tf.Tensor, ...]:
        found = of_part(tf.nest.map_structure(lambda values: values[part], split_data))
        return part + 1, *(total + value for total, value in zip(sums, found, strict=True))

    zeros = [tf.zeros(()), *(tf.zeros(variable.shape) for variable in variables)]
    # One part at a time: in parallel they would take the memory of the whole batch.
    _, loss, *gradients = tf.while_loop(
        lambda part, *_: part < parts, add, (0, *zeros), parallel_iterations=1
    )
    # `compute_loss` has set it to the last part's loss.
    weights = data[2]
    own_mean = loss * tokens / count_tokens(weights)
    model.batch_loss.update_state(own_mean, sample_weight=tf.reduce_sum(weights))
    return loss, gradients


def _split(values: tf.Tensor, parts: int) -> tf.Tensor:
    """Splits `(rows, length)` into `(parts, rows of a part, length)`, padded with rows of zeros."""
    rows, length = tf.unstack(tf.shape(values))
    size = -(-rows // parts)
    return tf.reshape(tf.pad(values, [[0, size * parts - rows], [0, 0]]), (parts, size, length))


class AccumulatingTrainingModel(TrainingModel):
    """A `TrainingModel` that processes a batch in parts.

    Args:
        transformer: The model whose weights are trained.
        label_smoothing: Share of the probability spread evenly over the vocabulary.
        r_drop: Strength α of R-Drop, which sends every batch through the Transformer twice; 0 for
            none.
        micro_batches: Number of parts.
    """

    def __init__(
        self,
        transformer: AnyModel,
        label_smoothing: float = 0.1,
        r_drop: float = 0.0,
        *,
        micro_batches: int,
    ) -> None:
        super().__init__(transformer, label_smoothing, r_drop)
        self.micro_batches = micro_batches

    def train_step(self, data: Batch) -> dict[str, tf.Tensor]:
        """Performs one update with a batch."""
        weights = data[2]
        loss, gradients = accumulated_gradients(
            self, data, count_tokens(weights), self.micro_batches
        )
        self.optimizer.apply(gradients, self.trainable_variables)
        # As in Keras: a batch is weighted in the mean by its number of rows.
        self.mean_loss.update_state(loss, sample_weight=tf.shape(weights)[0])
        return self.get_metrics_result()
