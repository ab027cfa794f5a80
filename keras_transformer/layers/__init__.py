"""The Transformer's layers, one file for each section of the paper."""

from keras_transformer.layers.attention import MultiHeadAttention
from keras_transformer.layers.contextual_features import ContextualFeatures
from keras_transformer.layers.decoder.block import DecoderBlock
from keras_transformer.layers.decoder.stack import Decoder
from keras_transformer.layers.embeddings import Embeddings
from keras_transformer.layers.encoder.stack import Encoder, EncoderBlock
from keras_transformer.layers.feed_forward import FeedForward
from keras_transformer.layers.head import VocabularyHead
from keras_transformer.layers.heads.adaptive_softmax import AdaptiveSoftmax
from keras_transformer.layers.heads.classes import ChainHead, ClassHead
from keras_transformer.layers.heads.layer_mix import LayerMix
from keras_transformer.layers.heads.linear_chain_crf import LinearChainCRF
from keras_transformer.layers.heads.masked_tokens import MaskedTokenHead
from keras_transformer.layers.heads.pooler import Pooler
from keras_transformer.layers.heads.text_vector import VectorHead
from keras_transformer.layers.positions import LearnedPositions, SinusoidalPositions
from keras_transformer.layers.recurrences.lstm import LSTM
from keras_transformer.layers.recurrences.ssru import SSRU
from keras_transformer.layers.residual import Residual
from keras_transformer.layers.token_embedding import TokenEmbedding
from keras_transformer.layers.tokens.adaptive import AdaptiveEmbedding
from keras_transformer.layers.tokens.characters import CharacterEmbedding
from keras_transformer.layers.variants.rms_norm import RMSNorm

__all__ = [
    "LSTM",
    "SSRU",
    "AdaptiveEmbedding",
    "AdaptiveSoftmax",
    "ChainHead",
    "CharacterEmbedding",
    "ClassHead",
    "ContextualFeatures",
    "Decoder",
    "DecoderBlock",
    "Embeddings",
    "Encoder",
    "EncoderBlock",
    "FeedForward",
    "LayerMix",
    "LearnedPositions",
    "LinearChainCRF",
    "MaskedTokenHead",
    "MultiHeadAttention",
    "Pooler",
    "RMSNorm",
    "Residual",
    "SinusoidalPositions",
    "TokenEmbedding",
    "VectorHead",
    "VocabularyHead",
]
