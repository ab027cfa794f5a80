"""Boolean masks, True where attention is allowed: built once from the ids and passed explicitly."""

from typing import Any

from keras import ops

from keras_transformer.config.special_ids import SpecialIds

Tensor = Any


def padding_mask(ids: Tensor, pad_id: int = SpecialIds.pad) -> Tensor:
    """Marks the real tokens of a batch.

    Args:
        ids: Token ids `(batch, length)`, integer.
        pad_id: The id that fills rows up.

    Returns:
        Boolean `(batch, length)`, True where the id is no padding.
    """
    return ops.not_equal(ids, pad_id)


def target_padding_mask(ids: Tensor, special_ids: SpecialIds) -> Tensor:
    """Marks the real tokens of what a decoder reads.

    Where padding is also the id that the decoder starts with, as T5 has it, the first place of
    each row is real; such rows must be padded on the right.

    Args:
        ids: Token ids `(batch, length)`, integer.
        special_ids: Says what padding is and what the decoder starts with.

    Returns:
        Boolean `(batch, length)`.
    """
    keep = padding_mask(ids, special_ids.pad)
    if special_ids.decoder_start != special_ids.pad:
        return keep
    # Not arange: the length is unknown where a functional model is built.
    return ops.logical_or(keep, ops.equal(ops.cumsum(ops.ones_like(ids), axis=1), 1))


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
