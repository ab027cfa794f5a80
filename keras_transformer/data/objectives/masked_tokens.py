"""Masked language modelling (Devlin et al. 2018): tokens are hidden, and the model names them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import tensorflow as tf

from keras_transformer.config.special_ids import SpecialIds
from keras_transformer.data.objectives.objective import Batch, Rows

# Of the chosen places, those that become `<mask>`, and those that become any token; the rest stay.
_MASKED, _RANDOM = 0.8, 0.1
# Mean length of a span in tokens.
_SPAN = 3.0

Unit = Literal["tokens", "whole-words", "spans"]


@dataclass(frozen=True)
class MaskedTokens:
    """Chooses places of every row and hides what stands there.

    Special ids are never chosen. In every row with text at least one place is.

    Args:
        special_ids: Those of the vocabulary, with a mask.
        vocab_size: Number of ids, from which random replacements are drawn.
        has_token_types: Whether the model has an input of token types.
        share: Share of a row's tokens that are chosen.
        unit: What is chosen as a whole: "tokens", "whole-words", or "spans" of three tokens on
            average, of geometric length.
        begins_word: For each id whether it begins a word; only for whole words.

    Raises:
        ValueError: The vocabulary has no mask, `share` is not between 0 and 1, the unit is
            unknown, or `begins_word` is missing.
    """

    special_ids: SpecialIds
    vocab_size: int
    has_token_types: bool = True
    share: float = 0.15
    unit: Unit = "tokens"
    begins_word: Sequence[bool] = ()

    def __post_init__(self) -> None:
        if self.special_ids.mask is None:
            raise ValueError(
                "the vocabulary has no <mask>: a masked language model needs one that was trained "
                "with it (train_tokenizer(..., has_mask=True))."
            )
        if not 0 < self.share < 1:
            raise ValueError(f"share must lie between 0 and 1, got {self.share}.")
        if self.unit not in get_args(Unit):
            raise ValueError(
                f"masking must be one of {', '.join(get_args(Unit))}, got {self.unit!r}."
            )
        if self.unit == "whole-words" and len(self.begins_word) != self.vocab_size:
            raise ValueError(
                f"begins_word must say of each of {self.vocab_size} ids whether it begins a word, "
                f"got {len(self.begins_word)} values."
            )

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
        borders, choosing = tf.unstack(tf.random.split(seed, 2, alg="philox"))
        is_text = tf.reduce_all(ids[:, :, None] != sorted(self.special_ids.without_text), axis=-1)
        begins = ~is_text | self._begins(ids, borders)
        unit = tf.cumsum(tf.cast(begins, tf.int32), axis=1) - 1  # number of each token's unit
        unit = tf.maximum(unit, 0)
        sizes = _sizes(unit, is_text)
        noise = tf.random.stateless_uniform(tf.shape(ids), choosing, alg="philox")
        # Units of text in the order of their noise, then all others.
        order = tf.argsort(tf.where(sizes > 0, noise, 2.0), stable=True)
        ends = tf.cumsum(tf.gather(sizes, order, batch_dims=1), axis=1)
        starts = tf.pad(ends[:, :-1], [[0, 0], [1, 0]])
        # A unit that crosses the number wanted counts if more than half of it lies before.
        taken = starts + ends <= 2 * num_chosen(is_text, self.share)[:, None]
        taken |= tf.range(tf.shape(ids)[1]) == 0
        rank = tf.argsort(order, stable=True)
        return is_text & tf.gather(tf.gather(taken, rank, batch_dims=1), unit, batch_dims=1)

    def _begins(self, ids: tf.Tensor, seed: tf.Tensor) -> tf.Tensor:
        """Returns where a unit begins: boolean (B, L)."""
        if self.unit == "whole-words":
            return tf.gather(tf.constant(self.begins_word), ids)
        if self.unit == "spans":
            # Lengths are then geometric with this mean (Joshi et al. 2020).
            return tf.random.stateless_uniform(tf.shape(ids), seed, alg="philox") < 1 / _SPAN
        return tf.ones_like(ids, tf.bool)

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


def _sizes(unit: tf.Tensor, is_text: tf.Tensor) -> tf.Tensor:
    """Returns how many tokens of text each unit has: int32 (B, L), by its number."""
    shape = tf.shape(unit)
    cells = tf.range(shape[0])[:, None] * shape[1] + unit
    counts = tf.math.unsorted_segment_sum(
        tf.reshape(tf.cast(is_text, tf.int32), (-1,)), tf.reshape(cells, (-1,)), shape[0] * shape[1]
    )
    return tf.reshape(counts, shape)


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
