"""The loss and the metrics that a model is compiled with if none are given."""

from typing import Any

import keras

from keras_transformer.config.encoder_only import EncoderConfig
from keras_transformer.config.families import ModelConfig
from keras_transformer.serializable import PACKAGE


def own_loss(config: ModelConfig) -> dict[str, Any]:
    """Returns the arguments of `compile` that a family and its head decide; {} if none fits.

    Logits of tokens get the cross-entropy without label smoothing, its sum divided by that of the
    sample weights, which leave out padding; those of a text get the cross-entropy of its class, or
    of each label by itself if it may have several, and a number gets the squared error, or with
    a sigmoid the cross-entropy of the two sides that it lies between.
    """
    head = config.head if isinstance(config, EncoderConfig) else "tokens"
    if isinstance(config, EncoderConfig) and config.crf:
        return {}  # The likelihood of a text's tags is no function of labels and logits alone.
    if head in ("tokens", "masked_lm", "tagging"):
        metrics = [_registered("TokenAccuracy")]
        metrics += [] if head == "tagging" else [_registered("Perplexity")]
        loss = _registered("SmoothedCrossEntropy", label_smoothing=0.0)
        return {"loss": loss, "weighted_metrics": metrics}
    if isinstance(config, EncoderConfig) and config.multi_label:
        accuracy = keras.metrics.BinaryAccuracy("accuracy", threshold=0.0)
        loss = keras.losses.BinaryCrossentropy(from_logits=True)
        return {"loss": loss, "weighted_metrics": [accuracy]}
    if head == "classification":
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        return {"loss": loss, "weighted_metrics": ["accuracy"]}
    if head == "regression":
        is_share = config.value_activation == "sigmoid"  # type: ignore[union-attr]
        loss = keras.losses.BinaryCrossentropy() if is_share else keras.losses.MeanSquaredError()
        return {"loss": loss}
    return {}


def _registered(name: str, **arguments: Any) -> Any:
    """Makes an object of a class that stands with training, which imports the models."""
    return keras.saving.get_registered_object(f"{PACKAGE}>{name}").from_config(arguments)
