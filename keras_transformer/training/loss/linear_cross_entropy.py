"""The final linear layer fused with the label-smoothed loss (paper, sections 3.4 and 5.4): sums
over tokens from the decoder's states.
"""

from keras import ops

from keras_transformer.layers.products.few_passes import in_few_passes
from keras_transformer.layers.products.product import product
from keras_transformer.layers.variants.scores import soft_capped
from keras_transformer.tensors import Tensor
from keras_transformer.training.loss.cross_entropy import (
    cross_entropy,
    is_best,
    logit_of,
    over_targets,
)
from keras_transformer.training.loss.linear_loss import (
    Softmax,
    Tokens,
    figures,
    linear_loss,
    softmax,
)


def linear_cross_entropy(
    states: Tensor, matrix: Tensor, labels: Tensor, weights: Tensor, label_smoothing: float
) -> Tensor:
    """Sums loss, negative log-likelihood and hits over the tokens of a batch.

    With logits z = states · matrixᵀ, the loss of a token is that of `cross_entropy.py`. Its
    gradient with respect to z is softmax(z) minus a term that depends on the label alone, so the
    forward and backward passes need only the three products of the layer and one exponential.

    Args:
        states: `(tokens, model_dim)`.
        matrix: `(vocabulary, model_dim)`, a row for each token of the vocabulary.
        labels: int32 `(tokens,)`.
        weights: float32 `(tokens,)`: the weight of each token, 0 for padding.
        label_smoothing: Share ε of the probability spread evenly over the vocabulary.

    Returns:
        float32 `(3,)`: weighted sums of the loss, of the negative log-likelihood (both in nats)
        and of the tokens whose label has the highest logit. Only the first has a gradient.
    """
    return linear_loss(_cross_entropy, states[None], matrix, labels, weights, label_smoothing)


def capped_cross_entropy(
    states: Tensor,
    matrix: Tensor,
    labels: Tensor,
    weights: Tensor,
    label_smoothing: float,
    soft_cap: float,
) -> Tensor:
    """Does as `linear_cross_entropy`, with logits that `soft_capped` bounds.

    Their gradients depend on all of a batch's logits, which are kept for them.
    """
    logits = ops.cast(product(states, matrix, transpose_right=True), "float32")
    logits = soft_capped(logits, soft_cap)
    total, at_label = ops.logsumexp(logits, axis=-1), logit_of(labels, logits)
    target = over_targets(at_label, ops.mean(logits, axis=-1), label_smoothing)
    hits = ops.cast(is_best(at_label, ops.max(logits, axis=-1)), "float32")
    loss, nats = cross_entropy(total, target), cross_entropy(total, at_label)
    found = ops.stack([loss, ops.stop_gradient(nats), hits])
    return ops.sum(found * weights, axis=-1)


def _cross_entropy(tokens: Tokens, matrix: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    states, weights = tokens.states[0], tokens.weights
    logits = product(states, matrix, transpose_right=True)
    found = _softmax(logits)
    share = weights / found.total
    by_states = share[:, None] * ops.cast(product(found.exponentials, matrix), "float32")
    by_states = by_states - weights[:, None] * tokens.centre
    scaled = ops.cast(share[:, None] * ops.cast(states, "float32"), matrix.dtype)
    by_matrix = ops.cast(product(found.exponentials, scaled, transpose_left=True), "float32")
    compared = figures(states, tokens, logits, found.log_total, found.highest)
    return ops.matmul(compared, weights), by_states[None], by_matrix


@in_few_passes
def _softmax(logits: Tensor) -> Softmax:
    """Returns exponentials in the dtype of the logits, for products."""
    found = softmax(logits)
    return found._replace(exponentials=ops.cast(found.exponentials, logits.dtype))
