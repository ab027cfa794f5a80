"""R-Drop (Liang et al. 2021, equation 4) in one with the final linear layer: a batch goes through
the network twice, under different dropout, and what both passes say of a token is drawn together.
"""

from functools import partial
from typing import Any

from keras import ops

from keras_transformer.training.linear_loss import Tokens, distribution, linear_loss

Tensor = Any


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
    mean of both passes' smoothed cross-entropies, plus α/4 · (KL(p‖q) + KL(q‖p)). So it is the
    plain loss where the passes agree.

    Args:
        states: `(2 * tokens, model_dim)`: those of the first pass, then those of the second.
        matrix: As for `linear_cross_entropy`.
        labels: As for `linear_cross_entropy`.
        weights: As for `linear_cross_entropy`.
        label_smoothing: As for `linear_cross_entropy`.
        strength: The paper's α.

    Returns:
        As `linear_cross_entropy`; the second and third figure are means of both passes.
    """
    passes = ops.reshape(states, (2, -1, states.shape[-1]))
    tokens_loss = partial(_r_drop, strength=strength)
    return linear_loss(tokens_loss, passes, matrix, labels, weights, label_smoothing)


def _r_drop(tokens: Tokens, matrix: Tensor, strength: float) -> tuple[Tensor, Tensor, Tensor]:
    found = distribution(tokens.states, tokens, matrix)
    probabilities = found.exponentials / found.total[..., None]  # (2, tokens, vocabulary)
    # log(p / q) from logits: a probability that is 0 by rounding has no logarithm.
    ratio = found.logits[0] - found.logits[1] - (found.log_total[0] - found.log_total[1])[:, None]
    ratios = ops.stack([ratio, -ratio])
    divergences = ops.sum(probabilities * ratios, axis=-1)
    by_logits = probabilities / 2 + strength / 4 * (
        probabilities - probabilities[::-1] + probabilities * (ratios - divergences[..., None])
    )
    by_logits = ops.cast(by_logits * tokens.weights[:, None], matrix.dtype)

    extra = strength / 4 * ops.sum(divergences, axis=0)
    figures = ops.mean(found.figures, axis=1) + ops.stack([extra, 0 * extra, 0 * extra])
    by_states = ops.cast(ops.matmul(by_logits, matrix), "float32")
    by_states = by_states - tokens.weights[:, None] / 2 * tokens.centre
    flat = (-1, matrix.shape[1])
    by_matrix = ops.matmul(
        ops.transpose(ops.reshape(by_logits, (-1, matrix.shape[0]))),
        ops.reshape(tokens.states, flat),
    )
    return ops.matmul(figures, tokens.weights), by_states, ops.cast(by_matrix, "float32")
