"""Sentence embeddings (Henderson et al. 2017): of two texts that mean the same, the second is found
among those of the batch.
"""

from dataclasses import dataclass

import tensorflow as tf

from keras_transformer.data.objectives.objective import Batch, Rows


@dataclass(frozen=True)
class SameMeaning:
    """Parts the texts of each row, which the model reads apart.

    Args:
        pad: The id that fills rows.
        has_token_types: Whether the model has an input of token types.
    """

    pad: int
    has_token_types: bool = True

    def __call__(self, rows: Rows, seed: tf.Tensor) -> Batch:
        """Returns inputs `(B, 2, L)`, the place of each pair `(B, 1)`, weights 1; draws nothing."""
        del seed
        is_text, is_second = rows.token_ids != self.pad, rows.token_type_ids == 1
        sides = [
            tf.ragged.boolean_mask(rows.token_ids, chosen)
            for chosen in (is_text & ~is_second, is_text & is_second)
        ]
        token_ids = tf.ragged.stack(sides, axis=1).to_tensor(self.pad)
        inputs = {"token_ids": tf.ensure_shape(token_ids, (None, 2, None))}
        if self.has_token_types:
            inputs["token_type_ids"] = tf.zeros_like(inputs["token_ids"])
        labels = tf.range(tf.shape(rows.token_ids)[0])[:, None]
        return inputs, labels, tf.ones_like(labels, tf.float32)
