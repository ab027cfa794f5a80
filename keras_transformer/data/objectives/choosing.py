"""The choice of the tokens that are hidden of texts: single ones, whole words, phrases or spans."""

from collections.abc import Sequence
from typing import Literal

import tensorflow as tf

from keras_transformer.config.special_ids import SpecialIds
from keras_transformer.data.objectives.phrases import PhraseTree

Unit = Literal["tokens", "whole-words", "spans", "phrases"]

# Mean length of a span in tokens.
_SPAN = 3.0


def choose_units(
    ids: tf.Tensor,
    seed: tf.Tensor,
    special_ids: SpecialIds,
    share: float,
    unit: Unit,
    begins_word: Sequence[bool] = (),
    phrases: PhraseTree | None = None,
) -> tf.Tensor:
    """Returns where a token is chosen: boolean (B, L), never at special ids.

    Args:
        ids: Padded rows int32 (B, L).
        seed: int64 (2,).
        special_ids: Those of the vocabulary.
        share: Share of a row's tokens of text that are chosen; at least one is.
        unit: What is chosen as a whole; spans have a geometric length of three tokens on average,
            and the last one is cut where the share is reached.
        begins_word: For each id whether it begins a word; only for whole words and phrases.
        phrases: The phrases; what belongs to none is chosen as whole words.
    """
    borders, choosing = tf.unstack(tf.random.split(seed, 2, alg="philox"))
    has_text = is_text(ids, special_ids)
    if unit in ("whole-words", "phrases"):
        begins = begins_words(ids, special_ids, begins_word)
    else:
        begins = ~has_text | _begins(ids, borders, unit)
    if phrases is not None:
        begins &= ~phrases.continues(ids, begins)
    number = tf.maximum(tf.cumsum(tf.cast(begins, tf.int32), axis=1) - 1, 0)  # of the token's unit
    sizes = _sizes(number, has_text)
    starts, wanted = _starts(sizes, choosing), _num_chosen(has_text, share)[:, None]
    if unit == "spans":
        # The last span is cut at the number wanted.
        before = tf.cumsum(tf.cast(has_text, tf.int32), axis=1, exclusive=True)
        moved = starts - tf.cumsum(sizes, axis=1, exclusive=True)
        return has_text & (before + tf.gather(moved, number, batch_dims=1) < wanted)
    # A unit that crosses the number wanted counts if more than half of it lies before.
    taken = (2 * starts + sizes <= 2 * wanted) | (starts == 0)
    return has_text & tf.gather(taken, number, batch_dims=1)


def is_text(ids: tf.Tensor, special_ids: SpecialIds) -> tf.Tensor:
    """Returns where the ids of rows (B, L) are text: boolean (B, L)."""
    return tf.reduce_all(ids[:, :, None] != sorted(special_ids.without_text), axis=-1)


def begins_words(ids: tf.Tensor, special_ids: SpecialIds, begins_word: Sequence[bool]) -> tf.Tensor:
    """Returns where a word or what is no text begins: boolean (B, L).

    A word begins after what batching adds, even if its piece has no mark of a beginning, as the
    first of a text in byte-level BPE.

    Args:
        ids: Padded rows int32 (B, L).
        special_ids: Those of the vocabulary.
        begins_word: For each id whether it begins a word after other words.
    """
    added = ~tf.reduce_all(ids[:, :, None] != sorted(special_ids.added_to_text), axis=-1)
    after_added = tf.pad(added[:, :-1], [[0, 0], [1, 0]], constant_values=True)
    return ~is_text(ids, special_ids) | after_added | tf.gather(tf.constant(begins_word), ids)


def _begins(ids: tf.Tensor, seed: tf.Tensor, unit: Unit) -> tf.Tensor:
    """Returns where a unit of tokens or spans begins: boolean (B, L)."""
    if unit == "spans":
        # Lengths are then geometric with this mean (Joshi et al. 2020).
        return tf.random.stateless_uniform(tf.shape(ids), seed, alg="philox") < 1 / _SPAN
    return tf.ones_like(ids, tf.bool)


def _sizes(unit: tf.Tensor, is_text: tf.Tensor) -> tf.Tensor:
    """Returns how many tokens of text each unit has: int32 (B, L), by its number."""
    shape = tf.shape(unit)
    cells = tf.range(shape[0])[:, None] * shape[1] + unit
    counts = tf.math.unsorted_segment_sum(
        tf.reshape(tf.cast(is_text, tf.int32), (-1,)), tf.reshape(cells, (-1,)), shape[0] * shape[1]
    )
    return tf.reshape(counts, shape)


def _starts(sizes: tf.Tensor, seed: tf.Tensor) -> tf.Tensor:
    """Returns how many tokens of text are in the units drawn before each: int32 (B, L), by number.

    Units of text are drawn in random order; all others come after them.
    """
    noise = tf.random.stateless_uniform(tf.shape(sizes), seed, alg="philox")
    order = tf.argsort(tf.where(sizes > 0, noise, 2.0), stable=True)
    starts = tf.cumsum(tf.gather(sizes, order, batch_dims=1), axis=1, exclusive=True)
    return tf.gather(starts, tf.argsort(order, stable=True), batch_dims=1)


def _num_chosen(is_text: tf.Tensor, share: float) -> tf.Tensor:
    """Returns how many places of each row are chosen: int32 (B,), at least 1 if it has text."""
    tokens = tf.reduce_sum(tf.cast(is_text, tf.int32), axis=1)
    wanted = tf.cast(tf.round(tf.cast(tokens, tf.float32) * share), tf.int32)
    return tf.minimum(tf.maximum(wanted, 1), tokens)
