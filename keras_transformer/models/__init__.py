"""Models: takes a config and returns a Transformer."""

from keras_transformer.models.transformer import Transformer, build_transformer, probabilities

__all__ = ["Transformer", "build_transformer", "probabilities"]
