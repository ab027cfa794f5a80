"""The encoder and the decoder of a model of any family, with the names of a graph's inputs."""

from typing import Any, NamedTuple

from keras_transformer.layers.decoder.stack import Decoder
from keras_transformer.layers.embeddings import Embeddings
from keras_transformer.layers.encoder.stack import Encoder
from keras_transformer.layers.head import VocabularyHead
from keras_transformer.layers.heads.adaptive_softmax import AdaptiveSoftmax
from keras_transformer.models.decoder_only import DecoderOnly
from keras_transformer.models.encoder_only import EncoderOnly
from keras_transformer.models.transformer import Transformer

TOKEN_TYPES = "token_type_ids"


class EncoderParts(NamedTuple):
    """An encoder.

    Attributes:
        embeddings: Embeds ids.
        stack: Its blocks.
        ids: The graph's input of ids `(batch, length)`.
        token_types: The graph's input of token types, of the same shape; None without.
        pad: The id that fills rows.
        drops_padding: Whether states are those of tokens alone, one after the other.
    """

    embeddings: Embeddings
    stack: Encoder
    ids: str
    token_types: str | None
    pad: int
    drops_padding: bool


class DecoderParts(NamedTuple):
    """A decoder.

    Attributes:
        embeddings: Embeds ids.
        stack: Its blocks.
        head: Maps states to logits.
        ids: The graph's input of ids.
    """

    embeddings: Embeddings
    stack: Decoder
    head: VocabularyHead | AdaptiveSoftmax
    ids: str


def encoder_parts(model: Transformer | EncoderOnly) -> EncoderParts:
    """Returns a model's encoder."""
    pad = model.config.special_ids.pad
    if isinstance(model, EncoderOnly):
        types = TOKEN_TYPES if model.config.num_token_types > 1 else None
        return EncoderParts(model.embeddings, model.encoder_stack, "token_ids", types, pad, True)
    return EncoderParts(
        model.source_embeddings, model.encoder_stack, "source_ids", None, pad, False
    )


def single_head(model: Any, graph: str) -> Any:
    """Returns the model of a graph: for an encoder with two heads, the model with the graph's
    head.
    """
    return model.single_heads().get(graph, model) if isinstance(model, EncoderOnly) else model


def decoder_parts(model: Transformer | DecoderOnly) -> DecoderParts:
    """Returns a model's decoder."""
    embeddings, ids = (
        (model.embeddings, "token_ids")
        if isinstance(model, DecoderOnly)
        else (model.target_embeddings, "target_ids")
    )
    return DecoderParts(embeddings, model.decoder_stack, model.head, ids)
