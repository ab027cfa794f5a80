"""Masked language modelling (Devlin et al. 2018): tokens are hidden, and the model names them."""

from dataclasses import dataclass

import tensorflow as tf

from keras_transformer.config.special_ids import SpecialIds
from keras_transformer.data.objectives.objective import Batch, Rows

# Of the chosen places, those that become `<mask>`, and those that become any token; the rest stay.
_MASKED, _RANDOM = 0.8, 0.1


@dataclass(frozen=True)
class MaskedTokens:
    """Chooses places of every row and hides what stands there.

    Special ids are never chosen. In every row with text at least one place is.

    Args:
        special_ids: Those of the vocabulary, with a mask.
        vocab_size: Number of ids, from which random replacements are drawn.
        has_token_types: Whether the model has an input of token types.
        share: Share of a row's tokens that are chosen.

    Raises:
        ValueError: The vocabulary has no mask, or `share` is not between 0 and 1.
    """

    special_ids: SpecialIds
    vocab_size: int
    has_token_types: bool = True
    share: float = 0.15

    def __post_init__(self) -> None:
        if self.special_ids.mask is None:
            raise ValueError(
                "the vocabulary has no <mask>: a masked language model needs one that was trained "
                "with it (train_tokenizer(..., has_mask=True))."
            )
        if not 0 < self.share < 1:
            raise ValueError(f"share must lie between 0 and 1, got {self.share}.")

    def __call__(self, rows: Rows, seed: tf.Tensor) -> Batch:
        """Returns inputs `token_ids`, `places` (and `token_type_ids`), the hidden ids, weights."""
        ids = rows.token_ids
        choosing, fate, drawn = tf.unstack(tf.random.split(seed, 3, alg="philox"))
        chosen = self._chosen(ids, choosing)
        places, weights = chosen_places(chosen)
        labels = tf.gather(ids, places, batch_dims=1)
        hidden = tf.where(chosen, self._replacements(ids, fate, drawn), ids)
        inputs = {"token_ids": hidden, "places": places}
        if self.has_token_types:
            inputs["token_type_ids"] = rows.token_type_ids
        return inputs, labels, weights

    def _chosen(self, ids: tf.Tensor, seed: tf.Tensor) -> tf.Tensor:
        """Returns where a token is chosen: boolean (B, L)."""
        is_text = tf.reduce_all(ids[:, :, None] != sorted(self.special_ids.without_text), axis=-1)
        noise = tf.random.stateless_uniform(tf.shape(ids), seed, alg="philox")
        # Places of text in the order of their noise, then all others.
        order = tf.argsort(tf.where(is_text, noise, 2.0), stable=True)
        rank = tf.argsort(order, stable=True)
        return is_text & (rank < num_chosen(is_text, self.share)[:, None])

    def _replacements(self, ids: tf.Tensor, fate: tf.Tensor, drawn: tf.Tensor) -> tf.Tensor:
        """Returns what stands at each place if it is chosen: int32 (B, L)."""
        shape = tf.shape(ids)
        text_ids = self.special_ids.text_ids(self.vocab_size)
        number = tf.random.stateless_uniform(
            shape, drawn, minval=0, maxval=len(text_ids), dtype=tf.int32, alg="philox"
        )
        random_ids = tf.gather(tf.constant(text_ids, tf.int32), number)
        share = tf.random.stateless_uniform(shape, fate, alg="philox")
        kept = tf.where(share < _MASKED + _RANDOM, random_ids, ids)
        return tf.where(share < _MASKED, tf.constant(self.special_ids.mask, tf.int32), kept)


def num_chosen(is_text: tf.Tensor, share: float) -> tf.Tensor:
    """Returns how many places of each row are chosen: int32 (B,), at least 1 if it has text."""
    tokens = tf.reduce_sum(tf.cast(is_text, tf.int32), axis=1)
    wanted = tf.cast(tf.round(tf.cast(tokens, tf.float32) * share), tf.int32)
    return tf.minimum(tf.maximum(wanted, 1), tokens)


def chosen_places(chosen: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns the chosen places of each row in ascending order, and their weights.

    Args:
        chosen: Boolean (B, L).

    Returns:
        Places int32 (B, P) for the largest number P of places of a row, filled up with 0; weights
        float32 (B, P), 0 where they are.
    """
    counts = tf.reduce_sum(tf.cast(chosen, tf.int32), axis=1)
    width = tf.maximum(tf.reduce_max(counts), 1)
    order = tf.argsort(tf.cast(~chosen, tf.int32), axis=1, stable=True)[:, :width]
    is_place = tf.sequence_mask(counts, width)
    return tf.where(is_place, order, 0), tf.cast(is_place, tf.float32)
