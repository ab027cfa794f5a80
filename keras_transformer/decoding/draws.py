"""One step of sampling: the next token of every hypothesis, each row a separate sample. The random
numbers are an input, so that a draw can be reproduced anywhere.
"""

from keras import ops

from keras_transformer.decoding.constraints import IMPOSSIBLE
from keras_transformer.decoding.hypotheses import (
    SearchState,
    Sentences,
    Stepper,
    counted_length,
    is_possible,
    step_model,
    write_tokens,
)
from keras_transformer.search.options import SearchOptions, length_penalty
from keras_transformer.tensors import Tensor


def advance_samples(
    stepper: Stepper, state: SearchState, sentences: Sentences, options: SearchOptions
) -> SearchState:
    """Returns the state after one more token; a sample that has ended is no longer possible."""
    log_probs, model = step_model(stepper, state, sentences, options)
    tokens = draw(log_probs, _uniforms(state.step, sentences), options)
    own = ops.take_along_axis(log_probs, tokens[:, :, None], axis=2)[:, :, 0]
    totals = state.log_probabilities + own
    ids = write_tokens(state.ids, tokens, state.step)
    length = state.step + 1
    limits = options.max_length if sentences.limits is None else sentences.limits[:, None]
    ended = ops.logical_or(tokens == stepper.special_ids.eos, length >= limits)
    ends = ended & is_possible(totals)
    penalty = length_penalty(counted_length(length, sentences), options, minimum=ops.minimum)
    scores = totals / ops.reshape(penalty, (-1, 1))  # [B, 1], or [1, 1] for all
    totals_left = ops.where(ended, IMPOSSIBLE, totals)
    return SearchState(
        step=length,
        ids=ids,
        log_probabilities=totals_left,
        finished_ids=ops.where(ends[:, :, None], ids, state.finished_ids),
        finished_log_probabilities=ops.where(ends, totals, state.finished_log_probabilities),
        finished_scores=ops.where(ends, scores, state.finished_scores),
        done=~ops.any(is_possible(totals_left), axis=1),
        model=model,
    )


def end_samples(
    state: SearchState, ends: Tensor, sentences: Sentences, options: SearchOptions
) -> SearchState:
    """Returns the state after the end of open samples `ends`, bool `(batch, K)`."""
    totals = state.log_probabilities
    counted = counted_length(state.step, sentences)
    penalty = length_penalty(counted, options, minimum=ops.minimum)
    scores = totals / ops.reshape(penalty, (-1, 1))
    left = ops.where(ends, IMPOSSIBLE, totals)
    return state._replace(
        log_probabilities=left,
        finished_ids=ops.where(ends[:, :, None], state.ids, state.finished_ids),
        finished_log_probabilities=ops.where(ends, totals, state.finished_log_probabilities),
        finished_scores=ops.where(ends, scores, state.finished_scores),
        done=~ops.any(is_possible(left), axis=1),
    )


def _uniforms(step: Tensor, sentences: Sentences) -> Tensor:
    """Returns the random numbers of this step: `(batch, K)`."""
    if sentences.prompt_lengths is None:
        return ops.take(sentences.uniforms, step, axis=2)
    # While a prompt is forced, any number will do; a sentence that has ended takes its last one.
    last = ops.shape(sentences.uniforms)[2] - 1
    places = ops.clip(step - sentences.prompt_lengths, 0, last)
    samples = ops.shape(sentences.uniforms)[1]
    places = ops.broadcast_to(places[:, None, None], (ops.shape(places)[0], samples, 1))
    return ops.take_along_axis(sentences.uniforms, places, axis=2)[:, :, 0]


def draw(log_probs: Tensor, uniforms: Tensor, options: SearchOptions) -> Tensor:
    """Draws tokens by the inverse of the cumulative distribution, the most probable token first.

    Sums are in float64, as in the numpy implementation of onnxruntime decoding: float32 sums over a
    vocabulary would differ often enough to give other samples.

    Args:
        log_probs: float32 `(batch, K, vocabulary)`, not necessarily normalized.
        uniforms: Floating `(batch, K)` in [0, 1).
        options: Temperature, top_k and top_p.

    Returns:
        int32 `(batch, K)`.
    """
    vocabulary = log_probs.shape[-1]
    count = min(options.top_k or vocabulary, vocabulary)
    values, tokens = ops.top_k(log_probs, count)
    values = ops.cast(values, "float64")
    weights = ops.exp((values - values[:, :, :1]) / options.temperature)
    sums = ops.cumsum(weights, axis=-1)
    kept = weights > 0
    if options.top_p < 1:
        before = ops.pad(sums[:, :, :-1], [[0, 0], [0, 0], [1, 0]])
        kept = kept & (before < options.top_p * sums[:, :, -1:])
    whole = ops.max(ops.where(kept, sums, ops.zeros_like(sums)), axis=-1)
    drawn = ops.cast(uniforms, "float64") * whole
    rank = ops.sum(ops.cast(sums <= drawn[:, :, None], "int32"), axis=-1)
    # With rounding, the drawn value may equal the total: take the last token then.
    rank = ops.minimum(rank, ops.sum(ops.cast(kept, "int32"), axis=-1) - 1)
    return ops.take_along_axis(tokens, rank[:, :, None], axis=2)[:, :, 0]
