"""Fillings of masks in a graph: the most probable rows without masks."""

from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from keras_transformer.artefact.signatures import LOWEST
from keras_transformer.config.special_ids import SpecialIds
from keras_transformer.tensors import Tensor

# What sums of log-probabilities stay above and sums with something impossible below.
_IMPOSSIBLE = -1e30


class Fillings(NamedTuple):
    """The N best fillings of each row, best first.

    A row without a mask has one filling, itself, of score 0. A missing filling has no tokens and
    the lowest finite number as its score.
    """

    ids: Tensor  # int32 [B, N, T], the whole row
    tokens: Tensor  # int32 [B, N, M], what each of at most M masks was filled with, padded
    scores: Tensor  # float32 [B, N], log-probabilities in nats


def fill_masks(
    head: Any,
    token_ids: Tensor,
    states: Tensor,
    special_ids: SpecialIds,
    *,
    num_hypotheses: int,
    vocab_size: int,
) -> Fillings:
    """Fills in the masks of each row, as if each were independent of the others.

    Args:
        head: Takes states `(batch, masks, model_dim)`, returns logits over the vocabulary.
        token_ids: int32 `(batch, length)`.
        states: float32 `(batch, length, model_dim)`.
        special_ids: The model's.
        num_hypotheses: N, no more than there are ids of text.
        vocab_size: Number of ids.
    """
    masked = token_ids == special_ids.mask
    places = _mask_places(masked)
    logits = head(tf.gather(states, places, batch_dims=1))
    log_probs = tf.nn.log_softmax(logits)
    special = np.isin(np.arange(vocab_size), sorted(special_ids.without_text))
    values, tokens = tf.math.top_k(tf.where(special, _IMPOSSIBLE, log_probs), num_hypotheses)
    there = tf.gather(masked, places, batch_dims=1)
    # A place that is no mask has one candidate, which is not written.
    nothing = tf.where(tf.range(num_hypotheses) == 0, 0.0, _IMPOSSIBLE)
    values = tf.where(there[:, :, None], values, nothing)
    tokens = tf.where(there[:, :, None], tokens, special_ids.pad)
    chosen, scores = _best_together(values, tokens, special_ids.pad)
    possible = scores > _IMPOSSIBLE / 2
    chosen = tf.where(possible[:, :, None], chosen, special_ids.pad)
    return Fillings(
        ids=tf.where(possible[:, :, None], _written(token_ids, masked, chosen), special_ids.pad),
        tokens=chosen,
        scores=tf.where(possible, scores, LOWEST),
    )


def _mask_places(masked: Tensor) -> Tensor:
    """Returns the masks' places in order: int32 `(batch, most masks of a row)`.

    Rows with fewer masks are filled up with other places.
    """
    most = tf.reduce_max(tf.reduce_sum(tf.cast(masked, tf.int32), axis=1, keepdims=True))
    order = tf.argsort(tf.cast(~masked, tf.int32), axis=1, stable=True)
    return order[:, : tf.maximum(most, 0)]


def _best_together(values: Tensor, tokens: Tensor, pad: int) -> tuple[Tensor, Tensor]:
    """Combines the best tokens of each mask to the best rows of tokens.

    Args:
        values: float32 `(batch, masks, N)`, log-probabilities.
        tokens: int32 `(batch, masks, N)`.
        pad: Fills up what is not written.

    Returns:
        Tokens int32 `(batch, N, masks)` and their sums float32 `(batch, N)`, best first.
    """
    batch, masks, count = tf.shape(values)[0], tf.shape(values)[1], values.shape[2]
    first = tf.where(tf.range(count) == 0, 0.0, _IMPOSSIBLE)
    scores = tf.broadcast_to(first, (batch, count))
    chosen = tf.fill((batch, count, masks), pad)

    def add(place: Tensor, chosen: Tensor, scores: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        totals = scores[:, :, None] + values[:, place, None, :]  # [B, N, N]
        scores, best = tf.math.top_k(tf.reshape(totals, (-1, count * count)), count)
        parents, children = best // count, best % count
        added = tf.gather(tokens[:, place], children, batch_dims=1)
        chosen = tf.gather(chosen, parents, batch_dims=1)
        here = tf.range(masks) == place
        return place + 1, tf.where(here, added[:, :, None], chosen), scores

    _, chosen, scores = tf.while_loop(
        lambda place, *_: place < masks,
        add,
        (tf.constant(0), chosen, scores),
        shape_invariants=(
            tf.TensorShape(()),
            tf.TensorShape((None, count, None)),
            tf.TensorShape((None, count)),
        ),
    )
    return chosen, scores


def _written(token_ids: Tensor, masked: Tensor, chosen: Tensor) -> Tensor:
    """Returns each row once for each filling, int32 `(batch, N, length)`."""
    number = tf.maximum(tf.cumsum(tf.cast(masked, tf.int32), axis=1) - 1, 0)
    # A column at the end, so that there is one even if no row has a mask.
    wider = tf.pad(chosen, [[0, 0], [0, 0], [0, 1]])
    tokens = tf.gather(wider, number, axis=2, batch_dims=1)
    return tf.where(masked[:, None], tokens, token_ids[:, None])
