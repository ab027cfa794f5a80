"""Metrics that training reports: token accuracy and perplexity, without padding."""

from collections.abc import Callable
from typing import Any

import keras
from keras import ops

from keras_transformer.tensors import Tensor
from keras_transformer.training.loss.cross_entropy import is_best, logit_of
from keras_transformer.training.loss.label_smoothing import smoothed_cross_entropy

# Name of the newest batch's loss in the logs: `fit` itself reports means over the round.
BATCH_LOSS = "batch_loss"


class LastMean(keras.metrics.Mean):
    """Weighted mean of the newest batch alone."""

    def update_state(self, values: Tensor, sample_weight: Tensor = None) -> None:
        """Forgets the previous batches and takes this one."""
        self.reset_state()
        super().update_state(values, sample_weight)


class TokenMean(keras.metrics.MeanMetricWrapper):
    """Mean of a figure over all tokens seen, weighted by `sample_weight`.

    Keras itself takes the mean of each row first, so that tokens of short batches count more.

    Args:
        figure: Takes labels and logits and returns a value for each token.
        **arguments: Passed to `keras.metrics.MeanMetricWrapper`.
    """

    def __init__(self, figure: Callable[[Tensor, Tensor], Tensor], **arguments: Any) -> None:
        super().__init__(figure, **arguments)
        self.figure = figure

    def update_state(self, y_true: Tensor, y_pred: Tensor, sample_weight: Tensor = None) -> None:
        """Takes labels `(batch, length)` and logits `(batch, length, vocabulary)`."""
        values = ops.reshape(self.figure(y_true, y_pred), (-1,))
        weights = None if sample_weight is None else ops.reshape(sample_weight, (-1,))
        keras.metrics.Mean.update_state(self, values, weights)

    def add_mean(self, mean: Tensor, tokens: Tensor) -> None:
        """Takes a batch whose figure is already known, for example from the loss.

        Args:
            mean: Mean of the figure over the batch's tokens.
            tokens: Sum of the tokens' weights.
        """
        keras.metrics.Mean.update_state(self, mean, tokens)


@keras.saving.register_keras_serializable("keras_transformer")
class TokenAccuracy(TokenMean):
    """Share of tokens whose label has the highest logit, weighted by `sample_weight`."""

    def __init__(self, name: str = "token_accuracy", dtype: Any = None) -> None:
        super().__init__(_is_best, name=name, dtype=dtype)

    def get_config(self) -> dict[str, Any]:
        """Returns the constructor's arguments."""
        return {"name": self.name, "dtype": self.dtype}


@keras.saving.register_keras_serializable("keras_transformer")
class Perplexity(TokenMean):
    """exp of the mean cross-entropy in nats per token, without label smoothing."""

    def __init__(self, name: str = "perplexity", dtype: Any = None) -> None:
        super().__init__(_cross_entropy, name=name, dtype=dtype)

    def result(self) -> Tensor:
        """Returns the perplexity of all tokens seen since the last reset."""
        return ops.exp(super().result())

    def get_config(self) -> dict[str, Any]:
        """Returns the constructor's arguments."""
        return {"name": self.name, "dtype": self.dtype}


def _is_best(labels: Tensor, logits: Tensor) -> Tensor:
    logits = ops.cast(logits, "float32")
    best = is_best(logit_of(labels, logits), ops.max(logits, axis=-1))
    return ops.cast(best, "float32")


def _cross_entropy(labels: Tensor, logits: Tensor) -> Tensor:
    return smoothed_cross_entropy(labels, logits, label_smoothing=0.0)
