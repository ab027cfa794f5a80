"""Greedy and beam search over any step function, in `keras.ops`: runs eagerly, in a TensorFlow
graph, and returns the same hypotheses as the onnxruntime loop.
"""

import dataclasses
from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol

import keras
from keras import ops

from keras_transformer.decoding.options import SearchOptions
from keras_transformer.special_ids import BOS_ID, EOS_ID, PAD_ID

Tensor = Any
IMPOSSIBLE = -1e30
FIRST_STAGE = 32


class Stepper(Protocol):
    """What the search knows of a model. Every tensor of its state has the rows as first axis."""

    def start(self, rows: Tensor, length: int) -> Any:
        """Returns the state of `rows` hypotheses, with room for `length` tokens."""

    def grow(self, state: Any, length: int) -> Any:
        """Returns the state with room for `length` tokens."""

    def step(self, ids: Tensor, step: Tensor, state: Any) -> tuple[Tensor, Any]:
        """Takes each row's newest token `(rows,)`; returns logits `(rows, vocabulary)`, state."""


class BeamState(NamedTuple):
    """Everything that changes from step to step; K hypotheses a sentence."""

    step: Tensor  # () tokens generated so far
    ids: Tensor  # (batch, K, length) alive hypotheses
    log_probabilities: Tensor  # (batch, K), best first
    finished_ids: Tensor  # (batch, K, length)
    finished_log_probabilities: Tensor  # (batch, K)
    finished_scores: Tensor  # (batch, K), best first
    done: Tensor  # (batch,)
    model: Any


@dataclasses.dataclass(frozen=True)
class SearchResult:
    """The best hypotheses of each sentence, best first.

    Attributes:
        ids: int32 `(batch, num_hypotheses, length)`, padded after the end token.
        log_probabilities: float32 `(batch, num_hypotheses)`, nats.
        scores: float32 `(batch, num_hypotheses)`, after the length penalty.
    """

    ids: Tensor
    log_probabilities: Tensor
    scores: Tensor


def length_penalty(length: Tensor, exponent: float) -> Tensor:
    """((5 + length) / 6) ** exponent (Wu et al. 2016, equation 14); length counts the end token."""
    return ((5.0 + ops.cast(length, "float32")) / 6.0) ** exponent


def search(stepper: Stepper, batch: Tensor, options: SearchOptions) -> SearchResult:
    """Finds the best translations of a batch of sentences.

    A sentence is done when it has `beam_size` finished hypotheses and the worst of them scores
    at least as well as the best open one would if it ended now, or at `max_length`, where open
    hypotheses count as they stand. With one beam this is greedy search.

    Args:
        stepper: The model, seen as a step function.
        batch: Number of sentences.
        options: Beam size, length penalty, limits.

    Returns:
        The `options.num_hypotheses` best of each sentence.
    """
    first, *longer = _stages(options.max_length)
    state = _run_stage(stepper, _start(stepper, batch, first, options), first, options)
    for length in longer:
        state = _run_stage(stepper, _grow(stepper, state, length), length, options)
    count = options.num_hypotheses
    return SearchResult(
        state.finished_ids[:, :count],
        state.finished_log_probabilities[:, :count],
        state.finished_scores[:, :count],
    )


def _run_stage(
    stepper: Stepper, state: BeamState, length: int, options: SearchOptions
) -> BeamState:
    """Steps until every sentence is done or the buffers are full."""
    parts = ops.while_loop(
        lambda *parts: _running(BeamState(*parts), length),
        lambda *parts: tuple(_advance(stepper, BeamState(*parts), options)),
        tuple(state),
    )
    return BeamState(*parts)


def _stages(max_length: int) -> Iterator[int]:
    """Buffer lengths to go through: short sentences never pay for `max_length`."""
    length = FIRST_STAGE
    while length < max_length:
        yield length
        length *= 2
    yield max_length


def _start(stepper: Stepper, batch: Tensor, length: int, options: SearchOptions) -> BeamState:
    beams = options.beam_size
    ids = ops.full((batch, beams, length), PAD_ID, dtype="int32")
    impossible = ops.full((batch, beams), IMPOSSIBLE, dtype="float32")
    first = ops.cast(ops.arange(beams) == 0, "float32")
    return BeamState(
        step=ops.zeros((), "int32"),
        ids=ids,
        log_probabilities=impossible * (1 - first),
        finished_ids=ids,
        finished_log_probabilities=impossible,
        finished_scores=impossible,
        done=ops.zeros((batch,), "bool"),
        model=stepper.start(batch * beams, length),
    )


def _grow(stepper: Stepper, state: BeamState, length: int) -> BeamState:
    more = [[0, 0], [0, 0], [0, length - state.ids.shape[2]]]
    return state._replace(
        ids=ops.pad(state.ids, more, constant_values=PAD_ID),
        finished_ids=ops.pad(state.finished_ids, more, constant_values=PAD_ID),
        model=stepper.grow(state.model, length),
    )


def _running(state: BeamState, limit: int) -> Tensor:
    return ops.logical_and(state.step < limit, ops.logical_not(ops.all(state.done)))


def _advance(stepper: Stepper, state: BeamState, options: SearchOptions) -> BeamState:
    """One step: extend, sort out what ended, keep the best alive and the best finished."""
    beams = options.beam_size
    logits, model = stepper.step(_newest_ids(state), state.step, state.model)
    totals, parents, tokens = _best_continuations(state, logits, 2 * beams)
    length = state.step + 1
    hypotheses = _extend(state.ids, parents, tokens, state.step)
    ended = tokens == EOS_ID

    may_finish = ended & (ops.arange(2 * beams) < beams) & ~state.done[:, None]
    state = _finish(state, hypotheses, totals, may_finish, length, options)

    totals, kept = ops.top_k(ops.where(ended, IMPOSSIBLE, totals), beams)
    alive_ids = ops.take_along_axis(hypotheses, kept[:, :, None], axis=1)
    parents = ops.take_along_axis(parents, kept, axis=1)
    best_alive = totals[:, 0] / length_penalty(length, options.length_penalty)
    done = state.done | (
        (state.finished_scores[:, -1] > IMPOSSIBLE / 2)
        & (state.finished_scores[:, -1] >= best_alive)
    )
    cut_off = ops.logical_and(length == options.max_length, ~done)[:, None]
    state = _finish(
        state, alive_ids, totals, ops.broadcast_to(cut_off, ops.shape(totals)), length, options
    )
    rows = ops.reshape(ops.arange(ops.shape(parents)[0])[:, None] * beams + parents, (-1,))
    return state._replace(
        step=length,
        ids=alive_ids,
        log_probabilities=totals,
        done=done,
        model=keras.tree.map_structure(lambda part: ops.take(part, rows, axis=0), model),
    )


def _newest_ids(state: BeamState) -> Tensor:
    """The token that each row was last extended by, `(rows,)`; begin-of-sentence at first."""
    last = ops.take(state.ids, ops.maximum(state.step - 1, 0), axis=2)
    return ops.reshape(ops.where(state.step == 0, BOS_ID, last), (-1,))


def _best_continuations(
    state: BeamState, logits: Tensor, count: int
) -> tuple[Tensor, Tensor, Tensor]:
    """The best extensions by a token: totals, parent beams, tokens, each `(batch, count)`."""
    vocabulary = logits.shape[-1]
    never = [token in (PAD_ID, BOS_ID) for token in range(vocabulary)]
    log_probs = ops.where(never, IMPOSSIBLE, ops.log_softmax(logits, axis=-1))
    beams = state.ids.shape[1]
    log_probs = ops.reshape(log_probs, (-1, beams, vocabulary))
    totals = ops.reshape(state.log_probabilities[:, :, None] + log_probs, (-1, beams * vocabulary))
    totals, places = ops.top_k(totals, count)
    return totals, places // vocabulary, places % vocabulary


def _extend(ids: Tensor, parents: Tensor, tokens: Tensor, step: Tensor) -> Tensor:
    """Copies the parents' ids and writes each token at `step`: `(batch, count, length)`."""
    parent_ids = ops.take_along_axis(ids, parents[:, :, None], axis=1)
    here = ops.arange(ids.shape[2], dtype="int32") == step
    return ops.where(here, tokens[:, :, None], parent_ids)


def _finish(
    state: BeamState,
    ids: Tensor,
    totals: Tensor,
    ends: Tensor,
    length: Tensor,
    options: SearchOptions,
) -> BeamState:
    """Merges the hypotheses that end here into the finished ones and keeps the best."""
    scores = totals / length_penalty(length, options.length_penalty)
    scores = ops.where(ends & (totals > IMPOSSIBLE / 2), scores, IMPOSSIBLE)
    best, kept = ops.top_k(
        ops.concatenate([state.finished_scores, scores], axis=1), options.beam_size
    )
    all_ids = ops.concatenate([state.finished_ids, ids], axis=1)
    all_totals = ops.concatenate([state.finished_log_probabilities, totals], axis=1)
    return state._replace(
        finished_ids=ops.take_along_axis(all_ids, kept[:, :, None], axis=1),
        finished_log_probabilities=ops.take_along_axis(all_totals, kept, axis=1),
        finished_scores=best,
    )
