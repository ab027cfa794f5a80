"""One step of beam search for outputs that hold phrases, by dynamic beam allocation in
`keras.ops`.
"""

from keras import ops

from keras_transformer.decoding.constraints import IMPOSSIBLE, write
from keras_transformer.decoding.hypotheses import SearchState, Sentences
from keras_transformer.search.options import SearchOptions
from keras_transformer.search.phrase_banks import Arrays, Continued, best_in_banks, reached
from keras_transformer.tensors import Tensor

TENSORS = Arrays(ops, ops.top_k, IMPOSSIBLE)


def continuations_with_phrases(
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
    most = min(vocabulary, beams + 1)
    values, tokens = ops.top_k(write(totals, places, nothing), most)
    shape = (batch, beams, most)
    begins = sentences.prompt_lengths
    if begins is None:
        begins = ops.zeros((batch,), "int32")
    limits = options.max_length if sentences.limits is None else sentences.limits
    held = reached(ops, sentences.phrases, state.ids, begins, state.step)
    return best_in_banks(
        TENSORS,
        held,
        (ops.reshape(values, shape), ops.reshape(tokens, shape)),
        spoken,
        ops.broadcast_to(limits - state.step - 1, (batch,)),
        eos,
        2 * beams,
    )
