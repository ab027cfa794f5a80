"""Causal language modelling: every token of a text is predicted from those before it, or from those
after it.
"""

from dataclasses import dataclass

import tensorflow as tf

from keras_transformer.config.special_ids import SpecialIds
from keras_transformer.data.objectives.objective import Batch, Rows


@dataclass(frozen=True)
class NextToken:
    """Cuts rows `decoder_start text eos` into inputs and labels, shifted by one place.

    Args:
        special_ids: Those of the vocabulary.
        backward: Whether texts are read from the end: `decoder_start reversed-text eos`.
    """

    special_ids: SpecialIds
    backward: bool = False

    def __call__(self, rows: Rows, seed: tf.Tensor) -> Batch:
        """Returns the input `token_ids`, the tokens that follow, and weights; draws nothing."""
        del seed
        labels = rows.token_ids[:, 1:]
        is_label = labels != self.special_ids.pad
        if self.backward:
            labels = self._reversed(labels, is_label)
        before = tf.concat([rows.token_ids[:, :1], labels[:, :-1]], axis=1)
        # The eos of a shorter row has no label after it, so the model never reads it.
        token_ids = tf.where(is_label, before, self.special_ids.pad)
        return {"token_ids": token_ids}, labels, tf.cast(is_label, tf.float32)

    def _reversed(self, tokens: tf.Tensor, is_token: tf.Tensor) -> tf.Tensor:
        """Returns rows `(B, L)` from their ends; the eos behind a row's last text stays there."""
        lengths = tf.reduce_sum(tf.cast(is_token, tf.int32), axis=1)
        last = tf.gather(tokens, tf.maximum(lengths - 1, 0), axis=1, batch_dims=1)
        ends = tf.cast(last == self.special_ids.eos, tf.int32)
        return tf.reverse_sequence(tokens, lengths - ends, seq_axis=1)
