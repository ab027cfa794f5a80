"""Causal language modelling: every token of a text is predicted from those before it."""

from dataclasses import dataclass

import tensorflow as tf

from keras_transformer.config.special_ids import SpecialIds
from keras_transformer.data.objectives.objective import Batch, Rows


@dataclass(frozen=True)
class NextToken:
    """Cuts rows `decoder_start text eos` into inputs and labels, shifted by one place.

    Args:
        special_ids: Those of the vocabulary.
    """

    special_ids: SpecialIds

    def __call__(self, rows: Rows, seed: tf.Tensor) -> Batch:
        """Returns the input `token_ids`, the tokens that follow, and weights; draws nothing."""
        del seed
        labels = rows.token_ids[:, 1:]
        is_label = labels != self.special_ids.pad
        # The eos of a shorter row has no label after it, so the model never reads it.
        token_ids = tf.where(is_label, rows.token_ids[:, :-1], self.special_ids.pad)
        return {"token_ids": token_ids}, labels, tf.cast(is_label, tf.float32)
