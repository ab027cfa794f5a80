"""The Transformer's parts, one file for each section of the paper."""

from keras_transformer.layers.attention import MultiHeadAttention
from keras_transformer.layers.decoder import Decoder, DecoderBlock
from keras_transformer.layers.embedding import TokenEmbedding
from keras_transformer.layers.encoder import Encoder, EncoderBlock
from keras_transformer.layers.feed_forward import FeedForward
from keras_transformer.layers.positions import LearnedPositions, SinusoidalPositions
from keras_transformer.layers.residual import Residual

__all__ = [
    "Decoder",
    "DecoderBlock",
    "Encoder",
    "EncoderBlock",
    "FeedForward",
    "LearnedPositions",
    "MultiHeadAttention",
    "Residual",
    "SinusoidalPositions",
    "TokenEmbedding",
]
