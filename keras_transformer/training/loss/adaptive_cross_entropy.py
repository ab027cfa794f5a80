"""The loss of an adaptive softmax (Grave et al. 2017): the logits of a cluster's ids are computed
for the tokens alone whose labels are among them.
"""

from collections.abc import Sequence

import keras
from keras import ops

from keras_transformer.layers.heads.adaptive_softmax import Softmax
from keras_transformer.tensors import Tensor
from keras_transformer.training.loss.cross_entropy import cross_entropy, is_best, logit_of


def adaptive_cross_entropy(
    states: Tensor, softmaxes: Sequence[Softmax], labels: Tensor, weights: Tensor
) -> Tensor:
    """Sums loss, negative log-likelihood and hits over the tokens of a batch.

    A token is a hit if its cluster has the highest logit of the first softmax, and it has that of
    its cluster: the logits of all ids, which the highest of all would need, are not computed.

    Args:
        states: `(tokens, model_dim)`.
        softmaxes: The first, and that of each further cluster.
        labels: int32 `(tokens,)`.
        weights: float32 `(tokens,)`: the weight of each token, 0 for padding.

    Returns:
        float32 `(3,)`, as `linear_cross_entropy` does; the first two are equal.
    """
    first, *others = softmaxes
    numbers = sum(ops.cast(labels >= other.begin, "int32") for other in others)
    size = first.matrix.shape[0] - len(others)
    chosen = ops.where(numbers == 0, labels, size - 1 + numbers)
    nats, are_hits = _nats_and_hits(first, states, chosen)
    in_first = ops.cast(numbers == 0, weights.dtype)
    total, hits = ops.sum(weights * nats), ops.sum(weights * in_first * are_hits)
    for number, softmax in enumerate(others, 1):
        places, inside = _of_cluster(numbers == number, weights)
        last = softmax.matrix.shape[0] - 1
        own = ops.clip(ops.take(labels, places) - softmax.begin, 0, last)
        nats, are_best = _nats_and_hits(softmax, ops.take(states, places, axis=0), own)
        total = total + ops.sum(inside * nats)
        hits = hits + ops.sum(inside * are_best * ops.take(are_hits, places))
    return ops.stack([total, ops.stop_gradient(total), hits])


def _nats_and_hits(softmax: Softmax, states: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    logits = softmax.logits(states)
    at_label = logit_of(labels, logits)
    # There may be no token of a cluster, and a maximum of nothing needs an initial value.
    highest = ops.max(logits, axis=-1, initial=float("-inf"))
    nats = cross_entropy(ops.logsumexp(logits, axis=-1), at_label)
    return nats, ops.cast(is_best(at_label, highest), "float32")


def _of_cluster(is_inside: Tensor, weights: Tensor) -> tuple[Tensor, Tensor]:
    """Returns the places of a cluster's tokens, and their weights.

    Where shapes are fixed before values are known, it is all places, most with a weight of 0.
    """
    if keras.backend.backend() == "jax":
        places = ops.arange(ops.size(weights))
        return places, weights * ops.cast(is_inside, weights.dtype)
    places = ops.nonzero(is_inside)[0]
    return places, ops.take(weights, places)
