"""Transformers as Keras models, built from a config."""

from keras_transformer.models.transformer import Transformer, build_transformer, probabilities

__all__ = ["Transformer", "build_transformer", "probabilities"]
