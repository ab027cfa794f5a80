"""Word-level distillation (Kim and Rush 2016, section 3.1) fused with the final linear layer: sums
over tokens from the states of a student and of its teacher.
"""

from functools import partial

from keras import ops

from keras_transformer.layers.products.few_passes import in_few_passes
from keras_transformer.layers.products.product import product
from keras_transformer.tensors import Tensor
from keras_transformer.training.loss.linear_loss import Tokens, figures, linear_loss, softmax


def linear_distillation(
    states: Tensor,
    matrix: Tensor,
    labels: Tensor,
    weights: Tensor,
    label_smoothing: float,
    teacher_states: Tensor,
    teacher_matrix: Tensor,
    share: float,
) -> Tensor:
    """Sums loss, negative log-likelihood and hits over the tokens of a batch.

    With the teacher's distribution p and the student's q, the loss of a token is (1 - share) times
    the smoothed cross-entropy against the label, plus share · KL(p‖q), at temperature 1. The
    teacher gets no gradient, and its distributions exist for a quarter of the batch at a time.

    Args:
        states: `(tokens, model_dim)`.
        matrix: `(vocabulary, model_dim)`, the student's head.
        labels: int32 `(tokens,)`.
        weights: float32 `(tokens,)`: the weight of each token, 0 for padding.
        label_smoothing: Share ε of the probability spread evenly over the vocabulary, in the
            part of the loss that the labels have.
        teacher_states: `(tokens, teacher_dim)`, the teacher's for the same tokens.
        teacher_matrix: `(vocabulary, teacher_dim)`, the teacher's head, over the same vocabulary.
        share: Share of the loss that the teacher's distribution has, in (0, 1].

    Returns:
        float32 `(3,)`: weighted sums of the loss, of the negative log-likelihood (both in nats)
        and of the tokens whose label has the highest logit.
    """
    return linear_loss(
        partial(_distillation, teacher_matrix=teacher_matrix, share=share),
        states[None],
        matrix,
        labels,
        weights,
        label_smoothing,
        label_share=1.0 - share,
        guides=teacher_states,
    )


def _distillation(
    tokens: Tokens, matrix: Tensor, teacher_matrix: Tensor, share: float
) -> tuple[Tensor, Tensor, Tensor]:
    states, weights = tokens.states[0], tokens.weights
    guides = ops.cast(tokens.guides, teacher_matrix.dtype)
    logits = [
        product(one, by, transpose_right=True)
        for one, by in ((states, matrix), (guides, teacher_matrix))
    ]
    by_logits, teachers, log_total, highest = _by_logits(*logits, weights, share)
    found = figures(states, tokens, logits[0], log_total, highest)
    # `teachers` leaves out q's normalizer, which the teacher's probabilities leave as it is.
    loss = (1 - share) * found[0] + share * (log_total + teachers)

    by_states = ops.cast(product(by_logits, matrix), "float32")
    by_states = by_states - (1 - share) * weights[:, None] * tokens.centre
    by_matrix = ops.cast(product(by_logits, states, transpose_left=True), "float32")
    sums = ops.matmul(ops.stack([loss, found[1], found[2]]), weights)
    return sums, by_states[None], by_matrix


@in_few_passes
def _by_logits(
    logits: Tensor, teacher_logits: Tensor, weights: Tensor, share: float
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Returns what depends on all logits `(tokens, vocabulary)`.

    That is the loss's gradient by those of the student, q minus the mean of both targets without
    the labels' part, which `linear_loss` subtracts; the mean over the teacher's distribution of its
    logarithm minus the student's logit; and the last two of `figures`' arguments.
    """
    found, wide = softmax(logits), ops.cast(logits, "float32")
    log_teacher = ops.log_softmax(ops.cast(teacher_logits, "float32"), axis=-1)
    teacher = ops.exp(log_teacher)
    by_logits = (weights / found.total)[:, None] * found.exponentials
    by_logits = ops.cast(by_logits - (share * weights)[:, None] * teacher, logits.dtype)
    teachers = ops.sum(teacher * (log_teacher - wide), axis=-1)
    return by_logits, teachers, found.log_total, found.highest
