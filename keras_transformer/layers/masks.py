"""Boolean masks, True where attention is allowed, which are passed explicitly; and the softmax
under a mask.
"""

import keras
from keras import ops

from keras_transformer.config.special_ids import SpecialIds
from keras_transformer.tensors import Tensor


def padding_mask(ids: Tensor, pad_id: int = SpecialIds.pad) -> Tensor:
    """Marks the real tokens of a batch.

    Args:
        ids: Token ids `(batch, length)`, integer.
        pad_id: The id that fills rows.

    Returns:
        Boolean `(batch, length)`, True where the id is not padding.
    """
    return ops.not_equal(ids, pad_id)


def target_padding_mask(ids: Tensor, special_ids: SpecialIds) -> Tensor:
    """Marks the real tokens of a decoder's input.

    If the padding id is also the decoder's start id, as in T5, the first position of each row is a
    real token; such rows must be padded on the right.

    Args:
        ids: Token ids `(batch, length)`, integer.
        special_ids: The ids of padding and of the decoder's start.

    Returns:
        Boolean `(batch, length)`.
    """
    keep = padding_mask(ids, special_ids.pad)
    if special_ids.decoder_start != special_ids.pad:
        return keep
    # Not arange: the length is unknown when a functional model is built.
    return ops.logical_or(keep, ops.equal(ops.cumsum(ops.ones_like(ids), axis=1), 1))


def attention_mask(keep_mask: Tensor, causal: bool = False) -> Tensor:
    """Broadcasts a padding mask over the keys of attention, with a causal mask if `causal`.

    Args:
        keep_mask: Boolean `(batch, key_length)`, True at real tokens.
        causal: Whether a query may attend only to keys at or before its own position (section
            3.2.3); queries and keys are then the same sequence.

    Returns:
        Boolean `(batch, 1, 1, key_length)`, or `(batch, 1, length, length)` if `causal`.
    """
    keep_keys = ops.expand_dims(keep_mask, (1, 2))
    if not causal:
        return keep_keys
    return ops.logical_and(keep_keys, causal_mask(ops.shape(keep_mask)[1]))


def causal_mask(length: int | Tensor) -> Tensor:
    """Returns boolean `(length, length)`: row i is True in columns 0 to i."""
    places = ops.arange(length)
    return places[:, None] >= places[None, :]


def near_mask(queries: Tensor, keys: Tensor, first_place: Tensor | int, window: int) -> Tensor:
    """Returns which keys stand fewer than `window` places away from a query.

    Args:
        queries: `(…, target_length, width)`.
        keys: `(…, source_length, width)`, from place 0 on.
        first_place: int32 scalar, the place of the first query.
        window: As many places, of which one is the query's own.

    Returns:
        Boolean `(target_length, source_length)`.
    """
    own = ops.arange(ops.shape(queries)[-2], dtype="int32") + first_place
    others = ops.arange(ops.shape(keys)[-2], dtype="int32")
    return ops.abs(own[:, None] - others[None, :]) < window


def places_seen(cache: Tensor, step: Tensor, count: Tensor) -> Tensor:
    """Returns which places of a cache each of `count` new ones attends to, from `step` on.

    Returns:
        Boolean `(1, 1, count, cache_length)`: its own place and those before it.
    """
    places = ops.arange(ops.shape(cache)[2], dtype="int32")
    own = step + ops.arange(count, dtype="int32")
    return (places[None, :] <= own[:, None])[None, None]


def masked_softmax(scores: Tensor, keep_mask: Tensor | None) -> Tensor:
    """Softmax over the last axis among the allowed entries.

    Args:
        scores: `(..., queries, keys)`, floating.
        keep_mask: Boolean, broadcasts to `scores`; True where allowed. None allows all.

    Returns:
        Weights shaped as `scores`: exactly 0 where not allowed, and a row of zeros where
        nothing is allowed.
    """
    if scores.shape[-1] == 1:
        # A single key gets all weight; Keras warns about a softmax over a single entry.
        weights = ops.ones_like(scores)
        return weights if keep_mask is None else weights * ops.cast(keep_mask, weights.dtype)
    if keep_mask is None:
        return ops.softmax(scores, axis=-1)
    if keras.backend.standardize_dtype(scores.dtype) == "float16":
        # It has no number to add that makes every score less than every other. This is its lowest:
        # -∞ would make NaN of a row where nothing is allowed.
        allowed = ops.where(keep_mask, scores, ops.cast(-65504, scores.dtype))
        return ops.softmax(allowed, axis=-1) * ops.cast(keep_mask, scores.dtype)
    # Adding a bias broadcasts faster than selecting.
    bias = ops.where(keep_mask, ops.cast(0, scores.dtype), ops.cast(-1e9, scores.dtype))
    weights = ops.softmax(scores + bias, axis=-1)
    return weights * ops.cast(ops.any(keep_mask, axis=-1, keepdims=True), weights.dtype)


def has_keys(keep_mask: Tensor, dtype: str) -> Tensor:
    """Returns 1 for each query with a key to attend to, else 0: `(…, target_length, 1)`."""
    found = ops.any(keep_mask, axis=-1, keepdims=True)
    if len(found.shape) > 2:
        found = ops.any(found, axis=-3)
    return ops.cast(found, dtype)
