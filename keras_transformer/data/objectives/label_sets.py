"""Classification with any number of labels: whether a text has each of them is predicted."""

from dataclasses import dataclass

import tensorflow as tf

from keras_transformer.data.objectives.objective import Batch, Rows


@dataclass(frozen=True)
class LabelSets:
    """Passes rows on with whether they have each label.

    Args:
        sets: For each number that a row may have instead of a label, 1 for each label of that set
            and 0 for each other one.
        has_token_types: Whether the model has an input of token types.
    """

    sets: tuple[tuple[int, ...], ...]
    has_token_types: bool = True

    def __call__(self, rows: Rows, seed: tf.Tensor) -> Batch:
        """Returns the inputs, labels `(B, labels)` of 0 and 1, and weights of 1; draws nothing."""
        del seed
        inputs = {"token_ids": rows.token_ids}
        if self.has_token_types:
            inputs["token_type_ids"] = rows.token_type_ids
        labels = tf.gather(tf.constant(self.sets, tf.int32), rows.classes)
        return inputs, labels, tf.ones_like(labels, tf.float32)
