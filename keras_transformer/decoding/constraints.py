"""Constraints on the next token, in `keras.ops`: log-probabilities in which whatever the options
forbid is impossible. An unused option adds nothing to the graph.
"""

from itertools import groupby

import numpy as np
from keras import ops

from keras_transformer.config.special_ids import SpecialIds
from keras_transformer.search.options import SearchOptions
from keras_transformer.tensors import Tensor

# Finite, so that its sums and products are not NaN; values below half of it are impossible.
IMPOSSIBLE = -1e30


def slots_in(source_ids: Tensor, special_ids: SpecialIds) -> Tensor | None:
    """Returns which of the vocabulary's N slots each source has: bool `(batch, N)`; None for 0."""
    if not special_ids.slots:
        return None
    return ops.any(source_ids[:, :, None] == np.array(special_ids.slots, np.int32), axis=1)


def next_log_probs(
    logits: Tensor,
    ids: Tensor,
    step: Tensor,
    options: SearchOptions,
    prefixes: Tensor | None,
    special_ids: SpecialIds,
    prompt_lengths: Tensor | None,
    slots: Tensor | None,
    limits: Tensor | None,
    has_phrases: bool,
    allowed_ids: Tensor | None,
) -> Tensor:
    """Returns the log-probability of every token as the next one of every hypothesis.

    Args:
        logits: float32 `(batch * K, vocabulary)`, K hypotheses per sentence.
        ids: int32 `(batch, K, length)`, the tokens generated; meaningless from `step` on.
        step: int32 scalar, the number of tokens generated.
        options: Which tokens are forbidden and which are forced.
        prefixes: int32 `(batch, prefix_length)`, the first tokens of each sentence, padded with -1.
        special_ids: Ids of the vocabulary that are not text.
        prompt_lengths: int32 `(batch,)`, how many tokens of each prefix are a prompt; none if None.
        slots: bool `(batch, N)`, which slots each source has; none if None.
        limits: int32 `(batch,)`, the longest translation of each; `max_length` for all if None.
        has_phrases: Whether the slots of sources are among phrases that the search looks for, so
            that here they do not delay the end.
        allowed_ids: bool `(batch, K, vocabulary)`, what a grammar allows; anything if None.

    Returns:
        float32 `(batch, K, vocabulary)` in nats, `IMPOSSIBLE` for forbidden tokens. A forced token
        is the only possible one and keeps its log-probability even if it is forbidden; one of a
        prompt has a log-probability of 0.
    """
    beams, length = ops.shape(ids)[1:]
    generated = ops.reshape(ids, (-1, length))
    if options.repetition_penalty != 1:
        logits = _penalize(logits, generated, step, options.repetition_penalty)
    log_probs = ops.log_softmax(logits, axis=-1)
    new = step
    if prompt_lengths is not None:
        new = ops.repeat(step - prompt_lengths, beams)[:, None]  # [B K, 1]
    allowed = _forbid(log_probs, generated, step, new, options, special_ids)
    if allowed_ids is not None:
        rows = ops.reshape(allowed_ids, (-1, logits.shape[-1]))
        allowed = ops.where(rows, allowed, IMPOSSIBLE)
    if special_ids.slots:
        most = options.max_length if limits is None else ops.repeat(limits, beams)
        asked = None if slots is None else ops.repeat(slots, beams, axis=0)
        forbidden = _forbidden_by_slots(
            allowed, generated, step, most, asked, special_ids, not has_phrases
        )
        allowed = ops.where(forbidden, IMPOSSIBLE, allowed)
    forced = _forced(step, options, prefixes, beams, prompt_lengths)
    if forced is not None:
        own = log_probs if prompt_lengths is None else ops.where(new < 0, 0.0, log_probs)
        only = ops.where(ops.arange(logits.shape[-1]) == forced, own, IMPOSSIBLE)
        allowed = ops.where(forced < 0, allowed, only)
    return ops.reshape(allowed, (-1, beams, logits.shape[-1]))


def _penalize(logits: Tensor, generated: Tensor, step: Tensor, penalty: float) -> Tensor:
    """Divides positive logits of generated tokens by the penalty, multiplies negative ones by it.

    Each token is penalized once.
    """
    old = ops.arange(ops.shape(generated)[1], dtype="int32") < step
    # Positions not generated yet repeat the first token; before there is one, nothing changes.
    tokens = ops.where(old, generated, generated[:, :1])
    values = ops.take_along_axis(logits, tokens, axis=1)
    penalized = ops.where(values > 0, values / penalty, values * penalty)
    return write(logits, tokens, ops.where(step > 0, penalized, values))


def _forbid(
    log_probs: Tensor,
    generated: Tensor,
    step: Tensor,
    new: Tensor,
    options: SearchOptions,
    special_ids: SpecialIds,
) -> Tensor:
    """Makes impossible whatever the options forbid, padding and the start token.

    `new` is the number of tokens generated after the prompt: `step` without one, else for each row.
    """
    vocabulary = np.arange(log_probs.shape[-1])
    alone = [row[0] for row in options.banned_sequences if len(row) == 1]
    never = [*sorted(special_ids.never_generated), *alone]
    log_probs = ops.where(np.isin(vocabulary, never), IMPOSSIBLE, log_probs)
    if options.min_length > 0:
        too_early = ops.logical_and(vocabulary == special_ids.eos, new < options.min_length)
        log_probs = ops.where(too_early, IMPOSSIBLE, log_probs)
    size = options.no_repeat_ngram_size
    if size > 0:
        tokens = _repeating(generated, step, size, special_ids.pad)
        log_probs = write(log_probs, tokens, ops.full_like(tokens, IMPOSSIBLE, dtype="float32"))
    longer = sorted((row for row in options.banned_sequences if len(row) > 1), key=len)
    for _, rows in groupby(longer, key=len):
        tokens = _completing(generated, step, np.array(list(rows), np.int32), special_ids.pad)
        log_probs = write(log_probs, tokens, ops.full_like(tokens, IMPOSSIBLE, dtype="float32"))
    return log_probs


def _repeating(generated: Tensor, step: Tensor, size: int, pad: int) -> Tensor:
    """Returns tokens that would repeat an n-gram: `(rows, n-grams)`, filled with padding."""
    count = ops.maximum(ops.shape(generated)[1] - size + 1, 0)
    last = _newest(generated, step, size - 1)
    repeats = ops.arange(count, dtype="int32") + size <= step
    for place in range(size - 1):
        same = generated[:, place : place + count] == last[:, place : place + 1]
        repeats = ops.logical_and(repeats, same)
    return ops.where(repeats, generated[:, size - 1 :], pad)


def _completing(generated: Tensor, step: Tensor, banned: np.ndarray, pad: int) -> Tensor:
    """Returns tokens that would complete a banned sequence: `(rows, S)`, filled with padding.

    `banned` holds the sequences `(S, width)`.
    """
    width = banned.shape[1] - 1
    last = _newest(generated, step, width)
    there = ops.all(last[:, None, :] == banned[None, :, :-1], axis=-1)
    return ops.where(ops.logical_and(there, step >= width), banned[:, -1], pad)


def _newest(generated: Tensor, step: Tensor, count: int) -> Tensor:
    """Returns the last `count` tokens generated: `(rows, count)`, meaningless if fewer exist."""
    places = ops.arange(count, dtype="int32") + (step - count)
    return ops.take(generated, ops.maximum(places, 0), axis=1)


def write(rows: Tensor, tokens: Tensor, values: Tensor) -> Tensor:
    """Returns rows in which `rows[i, tokens[i, j]]` is `values[i, j]`."""
    numbers = ops.broadcast_to(ops.arange(ops.shape(tokens)[0])[:, None], ops.shape(tokens))
    places = ops.reshape(ops.stack([numbers, tokens], axis=-1), (-1, 2))
    return ops.scatter_update(rows, places, ops.reshape(values, (-1,)))


def _forced(
    step: Tensor,
    options: SearchOptions,
    prefixes: Tensor | None,
    beams: int,
    prompt_lengths: Tensor | None,
) -> Tensor | None:
    """Returns the token forced at `step`, or -1: a scalar or `(rows, 1)`; None if none ever is."""
    forced = None
    if prefixes is None and not options.forced_tokens:
        return None
    if options.forced_tokens:
        table = np.full(max(place for place, _ in options.forced_tokens) + 2, -1, np.int32)
        for place, token in options.forced_tokens:
            table[place] = token
        place = step if prompt_lengths is None else step - prompt_lengths
        # Before the first new token the last entry, -1, is looked up.
        place = ops.where(place < 0, len(table) - 1, ops.minimum(place, len(table) - 1))
        forced = ops.take(ops.convert_to_tensor(table), place)
    if prefixes is not None:
        length = ops.shape(prefixes)[1]
        token = ops.take(prefixes, ops.minimum(step, length - 1), axis=1)
        token = ops.where(step < length, token, -1)
        token = ops.where(token < 0, -1 if forced is None else forced, token)
        forced = token
    is_per_sentence = prefixes is not None or prompt_lengths is not None
    return ops.repeat(forced, beams)[:, None] if is_per_sentence else forced


def _forbidden_by_slots(
    log_probs: Tensor,
    generated: Tensor,
    step: Tensor,
    limits: Tensor,
    asked: Tensor | None,
    special_ids: SpecialIds,
    forces: bool,
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
        forces: Whether they are forced; if not, only the others are forbidden.
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
    if not forces:
        return ~(is_left | is_other)
    best = ops.max(ops.where(is_left | is_other, log_probs, -np.inf), axis=1)
    would_end = log_probs[:, special_ids.eos] >= best
    only = (counts > 0) & (would_end | (limits - step <= counts))
    is_early = (counts > 0)[:, None] & (vocabulary == special_ids.eos)
    return is_early | ~(is_left | (is_other & ~only[:, None]))
