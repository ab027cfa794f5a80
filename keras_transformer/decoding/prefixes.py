"""The beginnings of hypotheses: the state of a search after as many tokens as every prefix still
has, which the model reads in one run.
"""

import keras
from keras import ops

from keras_transformer.decoding.hypotheses import SearchState, Sentences, Stepper, newest_ids
from keras_transformer.search.options import SearchOptions
from keras_transformer.tensors import Tensor

# A prefix of fewer tokens is not worth a run of its own.
_LEAST = 2


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
    newest = newest_ids(state, stepper.special_ids.decoder_start)[::count]
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
