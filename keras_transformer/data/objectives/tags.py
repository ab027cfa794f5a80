"""Tagging: the tag of each word is predicted at the word's first token."""

from dataclasses import dataclass

import tensorflow as tf

from keras_transformer.data.objectives.objective import Batch, Rows

# Stands for no tag.
NO_TAG = -1


@dataclass(frozen=True)
class Tags:
    """Passes rows on with the numbers of their tags.

    Args:
        has_token_types: Whether the model has an input of token types.
    """

    has_token_types: bool = True

    def __call__(self, rows: Rows, seed: tf.Tensor) -> Batch:
        """Returns inputs, labels `(B, L)` and weights, 0 at tokens without a tag; draws nothing."""
        del seed
        if rows.token_classes is None:
            raise ValueError("rows for tagging need token_classes, got None.")
        inputs = {"token_ids": rows.token_ids}
        if self.has_token_types:
            inputs["token_type_ids"] = rows.token_type_ids
        is_tagged = rows.token_classes != NO_TAG
        labels = tf.where(is_tagged, rows.token_classes, 0)
        return inputs, labels, tf.cast(is_tagged, tf.float32)
