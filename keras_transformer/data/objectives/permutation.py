"""Permutation language modelling (Yang et al. 2019): some tokens of a text are predicted in random
order, each from all that are not and from those before it in the order.
"""

from dataclasses import dataclass

import tensorflow as tf

from keras_transformer.config.checks import check_size
from keras_transformer.config.special_ids import SpecialIds
from keras_transformer.data.objectives.choosing import is_text
from keras_transformer.data.objectives.masked_tokens import chosen_places
from keras_transformer.data.objectives.objective import Batch, Rows

# Tokens of a span, each length with a probability in inverse proportion to it.
_LONGEST = 5


@dataclass(frozen=True)
class Permutation:
    """Draws the last tokens of an order of factorization: 1/K of a row's, in spans (section 2.6).

    A row is cut into contexts of K·L tokens, each with a length L of 1 to 5 of its own, and L
    tokens that follow each other are predicted of each. What is left at the end of a row has 1/K
    as many, and a row one at least. As in the released code, the other tokens come first and read
    each other, whatever their order; unlike there, so do special ids.

    Args:
        special_ids: Those of the vocabulary, with a mask, which later stands for what is asked for.
        has_token_types: Whether the model has an input of token types.
        one_in: The K of partial prediction.

    Raises:
        ValueError: The vocabulary has no mask, or K is below 2.
    """

    special_ids: SpecialIds
    has_token_types: bool = True
    one_in: int = 6

    def __post_init__(self) -> None:
        check_size("one_in", self.one_in, least=2)
        if self.special_ids.mask is None:
            raise ValueError(
                "the vocabulary has no <mask>, with which a trained model is asked for tokens: "
                "permutation-lm needs one that was trained with it "
                "(train_tokenizer(..., has_mask=True))."
            )

    def __call__(self, rows: Rows, seed: tf.Tensor) -> Batch:
        """Returns inputs `token_ids`, `places`, `order` (and types), the predicted ids, weights.

        `order` is int32 (B, L): 0 for tokens that are not predicted, for the others their rank from
        1 on.
        """
        ids = rows.token_ids
        lengths, offsets, ranks = tf.unstack(tf.random.split(seed, 3, alg="philox"))
        predicted = self.predicted(ids, lengths, offsets)
        noise = tf.random.stateless_uniform(tf.shape(ids), ranks, alg="philox")
        drawn = tf.argsort(tf.where(predicted, noise, 2.0), axis=1, stable=True)
        rank = 1 + tf.argsort(drawn, axis=1, stable=True)
        places, weights = chosen_places(predicted)
        inputs = {
            "token_ids": ids,
            "places": places,
            "order": tf.where(predicted, rank, 0),
        }
        if self.has_token_types:
            inputs["token_type_ids"] = rows.token_type_ids
        return inputs, tf.gather(ids, places, batch_dims=1), weights

    def predicted(self, ids: tf.Tensor, lengths: tf.Tensor, offsets: tf.Tensor) -> tf.Tensor:
        """Returns which tokens are predicted: boolean (B, L), never special ids.

        Args:
            ids: Padded rows int32 (B, L).
            lengths: int64 (2,), decides the spans' lengths.
            offsets: int64 (2,), decides where in their contexts they stand.
        """
        has_text = is_text(ids, self.special_ids)
        count = tf.reduce_sum(tf.cast(has_text, tf.int32), axis=1, keepdims=True)
        # As many contexts as the shortest could be: [B, C].
        shape = tf.shape(ids) // [1, self.one_in] + [0, 1]
        length = 1 + _drawn(lengths, shape)
        begin = tf.cumsum(self.one_in * length, axis=1, exclusive=True)
        size = tf.clip_by_value(count - begin, 0, self.one_in * length)
        span = tf.cast(tf.round(size / self.one_in), tf.int32)
        is_first = tf.range(shape[1])[None] == 0
        span = tf.where(is_first, tf.minimum(tf.maximum(span, 1), count), span)
        share = tf.random.stateless_uniform(shape, offsets, alg="philox")
        room = tf.cast(size - span + 1, tf.float32)
        begin += tf.minimum(tf.cast(share * room, tf.int32), size - span)
        # The number of each token among those of text: [B, L, 1].
        number = (tf.cumsum(tf.cast(has_text, tf.int32), axis=1) - 1)[:, :, None]
        begin, end = begin[:, None], (begin + span)[:, None]
        return has_text & tf.reduce_any((begin <= number) & (number < end), axis=2)


def _drawn(seed: tf.Tensor, shape: tf.Tensor) -> tf.Tensor:
    """Returns int32 numbers n from 0 to 4, each with a probability in proportion to 1/(n + 1)."""
    odds = tf.math.reciprocal(tf.range(1.0, _LONGEST + 1))
    below = tf.cumsum(odds / tf.reduce_sum(odds))[:-1]
    drawn = tf.random.stateless_uniform(shape, seed, alg="philox")
    return tf.reduce_sum(tf.cast(drawn[..., None] >= below, tf.int32), axis=-1)
