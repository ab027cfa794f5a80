"""The training loss: cross-entropy with label smoothing (paper, section 5.4), one value a token."""

from typing import Any

import keras
from keras import ops

Tensor = Any


def smoothed_cross_entropy(labels: Tensor, logits: Tensor, label_smoothing: float) -> Tensor:
    """Cross-entropy against (1 - ε)·one_hot(label) + ε/vocabulary, in nats.

    Written as -(1 - ε)·z_label - ε·mean(z) + logsumexp(z), with z the logits: one-hot targets
    are never made, and the gradient is formed in a single tensor of the logits' size.

    Args:
        labels: Token ids `(batch, length)`, integer.
        logits: `(batch, length, vocabulary)`.
        label_smoothing: Share ε of the probability spread evenly over the vocabulary, in [0, 1).

    Returns:
        float32 `(batch, length)`.
    """
    logits = ops.cast(logits, "float32")
    hard = ops.sparse_categorical_crossentropy(labels, logits, from_logits=True)
    if not label_smoothing:
        return hard
    # hard = lse - z_label, so that (1 - ε)·hard + ε·(lse - mean(z)) is the sum above.
    even = ops.logsumexp(logits, axis=-1) - ops.mean(logits, axis=-1)
    return (1 - label_smoothing) * hard + label_smoothing * even


@keras.saving.register_keras_serializable("keras_transformer")
class SmoothedCrossEntropy(keras.losses.Loss):
    """Mean of `smoothed_cross_entropy` over the tokens that `sample_weight` keeps.

    Padding is left out by the pipeline's weights: the sum is divided by the sum of the weights,
    not by the number of places in the batch.

    Args:
        label_smoothing: Share of the probability spread evenly over the vocabulary.
    """

    def __init__(
        self,
        label_smoothing: float = 0.1,
        reduction: str = "mean_with_sample_weight",
        name: str = "smoothed_cross_entropy",
        **kwargs: Any,
    ) -> None:
        if not 0 <= label_smoothing < 1:
            raise ValueError(f"label_smoothing must lie in [0, 1), got {label_smoothing}.")
        super().__init__(name=name, reduction=reduction, **kwargs)
        self.label_smoothing = label_smoothing

    def call(self, y_true: Tensor, y_pred: Tensor) -> Tensor:
        """Returns the loss of each token, `(batch, length)`."""
        return smoothed_cross_entropy(y_true, y_pred, self.label_smoothing)

    def get_config(self) -> dict[str, Any]:
        """Returns the constructor's arguments."""
        return {**super().get_config(), "label_smoothing": self.label_smoothing}
