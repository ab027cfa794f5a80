"""The state of a search (the open and the finished hypotheses) and the operations on it that beam
search and sampling share.
"""

from typing import Any, NamedTuple, Protocol

from keras import ops

from keras_transformer.config.special_ids import SpecialIds
from keras_transformer.decoding.constraints import IMPOSSIBLE, next_log_probs
from keras_transformer.search.options import SearchOptions
from keras_transformer.tensors import Tensor


class Stepper(Protocol):
    """The search's view of a model. Every tensor of its state has the rows as first axis.

    Attributes:
        special_ids: The ids that are not text.
    """

    special_ids: SpecialIds

    def start(self, rows: Tensor, length: int) -> Any:
        """Returns the state of `rows` hypotheses, with room for `length` tokens."""

    def grow(self, state: Any, length: int) -> Any:
        """Returns the state with room for `length` tokens."""

    def step(self, ids: Tensor, step: Tensor, state: Any) -> tuple[Tensor, Any]:
        """Takes newest tokens `(rows,)`; returns logits `(rows, vocabulary)` and the new state."""

    def read(
        self, ids: Tensor, labels: Tensor, step: Tensor, state: Any
    ) -> tuple[Tensor | None, Any]:
        """Takes several given tokens at once, with one row a sentence.

        Args:
            ids: int32 `(batch, count)`, from place `step` on.
            labels: int32 `(batch, count)`, what follows each of them.
            step: int32 scalar, tokens taken so far.
            state: What earlier tokens left.

        Returns:
            The labels' log-probabilities float32 `(batch, count)`, None if they cost nothing, and
            the new state.
        """


class Sentences(NamedTuple):
    """The inputs of a search that differ from sentence to sentence.

    Attributes:
        limits: int32 `(batch,)`, the longest translation of each; `max_length` for all if None.
        length_penalties: float32 `(batch,)`, the exponent of each; `length_penalty` if None.
        skipped: bool `(batch,)`, True for sentences that are not searched and have no result.
        prefixes: int32 `(batch, prefix_length)`, the first tokens of each, padded with -1.
        uniforms: Floating `(batch, num_hypotheses, max_length)` in [0, 1), for sampling.
        prompt_lengths: int32 `(batch,)`, how many tokens of each prefix are a prompt, none if None.
            They cost nothing and do not count in a length, except in `limits`; `uniforms` begin
            after them.
        starts: int32 `(batch,)`, what the decoder reads first for each; `decoder_start` if None.
        slots: bool `(batch, N)`, which slots of the vocabulary each source has, none if None: a
            translation has the same, each once.
        phrases: int32 `(batch, phrases, forms, length)`, what each output must hold, one form of
            each phrase, padded with -1; none if None.
        allowed: bool `(batch, K, vocabulary)`, what a grammar allows as the next token of each
            hypothesis; anything if None.
    """

    limits: Tensor | None = None
    length_penalties: Tensor | None = None
    skipped: Tensor | None = None
    prefixes: Tensor | None = None
    uniforms: Tensor | None = None
    prompt_lengths: Tensor | None = None
    starts: Tensor | None = None
    slots: Tensor | None = None
    phrases: Tensor | None = None
    allowed: Tensor | None = None


class SearchState(NamedTuple):
    """Everything that changes from step to step; K open hypotheses per sentence, and as many
    finished ones but where phrases are searched for.
    """

    step: Tensor  # () tokens generated so far
    ids: Tensor  # (batch, K, length) open hypotheses
    log_probabilities: Tensor  # (batch, K), best first in a beam without phrases
    finished_ids: Tensor  # (batch, kept, length)
    finished_log_probabilities: Tensor  # (batch, kept)
    finished_scores: Tensor  # (batch, kept), best first in a beam
    done: Tensor  # (batch,)
    model: Any


def start(
    stepper: Stepper,
    batch: Tensor,
    length: int,
    sentences: Sentences,
    options: SearchOptions,
    open_hypotheses: int | None = None,
) -> SearchState:
    """Returns the state before the first token; only the first hypothesis of a beam is possible.

    There are `open_hypotheses` in a beam, as many as are kept if None.
    """
    kept = options.rows_per_sentence
    rows = open_hypotheses or kept
    ids = ops.full((batch, rows, length), stepper.special_ids.pad, dtype="int32")
    impossible = ops.full((batch, rows), IMPOSSIBLE, dtype="float32")
    first = ops.cast(ops.arange(rows) < (rows if options.sample else 1), "float32")
    done = ops.zeros((batch,), "bool") if sentences.skipped is None else sentences.skipped
    return SearchState(
        step=ops.zeros((), "int32"),
        ids=ids,
        log_probabilities=impossible * (1 - first),
        finished_ids=ids[:, :kept],
        finished_log_probabilities=impossible[:, :kept],
        finished_scores=impossible[:, :kept],
        done=done,
        model=stepper.start(batch * rows, length),
    )


def grow(stepper: Stepper, state: SearchState, length: int) -> SearchState:
    """Returns the state with room for `length` tokens."""
    more, pad = [[0, 0], [0, 0], [0, length - state.ids.shape[2]]], stepper.special_ids.pad
    return state._replace(
        ids=ops.pad(state.ids, more, constant_values=pad),
        finished_ids=ops.pad(state.finished_ids, more, constant_values=pad),
        model=stepper.grow(state.model, length),
    )


def counted_length(length: Tensor, sentences: Sentences) -> Tensor:
    """Returns how many of `length` tokens were generated, at least 1, as a floating tensor.

    Args:
        length: Integer scalar or `(batch,)`.
        sentences: The search's inputs.

    Returns:
        A scalar, or `(batch,)` if there are prompts.
    """
    if sentences.prompt_lengths is not None:
        length = ops.maximum(length - sentences.prompt_lengths, 1)
    return ops.cast(length, "float32")


def newest_ids(stepper: Stepper, state: SearchState, sentences: Sentences) -> Tensor:
    """Returns each row's newest token `(rows,)`; what it starts with at first."""
    last = ops.take(state.ids, ops.maximum(state.step - 1, 0), axis=2)
    own = sentences.starts
    start = stepper.special_ids.decoder_start if own is None else own[:, None]
    return ops.reshape(ops.where(state.step == 0, start, last), (-1,))


def step_model(
    stepper: Stepper, state: SearchState, sentences: Sentences, options: SearchOptions
) -> tuple[Tensor, Any]:
    """Returns the log-probabilities of the next tokens, and the model's state before these."""
    newest = newest_ids(stepper, state, sentences)
    logits, model = stepper.step(newest, state.step, state.model)
    log_probs = next_log_probs(
        logits,
        state.ids,
        state.step,
        options,
        sentences.prefixes,
        stepper.special_ids,
        sentences.prompt_lengths,
        sentences.slots,
        sentences.limits,
        sentences.phrases is not None,
        sentences.allowed,
    )
    return log_probs, model


def write_tokens(ids: Tensor, tokens: Tensor, step: Tensor) -> Tensor:
    """Writes tokens `(batch, K)` at `step` into ids `(batch, K, length)`."""
    here = ops.arange(ops.shape(ids)[2], dtype="int32") == step
    return ops.where(here, tokens[:, :, None], ids)


def rows_of(places: Tensor, count: int) -> Tensor:
    """Returns the rows of hypotheses if each sentence has `count` adjacent rows.

    Args:
        places: int32 `(batch, M)`, indices of hypotheses within each sentence.
        count: Number of hypotheses per sentence.

    Returns:
        int32 `(batch, M)`, less than batch · count.
    """
    return ops.arange(ops.shape(places)[0])[:, None] * count + places


def take_hypotheses(values: Tensor, places: Tensor) -> Tensor:
    """Takes hypotheses of each sentence: `(batch, K, …)` at `(batch, M)` gives `(batch, M, …)`.

    Takes whole rows; `ops.take_along_axis` would need an index for each of their entries.
    """
    rows = ops.reshape(values, (-1, *ops.shape(values)[2:]))
    return ops.take(rows, rows_of(places, values.shape[1]), axis=0)


def is_possible(totals: Tensor) -> Tensor:
    """Returns which sums of log-probabilities include nothing forbidden."""
    return totals > IMPOSSIBLE / 2
