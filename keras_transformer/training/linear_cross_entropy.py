"""The final linear layer and the label-smoothed loss in one (paper, sections 3.4 and 5.4): decoder
states come in, sums over tokens leave; logits exist for a quarter of the batch at a time.
"""

from typing import Any

from keras import ops

Tensor = Any

# Enough that logits take little memory, few enough that each product stays large.
_PARTS = 4


def linear_cross_entropy(
    states: Tensor, matrix: Tensor, labels: Tensor, weights: Tensor, label_smoothing: float
) -> Tensor:
    """Sums loss, negative log-likelihood and hits over the tokens of a batch.

    With logits z = states · matrixᵀ the loss of a token is
    -(1 - ε)·z_label - ε·mean(z) + logsumexp(z), as in `smoothed_cross_entropy`. Its gradient by z
    is softmax(z) minus what depends on the label alone, so that forward and backward need the
    three products of the layer and one exponential; the gradients are made with the loss, while
    a part's exponentials are at hand. Evaluation leaves them out: nothing asks for them.

    Args:
        states: `(tokens, model_dim)`.
        matrix: `(vocabulary, model_dim)`, a row for each token of the vocabulary.
        labels: int32 `(tokens,)`.
        weights: float32 `(tokens,)`: what each token counts, 0 for padding.
        label_smoothing: Share ε of the probability spread evenly over the vocabulary.

    Returns:
        float32 `(3,)`: weighted sums of the loss, of the negative log-likelihood (both in nats)
        and of the tokens whose label has the highest logit. Only the first has a gradient.
    """

    @ops.custom_gradient
    def sums(states: Tensor, matrix: Tensor) -> tuple[Tensor, Any]:
        mean = ops.mean(ops.cast(matrix, "float32"), axis=0)
        rows = ops.cast(ops.take(matrix, labels, axis=0), "float32")
        centre = (1 - label_smoothing) * rows + label_smoothing * mean
        size = ops.shape(states)[0] // _PARTS
        parts = [
            slice(part * size, (part + 1) * size if part < _PARTS - 1 else None)
            for part in range(_PARTS)
        ]
        done = [
            _part(states[part], matrix, rows[part], centre[part], weights[part]) for part in parts
        ]
        figures, by_states, by_matrix = zip(*done, strict=True)

        def gradient(*arguments: Tensor, upstream: Tensor | None = None) -> tuple[Tensor, Tensor]:
            scale = (arguments[0] if upstream is None else upstream)[0]
            weighted = ops.cast(states, "float32") * weights[:, None]
            at_labels = ops.segment_sum(weighted, labels, num_segments=matrix.shape[0])
            evenly = ops.sum(weighted, axis=0) / matrix.shape[0]
            whole = sum(by_matrix[1:], by_matrix[0])
            whole = whole - (1 - label_smoothing) * at_labels - label_smoothing * evenly
            return (
                ops.cast(scale * ops.concatenate(by_states), states.dtype),
                ops.cast(scale * whole, matrix.dtype),
            )

        return sum(figures[1:], figures[0]), gradient

    return sums(states, matrix)


def _part(
    states: Tensor, matrix: Tensor, rows: Tensor, centre: Tensor, weights: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Figures `(3,)` of some tokens, gradients by states and, labels aside, by the matrix.

    `rows` and `centre`, `(tokens, model_dim)`, are the labels' rows of the matrix and those rows
    smoothed: what the softmax is compared with.
    """
    wide_states = ops.cast(states, "float32")
    logits = ops.cast(ops.matmul(states, ops.transpose(matrix)), "float32")
    # Fewer tokens than parts leave a part empty, whose maximum needs a start.
    highest = ops.max(logits, axis=-1, initial=float("-inf"))
    exponentials = ops.exp(logits - highest[:, None])
    total = ops.sum(exponentials, axis=-1)
    log_total = highest + ops.log(total)
    at_label = ops.sum(wide_states * rows, axis=-1)
    loss = log_total - ops.sum(wide_states * centre, axis=-1)
    # The label's logit is computed in another order than the highest: equal up to rounding.
    is_hit = at_label >= highest - 1e-5 * ops.maximum(1.0, ops.abs(highest))
    figures = ops.stack([loss, log_total - at_label, ops.cast(is_hit, "float32")])
    share = weights / total
    # Exponentials in the dtype of the matrix: in float32 this casts nothing.
    exponentials = ops.cast(exponentials, matrix.dtype)
    by_states = share[:, None] * ops.cast(ops.matmul(exponentials, matrix), "float32")
    by_states = by_states - weights[:, None] * centre
    scaled = ops.cast(share[:, None] * wide_states, matrix.dtype)
    by_matrix = ops.cast(ops.matmul(ops.transpose(exponentials), scaled), "float32")
    return ops.matmul(figures, weights), by_states, by_matrix
