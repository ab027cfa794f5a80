"""BERT's pretraining (Devlin et al. 2018, section 3.1): hidden tokens of a pair are named, and
whether its second sentence follows the first.
"""

from dataclasses import dataclass

import tensorflow as tf

from keras_transformer.data.objectives.masked_tokens import MaskedTokens
from keras_transformer.data.objectives.objective import Batch, Rows


@dataclass(frozen=True)
class NextSentence:
    """Puts the class of each pair, 0 for the next sentence, before the labels of its tokens.

    Args:
        masked: Hides the tokens; the model must have token types.

    Raises:
        ValueError: The model has no token types.
    """

    masked: MaskedTokens

    def __post_init__(self) -> None:
        if not self.masked.has_token_types:
            raise ValueError(
                "next_sentence needs num_token_types=2, which tell the second sentence from the "
                "first."
            )

    def __call__(self, rows: Rows, seed: tf.Tensor) -> Batch:
        """Returns the inputs of `MaskedTokens`, labels and weights `(B, 1 + predictions)`.

        The pairs' weights have the same sum in the batch as those of the tokens. The sum of both
        mean losses is then twice the mean over all, in any part of a batch.
        """
        inputs, labels, weights = self.masked(rows, seed)
        pairs = rows.classes[:, None]
        share = tf.reduce_sum(weights) / tf.cast(tf.maximum(tf.size(pairs), 1), tf.float32)
        of_pairs = tf.fill(tf.shape(pairs), share)
        return inputs, tf.concat([pairs, labels], 1), tf.concat([of_pairs, weights], 1)
