"""Boolean masks, True where attention is allowed: built once from the ids and passed explicitly."""

from typing import Any

from keras import ops

from keras_transformer.special_ids import PAD_ID

Tensor = Any


def padding_mask(ids: Tensor) -> Tensor:
    """Marks the real tokens of a batch.

    Args:
        ids: Token ids `(batch, length)`, integer.

    Returns:
        Boolean `(batch, length)`, True where the id is no padding.
    """
    return ops.not_equal(ids, PAD_ID)


def attention_mask(keep_mask: Tensor, causal: bool = False) -> Tensor:
    """Spreads a padding mask over the keys of attention, with the causal mask where asked.

    Args:
        keep_mask: Boolean `(batch, key_length)`, True at real tokens.
        causal: Whether a query may see only keys at or before its own place (section 3.2.3);
            queries and keys are then the same sequence.

    Returns:
        Boolean `(batch, 1, 1, key_length)`, or `(batch, 1, length, length)` where causal.
    """
    keep_keys = keep_mask[:, None, None, :]
    if not causal:
        return keep_keys
    return ops.logical_and(keep_keys, causal_mask(ops.shape(keep_mask)[1])[None, None])


def causal_mask(length: int | Tensor) -> Tensor:
    """Returns boolean `(length, length)`: row i is True in columns 0 to i."""
    places = ops.arange(length)
    return places[:, None] >= places[None, :]
