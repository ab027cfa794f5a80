"""The final linear layer fused with a loss on its logits, for any number of passes over a batch:
logits exist for a quarter of the batch at a time, and gradients are computed with the loss.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from keras import ops

from keras_transformer.tensors import Tensor
from keras_transformer.training.loss.cross_entropy import (
    cross_entropy,
    is_best,
    logit_of,
    over_targets,
)

# Enough for logits to take little memory, few enough for each product to stay large.
_PARTS = 4


class Tokens(NamedTuple):
    """Some tokens of a batch, as their loss sees them.

    Attributes:
        states: `(passes, tokens, model_dim)`, the decoder's.
        labels: int32 `(tokens,)`.
        rows: float32 `(tokens, model_dim)`, the labels' rows of the matrix.
        centre: As `rows`, their mean `over_targets`: what a softmax is compared with.
        weights: float32 `(tokens,)`, the weight of each token.
        guides: `(tokens, guide_dim)`, the states of another model, or None.
    """

    states: Tensor
    labels: Tensor
    rows: Tensor
    centre: Tensor
    weights: Tensor
    guides: Tensor | None = None


# Takes tokens and the matrix; returns figures `(3,)` and the loss's gradients with respect to the
# states and to the matrix, the latter without the part that depends on the labels alone.
TokensLoss = Callable[[Tokens, Tensor], tuple[Tensor, Tensor, Tensor]]


def linear_loss(
    tokens_loss: TokensLoss,
    states: Tensor,
    matrix: Tensor,
    labels: Tensor,
    weights: Tensor,
    label_smoothing: float,
    *,
    label_share: float = 1.0,
    guides: Tensor | None = None,
) -> Tensor:
    """Sums a loss and other figures over the tokens of a batch.

    The loss is a share of the smoothed cross-entropy, averaged over the passes, plus whatever
    `tokens_loss` adds to it. Its gradients are computed right away, while a part's exponentials
    are in memory; evaluation skips them, since nothing uses them.

    Args:
        tokens_loss: Computes the loss of some of the tokens.
        states: `(passes, tokens, model_dim)`.
        matrix: `(vocabulary, model_dim)`, a row for each token of the vocabulary.
        labels: int32 `(tokens,)`.
        weights: float32 `(tokens,)`: the weight of each token, 0 for padding.
        label_smoothing: Share ε of the probability spread evenly over the vocabulary.
        label_share: Share of the loss that the labels have.
        guides: `(tokens, guide_dim)`: what `Tokens` holds of another model; gets no gradient.

    Returns:
        float32 `(3,)`: weighted sums of the figures; the first is the loss and has a gradient.
    """

    @ops.custom_gradient
    def sums(states: Tensor, matrix: Tensor) -> tuple[Tensor, Any]:
        mean = ops.mean(ops.cast(matrix, "float32"), axis=0)
        rows = ops.cast(ops.take(matrix, labels, axis=0), "float32")
        centre = over_targets(rows, mean, label_smoothing)
        size = ops.shape(states)[1] // _PARTS
        parts = [
            slice(part * size, (part + 1) * size if part < _PARTS - 1 else None)
            for part in range(_PARTS)
        ]
        done = [
            tokens_loss(
                Tokens(
                    states[:, part],
                    labels[part],
                    rows[part],
                    centre[part],
                    weights[part],
                    None if guides is None else guides[part],
                ),
                matrix,
            )
            for part in parts
        ]
        figures, by_states, by_matrix = zip(*done, strict=True)

        def gradient(*arguments: Tensor, upstream: Tensor | None = None) -> tuple[Tensor, Tensor]:
            scale = (arguments[0] if upstream is None else upstream)[0]
            weighted = ops.mean(ops.cast(states, "float32"), axis=0) * weights[:, None]
            at_labels = ops.segment_sum(weighted, labels, num_segments=matrix.shape[0])
            evenly = ops.sum(weighted, axis=0) / matrix.shape[0]
            whole = sum(by_matrix[1:], by_matrix[0])
            whole = whole - label_share * over_targets(at_labels, evenly, label_smoothing)
            return (
                ops.cast(scale * ops.concatenate(by_states, axis=1), states.dtype),
                ops.cast(scale * whole, matrix.dtype),
            )

        return sum(figures[1:], figures[0]), gradient

    return sums(states, matrix)


class Softmax(NamedTuple):
    """What the probabilities of tokens are made of; `(..., tokens)` unless stated otherwise.

    Attributes:
        exponentials: exp of the logits minus their maximum, `(..., tokens, vocabulary)`.
        total: float32, sum of the exponentials.
        highest: float32, the maximum.
    """

    exponentials: Tensor
    total: Tensor
    highest: Tensor

    @property
    def log_total(self) -> Tensor:
        """The logarithm of the sum of the logits' own exponentials."""
        return self.highest + ops.log(self.total)


def softmax(logits: Tensor) -> Softmax:
    """Takes logits of any float dtype; the exponentials are float32."""
    logits = ops.cast(logits, "float32")
    # With fewer tokens than parts a part is empty, and its maximum needs an initial value.
    highest = ops.max(logits, axis=-1, initial=float("-inf"))
    exponentials = ops.exp(logits - highest[..., None])
    return Softmax(exponentials, ops.sum(exponentials, axis=-1), highest)


def figures(
    states: Tensor, tokens: Tokens, logits: Tensor, log_total: Tensor, highest: Tensor
) -> Tensor:
    """Compares the final layer's output with the labels.

    Args:
        states: `(..., tokens, model_dim)`.
        tokens: Whose they are.
        logits: `(..., tokens, vocabulary)`.
        log_total: As in `Softmax`, of the logits, as is the next.
        highest: Their maximum.

    Returns:
        `(3, ..., tokens)`: smoothed cross-entropy and negative log-likelihood in nats, and 1 if the
        label has the highest logit, else 0.
    """
    wide_states = ops.cast(states, "float32")
    # Read, not computed again: where products are rounded, the highest is, too.
    at_label = logit_of(ops.broadcast_to(tokens.labels, ops.shape(log_total)), logits)
    return ops.stack(
        [
            cross_entropy(log_total, ops.sum(wide_states * tokens.centre, axis=-1)),
            cross_entropy(log_total, ops.sum(wide_states * tokens.rows, axis=-1)),
            ops.cast(is_best(ops.cast(at_label, "float32"), highest), "float32"),
        ]
    )
