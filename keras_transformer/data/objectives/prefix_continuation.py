"""Prefix language modelling for an encoder and a decoder (Raffel et al. 2020, section 3.3.1, after
Liu et al. 2018): the encoder reads the beginning of a text, and the decoder writes the rest.
"""

from dataclasses import dataclass

import tensorflow as tf

from keras_transformer.config.special_ids import SpecialIds
from keras_transformer.data.objectives.objective import Batch, Rows, written_batch


@dataclass(frozen=True)
class PrefixContinuation:
    """Cuts rows `decoder_start text eos` in two at a place drawn for each.

    The source is the text before that place and eos, the target the rest. Each has at least one
    token of text; of a text of one token the target has it.

    Args:
        special_ids: Those of the vocabulary.
    """

    special_ids: SpecialIds

    def __call__(self, rows: Rows, seed: tf.Tensor) -> Batch:
        """Returns inputs `source_ids` and `target_ids`, the target's next tokens, and weights."""
        pad, eos = self.special_ids.pad, self.special_ids.eos
        text = rows.token_ids[:, 1:]  # text eos
        is_text = (text != pad) & (text != eos)
        length = tf.reduce_sum(tf.cast(is_text, tf.int32), axis=1)
        drawn = tf.random.stateless_uniform(tf.shape(length), seed, alg="philox")
        most = tf.maximum(length - 1, 1)
        prefix = 1 + tf.cast(drawn * tf.cast(most, tf.float32), tf.int32)
        # Rounding may draw `most` itself; a text of one token has no prefix.
        prefix = tf.minimum(tf.minimum(prefix, most), length - 1)
        is_prefix = tf.range(tf.shape(text)[1]) < prefix[:, None]
        source = tf.concat(
            [tf.ragged.boolean_mask(text, is_prefix), tf.fill([tf.size(length), 1], eos)], axis=1
        )
        target = tf.ragged.boolean_mask(text, (text != pad) & ~is_prefix)
        return written_batch(rows, source, target, pad)
