"""What a translation model is watched by: token accuracy and perplexity, padding left out."""

from typing import Any

import keras
from keras import ops

from keras_transformer.training.loss import smoothed_cross_entropy

Tensor = Any


@keras.saving.register_keras_serializable("keras_transformer")
class TokenAccuracy(keras.metrics.MeanMetricWrapper):
    """Share of tokens whose label has the highest logit, weighted by `sample_weight`."""

    def __init__(self, name: str = "token_accuracy", dtype: Any = None) -> None:
        super().__init__(_is_best, name=name, dtype=dtype)

    def get_config(self) -> dict[str, Any]:
        """Returns the constructor's arguments."""
        return {"name": self.name, "dtype": self.dtype}


@keras.saving.register_keras_serializable("keras_transformer")
class Perplexity(keras.metrics.MeanMetricWrapper):
    """exp of the mean cross-entropy in nats a token, without label smoothing."""

    def __init__(self, name: str = "perplexity", dtype: Any = None) -> None:
        super().__init__(_cross_entropy, name=name, dtype=dtype)

    def result(self) -> Tensor:
        """Returns the perplexity of all tokens seen since the last reset."""
        return ops.exp(super().result())

    def get_config(self) -> dict[str, Any]:
        """Returns the constructor's arguments."""
        return {"name": self.name, "dtype": self.dtype}


def _is_best(labels: Tensor, logits: Tensor) -> Tensor:
    best = ops.argmax(logits, axis=-1)
    return ops.cast(ops.equal(best, ops.cast(labels, best.dtype)), "float32")


def _cross_entropy(labels: Tensor, logits: Tensor) -> Tensor:
    return smoothed_cross_entropy(labels, logits, label_smoothing=0.0)
