"""Greedy search, beam search and sampling in `keras.ops`, over any step function, with the same
hypotheses as the onnxruntime loop. They run eagerly and in TensorFlow graphs.
"""

import dataclasses
from collections.abc import Callable, Iterator

import keras
from keras import ops

from keras_transformer.decoding.beams import advance_beams, end_beams
from keras_transformer.decoding.draws import advance_samples, end_samples
from keras_transformer.decoding.hypotheses import (
    SearchState,
    Sentences,
    Stepper,
    grow,
    newest_ids,
    start,
)
from keras_transformer.search.options import SearchOptions
from keras_transformer.tensors import Tensor

FIRST_STAGE = 32
# A prefix of fewer tokens is not worth a run of its own.
_LEAST = 2


@dataclasses.dataclass(frozen=True)
class SearchResult:
    """The best hypotheses of each sentence, best first, or its samples in the order of drawing.

    If fewer hypotheses are possible, the missing ones have a score of `IMPOSSIBLE`.

    Attributes:
        ids: int32 `(batch, num_hypotheses, length)`, padded after the end token.
        log_probabilities: float32 `(batch, num_hypotheses)`, nats.
        scores: float32 `(batch, num_hypotheses)`, after the length penalty.
    """

    ids: Tensor
    log_probabilities: Tensor
    scores: Tensor


def search(
    stepper: Stepper,
    batch: Tensor,
    options: SearchOptions,
    sentences: Sentences | None = None,
    advance: Callable[[SearchState], SearchState] | None = None,
    ended: Callable[[SearchState], Tensor] | None = None,
    open_hypotheses: int | None = None,
) -> SearchResult:
    """Finds the best translations of a batch of sentences, or draws samples.

    A sentence's beam search ends by `options.early_stopping`, when no open hypothesis can be
    extended, or at its length limit, where open hypotheses count as finished.

    Args:
        stepper: The model as a step function.
        batch: Number of sentences.
        options: What to search for.
        sentences: Limits, prefixes and other inputs that differ from sentence to sentence.
        advance: One step of the search as a function of the state alone; traced anew for each
            length of the buffers if None.
        ended: Tells after each token which open hypotheses end there, bool `(batch, K)`: stops,
            which no graph can look for, so that the search runs step by step. None for none.
        open_hypotheses: How many hypotheses of a sentence are extended side by side; as many as
            `options` keep if None.

    Returns:
        The `options.num_hypotheses` best of each sentence, or its samples.

    Raises:
        ValueError: `options.sample` is True, but there are no random numbers.
    """
    sentences = sentences or Sentences()
    if options.sample and sentences.uniforms is None:
        raise ValueError("sample=True needs random numbers: give Sentences(uniforms=...).")
    advance = advance or (lambda state: advance_one(stepper, state, sentences, options))
    first, *longer = _stages(options.max_length)
    state = start(stepper, batch, first, sentences, options, open_hypotheses)
    for length in (first, *longer):
        if length > first:
            state = grow(stepper, state, length)
        state = read_prefixes(stepper, state, sentences, options)
        if ended is None:
            state = _run_stage(state, length, advance)
        while ended is not None and _running(state, length):
            state = advance(state)
            state = end_some(state, ended(state), sentences, options)
    count = options.num_hypotheses
    return SearchResult(
        state.finished_ids[:, :count],
        state.finished_log_probabilities[:, :count],
        state.finished_scores[:, :count],
    )


def search_steps(
    stepper: Stepper,
    options: SearchOptions,
    sentences: Sentences,
    advance: Callable[[SearchState], SearchState],
) -> Iterator[SearchState]:
    """Runs the search of one sentence step by step; yields the state after each token, but those of
    a prefix that are read in one run.

    Args:
        stepper: The model as a step function.
        options: What to search for.
        sentences: Limits, prefixes and other inputs of the one sentence.
        advance: `advance_one` with these arguments, as a function of the state alone.
    """
    first, *longer = _stages(options.max_length)
    state = start(stepper, 1, first, sentences, options)
    for length in (first, *longer):
        if length > first:
            state = grow(stepper, state, length)
        state = read_prefixes(stepper, state, sentences, options)
        while _running(state, length):
            state = advance(state)
            yield state
        if state.step < length:
            return


def advance_one(
    stepper: Stepper, state: SearchState, sentences: Sentences, options: SearchOptions
) -> SearchState:
    """Returns the state after one more token."""
    advance = advance_samples if options.sample else advance_beams
    return advance(stepper, state, sentences, options)


def end_some(
    state: SearchState, ends: Tensor, sentences: Sentences, options: SearchOptions
) -> SearchState:
    """Returns the state after the end of open hypotheses `ends`, bool `(batch, K)`."""
    end = end_samples if options.sample else end_beams
    return end(state, ends, sentences, options)


def read_prefixes(
    stepper: Stepper, state: SearchState, sentences: Sentences, options: SearchOptions
) -> SearchState:
    """Returns the state after what the prefixes of all open sentences have in common in length.

    What longer ones have beyond it is forced step by step, while the others are continued. A
    penalty on repetition changes the log-probabilities of a prefix, which is then forced as well.
    """
    prefixes = sentences.prefixes
    if prefixes is None or options.repetition_penalty != 1:
        return state
    width = ops.shape(prefixes)[1]
    limits = options.max_length if sentences.limits is None else sentences.limits
    # The token at a limit is taken step by step, as it ends its sentence.
    own = ops.minimum(ops.sum(ops.cast(prefixes >= 0, "int32"), axis=1), limits - 1)
    shortest = ops.min(ops.where(state.done, width, own), initial=state.ids.shape[2])
    end = ops.minimum(shortest, width)
    worthwhile = ops.logical_and(end - state.step >= _LEAST, ops.logical_not(ops.all(state.done)))
    return SearchState(
        *ops.cond(
            worthwhile,
            lambda: tuple(_read(stepper, state, sentences, end)),
            lambda: tuple(state),
        )
    )


def _read(stepper: Stepper, state: SearchState, sentences: Sentences, end: Tensor) -> SearchState:
    """Returns the state after `end` tokens; a sentence's hypotheses are the same until then."""
    count, begin = state.ids.shape[1], state.step
    # Sentences that are done may have shorter prefixes; they read whatever there is.
    prefixes = ops.maximum(sentences.prefixes, 0)
    labels = prefixes[:, begin:end]
    newest = newest_ids(stepper, state, sentences)[::count]
    ids = ops.concatenate([newest[:, None], labels[:, :-1]], axis=1)
    one = keras.tree.map_structure(lambda part: part[::count], state.model)
    log_probs, model = stepper.read(ids, labels, begin, one)
    totals = state.log_probabilities
    if log_probs is not None:
        totals = totals + ops.sum(log_probs, axis=1)[:, None]
    places = ops.arange(state.ids.shape[2], dtype="int32")
    here = ops.logical_and(places >= begin, places < end)
    said = ops.take(prefixes, ops.minimum(places, ops.shape(prefixes)[1] - 1), axis=1)
    return state._replace(
        step=end,
        ids=ops.where(here, said[:, None, :], state.ids),
        log_probabilities=totals,
        model=keras.tree.map_structure(lambda part: ops.repeat(part, count, axis=0), model),
    )


def _run_stage(
    state: SearchState, length: int, advance: Callable[[SearchState], SearchState]
) -> SearchState:
    """Advances the search until every sentence is done or the buffers are full."""
    parts = ops.while_loop(
        lambda *parts: _running(SearchState(*parts), length),
        lambda *parts: tuple(advance(SearchState(*parts))),
        tuple(state),
    )
    return SearchState(*parts)


def _stages(max_length: int) -> Iterator[int]:
    """Yields increasing buffer lengths, so that short sentences do not pay for `max_length`."""
    length = FIRST_STAGE
    while length < max_length:
        yield length
        length *= 2
    yield max_length


def _running(state: SearchState, limit: int) -> Tensor:
    return ops.logical_and(state.step < limit, ops.logical_not(ops.all(state.done)))
