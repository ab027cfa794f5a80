"""Masked language modelling (Devlin et al. 2018): tokens are hidden, and the model names them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import get_args

import numpy as np
import numpy.typing as npt
import tensorflow as tf

from keras_transformer.config.checks import check_choice
from keras_transformer.config.special_ids import SpecialIds
from keras_transformer.data.objectives.choosing import Unit, begins_words, choose_units
from keras_transformer.data.objectives.objective import Batch, Rows
from keras_transformer.data.objectives.phrases import PhraseTree

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
        unit: What is chosen as a whole: "tokens", "whole-words", "spans" of three tokens on
            average, of geometric length, or given "phrases" and the words that are in none.
        begins_word: For each id whether it begins a word; only for whole words and phrases.
        phrases: The phrases, with that unit.

    Raises:
        ValueError: The vocabulary has no mask, `share` is not between 0 and 1, the unit is
            unknown, or `begins_word` or `phrases` is missing.
    """

    special_ids: SpecialIds
    vocab_size: int
    has_token_types: bool = True
    share: float = 0.15
    unit: Unit = "tokens"
    begins_word: Sequence[bool] = ()
    phrases: PhraseTree | None = None

    def __post_init__(self) -> None:
        if self.special_ids.mask is None:
            raise ValueError(
                "the vocabulary has no <mask>: a masked language model needs one that was trained "
                "with it (train_tokenizer(..., has_mask=True))."
            )
        if not 0 < self.share < 1:
            raise ValueError(f"share must lie between 0 and 1, got {self.share}.")
        check_choice("masking", self.unit, get_args(Unit))
        if (self.unit == "phrases") != (self.phrases is not None):
            raise ValueError(
                f"masking='phrases' needs phrases, and nothing else does, got {self.unit!r} with "
                f"phrases={self.phrases!r}."
            )
        if self.unit in ("whole-words", "phrases") and len(self.begins_word) != self.vocab_size:
            raise ValueError(
                f"begins_word must say of each of {self.vocab_size} ids whether it begins a word, "
                f"got {len(self.begins_word)} values."
            )

    def __call__(self, rows: Rows, seed: tf.Tensor) -> Batch:
        """Returns inputs `token_ids`, `places` (and `token_type_ids`), the hidden ids, weights."""
        ids = rows.token_ids
        choosing, fate, drawn = tf.unstack(tf.random.split(seed, 3, alg="philox"))
        chosen = choose_units(
            ids,
            choosing,
            self.special_ids,
            self.share,
            self.unit,
            self.begins_word,
            self.phrases,
        )
        places, weights = chosen_places(chosen)
        labels = tf.gather(ids, places, batch_dims=1)
        hidden = tf.where(chosen, self._replacements(ids, fate, drawn), ids)
        inputs = {"token_ids": hidden, "places": places}
        if self.has_token_types:
            inputs["token_type_ids"] = rows.token_type_ids
        return inputs, labels, weights

    def count_phrases(self, ids: npt.NDArray[np.int32]) -> int:
        """Returns how many of the phrases are hidden as a whole in rows that follow each other."""
        row = tf.constant(ids, tf.int32)[None]
        begins = begins_words(row, self.special_ids, self.begins_word)
        return 0 if self.phrases is None else self.phrases.count_found(row, begins)

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
