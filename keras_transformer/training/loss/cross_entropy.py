"""Cross-entropy with label smoothing (paper, section 5.4): a token's loss and whether it is a hit.

Defined once for whole logits (`label_smoothing.py`, `metrics.py`) and for those that the fused form
computes a part at a time (`linear_loss.py`). With logits z and the target distribution
t = (1 - ε)·one_hot(label) + ε/vocabulary, the loss in nats is

    Σ t·(logsumexp(z) - z) = logsumexp(z) - Σ t·z

Neither t nor log-probabilities are ever materialized: a mean over t needs only the label's value
and the mean over the vocabulary.
"""

import keras
from keras import ops

from keras_transformer.tensors import Tensor

# A label's logit may be computed in another order than the highest one: they differ by rounding.
_ROUNDING = 1e-5


def check_label_smoothing(label_smoothing: float) -> None:
    """Raises `ValueError` unless the share lies in [0, 1)."""
    if not 0 <= label_smoothing < 1:
        raise ValueError(f"label_smoothing must lie in [0, 1), got {label_smoothing}.")


def over_targets(at_label: Tensor, mean: Tensor, label_smoothing: float) -> Tensor:
    """Averages values over a token's target distribution.

    The average is linear, so it applies to negative log-likelihoods, to logits, and to the rows of
    the matrix that logits come from.

    Args:
        at_label: The label's value.
        mean: Mean of the values of the whole vocabulary.
        label_smoothing: Share ε of the probability spread evenly over the vocabulary, in [0, 1).
    """
    if not label_smoothing:
        return at_label
    return (1 - label_smoothing) * at_label + label_smoothing * mean


def cross_entropy(log_total: Tensor, expected: Tensor) -> Tensor:
    """Returns the cross-entropy in nats.

    Args:
        log_total: logsumexp of the logits.
        expected: Mean of the logits over the targets, such as the label's logit.
    """
    return log_total - expected


def is_best(at_label: Tensor, highest: Tensor) -> Tensor:
    """Returns whether the label has the highest logit, alone or tied with others.

    Args:
        at_label: float32, the label's logit.
        highest: float32, the highest logit.
    """
    return at_label >= highest - _ROUNDING * ops.maximum(1.0, ops.abs(highest))


def count_tokens(weights: Tensor) -> Tensor:
    """Returns the divisor of a sum over tokens: the sum of their weights, at least 1."""
    return ops.maximum(ops.sum(weights), 1.0)


def logit_of(labels: Tensor, logits: Tensor) -> Tensor:
    """Returns each label's logit: `(..., vocabulary)` → `(...)`."""
    # Indexes the flat logits, because `take_along_axis` would copy them. TensorFlow may write a sum
    # over one of its summands, and labels may be in an array that a generator gave and keeps:
    # what is summed is of another dtype, and so never in that memory.
    index = "int64" if keras.backend.backend() == "tensorflow" else "int32"
    labels = ops.cast(ops.convert_to_tensor(labels), index)
    rows = ops.arange(ops.size(labels), dtype=index)
    places = rows * logits.shape[-1] + ops.reshape(labels, (-1,))
    return ops.reshape(ops.take(ops.reshape(logits, (-1,)), places), ops.shape(labels))
