"""Classification: the label of a whole text is predicted."""

from dataclasses import dataclass

import tensorflow as tf

from keras_transformer.data.objectives.objective import Batch, Rows


@dataclass(frozen=True)
class Classes:
    """Passes rows on with the numbers of their labels.

    Args:
        has_token_types: Whether the model has an input of token types.
    """

    has_token_types: bool = True

    def __call__(self, rows: Rows, seed: tf.Tensor) -> Batch:
        """Returns the inputs, the labels and as many weights of 1; draws nothing."""
        del seed
        inputs = {"token_ids": rows.token_ids}
        if self.has_token_types:
            inputs["token_type_ids"] = rows.token_type_ids
        labels = self.labels_of(rows)
        return inputs, labels, tf.ones_like(labels, tf.float32)

    def labels_of(self, rows: Rows) -> tf.Tensor:
        """Returns the number of each row's label, `(B, 1)`."""
        return rows.classes[:, None]
