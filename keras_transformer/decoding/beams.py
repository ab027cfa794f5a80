"""One step of beam search: extends every hypothesis, separates those that ended, and keeps the best
open and the best finished ones. With one beam this is greedy search.
"""

import keras
from keras import ops

from keras_transformer.decoding.constraints import IMPOSSIBLE, write
from keras_transformer.decoding.hypotheses import (
    SearchState,
    Sentences,
    Stepper,
    counted_length,
    is_possible,
    rows_of,
    step_model,
    take_hypotheses,
    write_tokens,
)
from keras_transformer.search.options import SearchOptions, length_penalty
from keras_transformer.search.phrase_banks import (
    Arrays,
    Continued,
    best_in_banks,
    most_of_each,
    reached,
    tokens_needed,
)
from keras_transformer.tensors import Tensor

TENSORS = Arrays(ops, ops.top_k, IMPOSSIBLE)


def advance_beams(
    stepper: Stepper, state: SearchState, sentences: Sentences, options: SearchOptions
) -> SearchState:
    """Returns the state after one more token."""
    beams = state.ids.shape[1]
    log_probs, model = step_model(stepper, state, sentences, options)
    if sentences.phrases is None:
        totals, parents, tokens = _best_continuations(state, log_probs, 2 * beams)
    else:
        eos = stepper.special_ids.eos
        totals, parents, tokens = _continuations_in_banks(state, log_probs, sentences, options, eos)
    length = state.step + 1
    counted = counted_length(length, sentences)
    exponents = sentences.length_penalties
    penalty = length_penalty(counted, options, exponents, minimum=ops.minimum)
    penalty = ops.reshape(penalty, (-1, 1))  # [B, 1], or [1, 1] for all
    parent_ids = take_hypotheses(state.ids, parents)
    hypotheses = write_tokens(parent_ids, tokens, state.step)
    ended = tokens == stepper.special_ids.eos

    may_finish = ended & (ops.arange(2 * beams) < beams) & ~state.done[:, None]
    state = _finish(state, hypotheses, totals, may_finish, penalty)

    totals, kept = _first_open(totals, ended, beams, is_sorted=sentences.phrases is None)
    open_ids = take_hypotheses(hypotheses, kept)
    parents = take_hypotheses(parents, kept)
    limits = options.max_length if sentences.limits is None else sentences.limits
    cut_off = ops.logical_and(length == limits, ~state.done)[:, None]
    cut_off = ops.broadcast_to(cut_off, ops.shape(totals))
    state = _finish(state, open_ids, totals, cut_off, penalty)
    rows = ops.reshape(rows_of(parents, beams), (-1,))
    return state._replace(
        step=length,
        ids=open_ids,
        log_probabilities=totals,
        done=_find_done(state, _best(totals, sentences), length, sentences, options),
        model=keras.tree.map_structure(lambda part: ops.take(part, rows, axis=0), model),
    )


def end_beams(
    state: SearchState, ends: Tensor, sentences: Sentences, options: SearchOptions
) -> SearchState:
    """Returns the state after the end of open hypotheses `ends`, bool `(batch, K)`."""
    counted = counted_length(state.step, sentences)
    exponents = sentences.length_penalties
    penalty = length_penalty(counted, options, exponents, minimum=ops.minimum)
    totals = state.log_probabilities
    ends = ends & ~state.done[:, None]
    state = _finish(state, state.ids, totals, ends, ops.reshape(penalty, (-1, 1)))
    totals = ops.where(ends, IMPOSSIBLE, totals)
    done = _find_done(state, ops.max(totals, axis=1), state.step, sentences, options)
    return state._replace(log_probabilities=totals, done=done)


def _best_continuations(
    state: SearchState, log_probs: Tensor, count: int
) -> tuple[Tensor, Tensor, Tensor]:
    """Returns the best one-token extensions: totals, parents, tokens, each `(batch, count)`."""
    beams, vocabulary = log_probs.shape[1:]
    totals = ops.reshape(state.log_probabilities[:, :, None] + log_probs, (-1, beams * vocabulary))
    totals, places = ops.top_k(totals, count)
    return totals, places // vocabulary, places % vocabulary


def _continuations_in_banks(
    state: SearchState, log_probs: Tensor, sentences: Sentences, options: SearchOptions, eos: int
) -> Continued:
    """Returns the continuations of open hypotheses, those first that are to be kept.

    Args:
        state: The search's state.
        log_probs: float32 `(batch, K, vocabulary)`, of each token as the next one.
        sentences: Phrases, prompts and limits of the sentences.
        options: What to search for.
        eos: The end token.
    """
    beams, vocabulary = log_probs.shape[1:]
    batch = ops.shape(log_probs)[0]
    totals = ops.reshape(state.log_probabilities[:, :, None] + log_probs, (-1, vocabulary))
    flat = ops.reshape(sentences.phrases, (batch, -1))
    # What fills phrases up stands for their first token.
    places = ops.repeat(ops.where(flat < 0, flat[:, :1], flat), beams, axis=0)
    spoken = ops.reshape(ops.take_along_axis(totals, places, 1), (batch, beams, -1))
    nothing = ops.full_like(places, IMPOSSIBLE, dtype="float32")
    count = min(vocabulary, beams + 1)
    values, tokens = ops.top_k(write(totals, places, nothing), count)
    begins = sentences.prompt_lengths
    if begins is None:
        begins = ops.zeros((batch,), "int32")
    limits = options.max_length if sentences.limits is None else sentences.limits
    room = ops.broadcast_to(limits - state.step - 1, (batch,))
    held = reached(ops, sentences.phrases, state.ids, begins, state.step)
    needed = tokens_needed(ops, held)
    banks = ops.shape(flat)[1] + 1
    most = most_of_each(TENSORS, needed[0], state.log_probabilities, room, banks, beams)
    values = ops.reshape(values, (batch, beams, count))
    values = ops.where(ops.arange(count) < most[:, None, None], values, IMPOSSIBLE)
    others = values, ops.reshape(tokens, (batch, beams, count))
    return best_in_banks(TENSORS, sentences.phrases, needed, others, spoken, room, eos, 2 * beams)


def _first_open(
    totals: Tensor, ended: Tensor, beams: int, *, is_sorted: bool
) -> tuple[Tensor, Tensor]:
    """Returns the totals of the first continuations that go on, and their places: `(batch, K)`."""
    if is_sorted:
        return ops.top_k(ops.where(ended, IMPOSSIBLE, totals), beams)
    count = totals.shape[1]
    _, kept = ops.top_k(ops.where(ended, -count, -ops.arange(count, dtype="int32")), beams)
    return ops.take_along_axis(ops.where(ended, IMPOSSIBLE, totals), kept, 1), kept


def _best(totals: Tensor, sentences: Sentences) -> Tensor:
    """Returns the best open log-probability of each sentence."""
    return totals[:, 0] if sentences.phrases is None else ops.max(totals, axis=1)


def _finish(
    state: SearchState, ids: Tensor, totals: Tensor, ends: Tensor, penalty: Tensor
) -> SearchState:
    """Merges the hypotheses that end at this step into the finished ones and keeps the best."""
    scores = ops.where(ends & is_possible(totals), totals / penalty, IMPOSSIBLE)
    beams = state.finished_scores.shape[1]
    best, kept = ops.top_k(ops.concatenate([state.finished_scores, scores], axis=1), beams)
    all_ids = ops.concatenate([state.finished_ids, ids], axis=1)
    all_totals = ops.concatenate([state.finished_log_probabilities, totals], axis=1)
    return state._replace(
        finished_ids=take_hypotheses(all_ids, kept),
        finished_log_probabilities=take_hypotheses(all_totals, kept),
        finished_scores=best,
    )


def _find_done(
    state: SearchState, best: Tensor, length: Tensor, sentences: Sentences, options: SearchOptions
) -> Tensor:
    """Returns which sentences are done, `(batch,)`; `best` is the best open log-probability."""
    limits = options.max_length if sentences.limits is None else sentences.limits
    worst = state.finished_scores[:, -1]
    enough = is_possible(worst)
    if options.early_stopping != "first":
        # Log-probabilities only fall, so no score can exceed that of ending now with the largest
        # divisor; "likely" uses the current divisor.
        longest = limits if options.early_stopping == "exact" else length
        longest = counted_length(longest, sentences)
        exponents = sentences.length_penalties
        bound = best / length_penalty(longest, options, exponents, minimum=ops.minimum)
        enough = enough & (worst >= bound)
    done = state.done | enough | ~is_possible(best)
    return done if sentences.limits is None else done | (length >= limits)
