"""The training loss (paper, section 5.4) as a Keras loss, one value per token from labels and
logits. `train` computes its fused form, from the decoder's states.
"""

from typing import Any

import keras
from keras import ops

from keras_transformer.tensors import Tensor
from keras_transformer.training.loss.adaptive_cross_entropy import adaptive_cross_entropy
from keras_transformer.training.loss.cross_entropy import (
    check_label_smoothing,
    cross_entropy,
    over_targets,
)
from keras_transformer.training.loss.linear_cross_entropy import (
    capped_cross_entropy,
    linear_cross_entropy,
)


def smoothed_cross_entropy(labels: Tensor, logits: Tensor, label_smoothing: float) -> Tensor:
    """Cross-entropy against (1 - ε)·one_hot(label) + ε/vocabulary, in nats.

    One-hot targets are never materialized, and Keras's cross-entropy computes its gradient
    together with its value.

    Args:
        labels: Token ids `(batch, length)`, integer.
        logits: `(batch, length, vocabulary)`.
        label_smoothing: Share ε of the probability spread evenly over the vocabulary, in [0, 1).

    Returns:
        float32 `(batch, length)`.
    """
    logits = ops.cast(logits, "float32")
    at_label = ops.sparse_categorical_crossentropy(labels, logits, from_logits=True)
    if not label_smoothing:
        return at_label
    mean = cross_entropy(ops.logsumexp(logits, axis=-1), ops.mean(logits, axis=-1))
    return over_targets(at_label, mean, label_smoothing)


@keras.saving.register_keras_serializable("keras_transformer")
class SmoothedCrossEntropy(keras.losses.Loss):
    """Mean of `smoothed_cross_entropy` over the tokens that `sample_weight` keeps.

    The data pipeline's weights leave out padding: the sum is divided by the sum of the weights,
    not by the number of positions in the batch.

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
        check_label_smoothing(label_smoothing)
        super().__init__(name=name, reduction=reduction, **kwargs)
        self.label_smoothing = label_smoothing

    def call(self, y_true: Tensor, y_pred: Tensor) -> Tensor:
        """Returns the loss of each token, `(batch, length)`."""
        return smoothed_cross_entropy(y_true, y_pred, self.label_smoothing)

    def with_head(
        self,
        states: Tensor,
        matrix: Tensor,
        labels: Tensor,
        weights: Tensor,
        soft_cap: float | None = None,
    ) -> Tensor:
        """Returns the sums of `linear_cross_entropy`, of logits that a cap bounds if there is one.

        Without a cap there are never logits of the whole batch. In place of a matrix there may be
        the softmaxes of an `AdaptiveSoftmax`; labels are not smoothed then.
        """
        if isinstance(matrix, list):
            return adaptive_cross_entropy(states, matrix, labels, weights)
        arguments = states, matrix, labels, weights, self.label_smoothing
        if soft_cap is not None:
            return capped_cross_entropy(*arguments, soft_cap)
        return linear_cross_entropy(*arguments)

    def get_config(self) -> dict[str, Any]:
        """Returns the constructor's arguments."""
        return {**super().get_config(), "label_smoothing": self.label_smoothing}
