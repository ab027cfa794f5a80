"""The constraint on slots, in `keras.ops`: a translation has each slot of its source once."""

import numpy as np
from keras import ops

from keras_transformer.config.special_ids import SpecialIds
from keras_transformer.tensors import Tensor


def slots_in(source_ids: Tensor, special_ids: SpecialIds) -> Tensor | None:
    """Returns which of the vocabulary's N slots each source has: bool `(batch, N)`; None for 0."""
    if not special_ids.slots:
        return None
    return ops.any(source_ids[:, :, None] == np.array(special_ids.slots, np.int32), axis=1)


def forbidden_by_slots(
    log_probs: Tensor,
    generated: Tensor,
    step: Tensor,
    limits: Tensor,
    asked: Tensor | None,
    special_ids: SpecialIds,
) -> Tensor:
    """Returns what the slots of the sources forbid: bool `(rows, vocabulary)`.

    A slot that the source lacks, or that was written, is forbidden, and so is the end before all
    are written: where it would come next, or no more tokens are allowed than slots are left, one of
    these comes instead.

    Args:
        log_probs: float32 `(rows, vocabulary)`.
        generated: int32 `(rows, length)`, the tokens so far; meaningless from `step` on.
        step: int32 scalar, the number of tokens so far.
        limits: int32, the longest translation: a scalar, or `(rows,)`.
        asked: bool `(rows, N)`, which slots the source of each row has; None for none.
        special_ids: Ids of the vocabulary that are not text, and its slots.
    """
    slots = np.array(special_ids.slots, np.int32)
    vocabulary = np.arange(log_probs.shape[-1])
    if asked is None:
        return ops.convert_to_tensor(np.isin(vocabulary, slots)[None])
    old = ops.arange(ops.shape(generated)[1], dtype="int32") < step
    written = ops.any((generated[:, :, None] == slots) & old[None, :, None], axis=1)
    left = asked & ~written  # [rows, N]
    counts = ops.sum(ops.cast(left, "int32"), axis=1)
    # Every token's place among the slots; those that are none look up the last column, False.
    places = np.full(log_probs.shape[-1], len(slots))
    places[slots] = np.arange(len(slots))
    is_left = ops.take(ops.pad(left, [[0, 0], [0, 1]]), places, axis=1)  # [rows, vocabulary]
    is_other = ~np.isin(vocabulary, slots)
    best = ops.max(ops.where(is_left | is_other, log_probs, -np.inf), axis=1)
    would_end = log_probs[:, special_ids.eos] >= best
    only = (counts > 0) & (would_end | (limits - step <= counts))
    is_early = (counts > 0)[:, None] & (vocabulary == special_ids.eos)
    return is_early | ~(is_left | (is_other & ~only[:, None]))
