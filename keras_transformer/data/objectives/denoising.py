"""Denoising (Lewis et al. 2020): spans of a text are hidden, and a translation's model writes the
whole text.
"""

from dataclasses import dataclass

import tensorflow as tf

from keras_transformer.config.special_ids import SpecialIds
from keras_transformer.data.objectives.choosing import choose_units
from keras_transformer.data.objectives.objective import Batch, Rows


@dataclass(frozen=True)
class Denoising:
    """Replaces spans of rows `decoder_start text eos` by one mask each; the text is the target.

    Args:
        special_ids: Those of the vocabulary, with a mask.
        share: Share of a row's tokens that are hidden.

    Raises:
        ValueError: The vocabulary has no mask, or `share` is not between 0 and 1.
    """

    special_ids: SpecialIds
    share: float = 0.3

    def __post_init__(self) -> None:
        if self.special_ids.mask is None:
            raise ValueError("the vocabulary has no <mask>, which denoising needs.")
        if not 0 < self.share < 1:
            raise ValueError(f"share must lie between 0 and 1, got {self.share}.")

    def __call__(self, rows: Rows, seed: tf.Tensor) -> Batch:
        """Returns inputs `source_ids` and `target_ids`, the target's next tokens, and weights."""
        pad, mask = self.special_ids.pad, self.special_ids.mask
        labels = rows.token_ids[:, 1:]  # text eos
        is_label = labels != pad
        hidden = choose_units(labels, seed, self.special_ids, self.share, "spans")
        goes_on = hidden & tf.pad(hidden[:, :-1], [[0, 0], [1, 0]])
        masked = tf.where(hidden, tf.constant(mask, tf.int32), labels)
        source = tf.ragged.boolean_mask(masked, is_label & ~goes_on).to_tensor(default_value=pad)
        target_ids = tf.where(is_label, rows.token_ids[:, :-1], pad)
        inputs = {"source_ids": source, "target_ids": target_ids}
        return inputs, labels, tf.cast(is_label, tf.float32)
