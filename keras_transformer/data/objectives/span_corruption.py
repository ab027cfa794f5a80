"""Span corruption (Raffel et al. 2020, sections 3.1.4 and 3.3): spans of a text are replaced by
sentinels, and a translation's model writes what each stands for.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import tensorflow as tf

from keras_transformer.config.special_ids import SpecialIds
from keras_transformer.data.objectives.choosing import choose_units
from keras_transformer.data.objectives.objective import Batch, Rows, written_batch


@dataclass(frozen=True)
class SpanCorruption:
    """Replaces spans of rows `decoder_start text eos` by sentinels in order.

    The source is the text with a sentinel for each span, then eos. The target is each sentinel with
    its span, then the next sentinel and eos. Spans beyond the sentinels stay in the source.

    Args:
        special_ids: Those of the vocabulary.
        sentinels: The ids of the sentinels, in order.
        share: Share of a row's tokens that are hidden.

    Raises:
        ValueError: There are fewer than two sentinels, or `share` is not between 0 and 1.
    """

    special_ids: SpecialIds
    sentinels: Sequence[int]
    share: float = 0.15

    def __post_init__(self) -> None:
        if len(self.sentinels) < 2:
            raise ValueError(
                f"a text needs two sentinels or more, and the vocabulary has {len(self.sentinels)} "
                "(train_tokenizer(..., num_sentinels=100))."
            )
        if not 0 < self.share < 1:
            raise ValueError(f"share must lie between 0 and 1, got {self.share}.")

    def __call__(self, rows: Rows, seed: tf.Tensor) -> Batch:
        """Returns inputs `source_ids` and `target_ids`, the target's next tokens, and weights."""
        pad, sentinels = self.special_ids.pad, tf.constant(self.sentinels, tf.int32)
        text = rows.token_ids[:, 1:]  # text eos
        is_end = text == self.special_ids.eos
        hidden = choose_units(text, seed, self.special_ids, self.share, "spans")
        number = tf.cumsum(tf.cast(_begins(hidden), tf.int32), axis=1)  # from 1, of the newest span
        # One sentinel ends the target.
        hidden &= number < len(self.sentinels)
        begins = _begins(hidden)
        count = tf.cumsum(tf.cast(begins, tf.int32), axis=1)
        # Behind the last span the next sentinel.
        sentinel = tf.gather(sentinels, tf.where(is_end, count, tf.maximum(count - 1, 0)))
        kept = (text != pad) & (~hidden | begins)
        source = tf.ragged.boolean_mask(tf.where(begins, sentinel, text), kept)
        # A span is its sentinel and its tokens, the end of a row a sentinel and eos.
        both = tf.stack([sentinel, text], axis=2)
        written = tf.stack([begins | is_end, hidden | is_end], axis=2)
        flat = (tf.shape(text)[0], -1)
        target = tf.ragged.boolean_mask(tf.reshape(both, flat), tf.reshape(written, flat))
        return written_batch(rows, source, target, pad)


def _begins(hidden: tf.Tensor) -> tf.Tensor:
    """Returns where a span begins: boolean (B, L)."""
    return hidden & ~tf.pad(hidden[:, :-1], [[0, 0], [1, 0]])
