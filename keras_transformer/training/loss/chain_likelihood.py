"""The loss of a tagger with a chain: the negative log-likelihood of each text's tags."""

from keras import ops

from keras_transformer.layers.heads.linear_chain_crf import LinearChainCRF
from keras_transformer.tensors import Tensor


def chain_sums(chain: LinearChainCRF, emissions: Tensor, labels: Tensor, weights: Tensor) -> Tensor:
    """Returns sums over a batch as `linear_cross_entropy` does: loss, nats and hits.

    Args:
        chain: The chain.
        emissions: `(batch, length, tags)`.
        labels: int32 `(batch, length)`.
        weights: float32 `(batch, length)`, 0 at tokens without a tag. A text's likelihood is one
            number, whose weight is the highest of its words.

    Returns:
        float32 `(3,)`: the nats, twice, and how many words the best path gives their tags. Divided
        by the number of words, these are a loss a word and an accuracy.
    """
    word_mask = weights > 0
    likelihood = chain.log_likelihood(emissions, labels, word_mask)
    nats = -ops.sum(ops.cast(likelihood, "float32") * ops.max(weights, axis=1))
    is_right = chain(ops.stop_gradient(emissions), word_mask) == labels
    return ops.stack([nats, nats, ops.sum(weights * ops.cast(is_right, "float32"))])
