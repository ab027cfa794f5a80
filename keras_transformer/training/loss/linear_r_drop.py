"""R-Drop (Liang et al. 2021, equation 4) fused with the final linear layer: a batch passes through
the network twice, with different dropout, and the loss pulls both passes' distributions together.
"""

from functools import partial

from keras import ops

from keras_transformer.layers.products.few_passes import in_few_passes
from keras_transformer.layers.products.product import product
from keras_transformer.tensors import Tensor
from keras_transformer.training.loss.linear_loss import Tokens, figures, linear_loss, softmax


def linear_r_drop(
    states: Tensor,
    matrix: Tensor,
    labels: Tensor,
    weights: Tensor,
    label_smoothing: float,
    strength: float,
) -> Tensor:
    """Sums loss, negative log-likelihood and hits over the tokens of a batch.

    With p and q the distributions of the two passes, the loss of a token is half the paper's: the
    mean of both passes' smoothed cross-entropies, plus α/4 · (KL(p‖q) + KL(q‖p)). It equals the
    plain loss if the passes agree.

    Args:
        states: `(2 * tokens, model_dim)`: those of the first pass, then those of the second.
        matrix: `(vocabulary, model_dim)`, a row for each token of the vocabulary.
        labels: int32 `(tokens,)`.
        weights: float32 `(tokens,)`: the weight of each token, 0 for padding.
        label_smoothing: Share ε of the probability spread evenly over the vocabulary.
        strength: The paper's α.

    Returns:
        As `linear_cross_entropy`; the second and third figures are means of both passes.
    """
    passes = ops.reshape(states, (2, -1, states.shape[-1]))
    tokens_loss = partial(_r_drop, strength=strength)
    return linear_loss(tokens_loss, passes, matrix, labels, weights, label_smoothing)


def _r_drop(tokens: Tokens, matrix: Tensor, strength: float) -> tuple[Tensor, Tensor, Tensor]:
    logits = product(tokens.states, matrix, transpose_right=True)
    by_logits, extra, log_total, highest = _by_logits(logits, tokens.weights, strength)
    by_states = product(by_logits, matrix)
    both = (ops.reshape(values, (-1, values.shape[-1])) for values in (by_logits, tokens.states))
    by_matrix = product(*both, transpose_left=True)
    found = figures(tokens.states, tokens, logits, log_total, highest)
    found = ops.mean(found, axis=1) + ops.stack([extra, 0 * extra, 0 * extra])
    return (
        ops.matmul(found, tokens.weights),
        ops.cast(by_states, "float32") - tokens.weights[:, None] / 2 * tokens.centre,
        ops.cast(by_matrix, "float32"),
    )


@in_few_passes
def _by_logits(
    logits: Tensor, weights: Tensor, strength: float
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Returns what depends on all logits `(2, tokens, vocabulary)` of both passes.

    That is the loss's gradient by them, without the part of the labels, what the
    divergences add to each token's loss, and the last two of `figures`' arguments.
    """
    found, wide = softmax(logits), ops.cast(logits, "float32")
    # log(p / q) up to a constant, which cancels in the sum of both divergences and in its
    # gradient. From logits, because a probability that rounds to 0 has no logarithm.
    ratio = wide[0] - wide[1]
    means = ops.sum(found.exponentials * ratio, axis=-1) / found.total
    scaled = (strength / 4 * weights / found.total)[..., None] * found.exponentials
    first, second = scaled[0], scaled[1]
    constant = 1 + 2 / strength
    by_logits = ops.stack(
        [
            first * (ratio + (constant - means[0])[:, None]) - second,
            second * ((constant + means[1])[:, None] - ratio) - first,
        ]
    )
    return (
        ops.cast(by_logits, logits.dtype),
        strength / 4 * (means[0] - means[1]),
        found.log_total,
        found.highest,
    )
