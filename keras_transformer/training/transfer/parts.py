"""Maps layer paths of a trained model to those of a model of another family or task, and lists the
differences.
"""

import dataclasses
from collections.abc import Callable
from typing import Any, Literal

from keras_transformer.config.decoder_only import DecoderConfig
from keras_transformer.config.embedding import EmbeddedConfig
from keras_transformer.config.encoder_only import EncoderConfig
from keras_transformer.config.families import ModelConfig
from keras_transformer.config.transformer import TransformerConfig

Part = Literal["encoder", "decoder"]
Rename = Callable[[str], str | None]

_EMBEDDINGS = {"encoder": "source_embeddings", "decoder": "target_embeddings"}
# These change what is learnt, not what the weights mean.
_OF_TRAINING = {"dropout", "attention_dropout", "activation_dropout"}
# What all families choose.
_CHOICES = [
    field.name for field in dataclasses.fields(EmbeddedConfig) if field.name not in _OF_TRAINING
]


def into_translation(part: Part, *, has_tokens: bool) -> Rename:
    """Returns where an encoder's or decoder's paths are in an encoder-decoder.

    Args:
        part: What the trained model becomes.
        has_tokens: Whether it brings the matrix that source and target share, if they do.
    """

    def rename(path: str) -> str | None:
        layer, _, rest = path.partition("/")
        if layer == "embeddings":
            shared = has_tokens and rest.startswith("tokens/")
            return f"{_EMBEDDINGS['encoder' if shared else part]}/{rest}"
        return path if layer == part or (part == "decoder" and layer == "head") else None

    return rename


def from_translation(part: Part, *, is_shared: bool) -> Rename:
    """Returns where an encoder-decoder's paths are in an encoder or decoder alone.

    Args:
        part: Which half is taken.
        is_shared: Whether source and target have one matrix of tokens, which is the source's.
    """

    def rename(path: str) -> str | None:
        layer, _, rest = path.partition("/")
        is_tokens = is_shared and layer == _EMBEDDINGS["encoder"] and rest.startswith("tokens/")
        if layer == _EMBEDDINGS[part] or is_tokens:
            return f"embeddings/{rest}"
        return path if layer == part or (part == "decoder" and layer == "head") else None

    return rename


def paths_between(trained: ModelConfig, config: ModelConfig) -> Rename:
    """Returns where the paths of a trained model are in a model of any family."""
    if isinstance(trained, TransformerConfig) == isinstance(config, TransformerConfig):
        return str
    if isinstance(trained, TransformerConfig):
        part: Part = "encoder" if isinstance(config, EncoderConfig) else "decoder"
        return from_translation(part, is_shared=trained.share_embeddings == "all")
    part = "encoder" if isinstance(trained, EncoderConfig) else "decoder"
    return into_translation(part, has_tokens=True)


def why_new(trained: ModelConfig, config: ModelConfig) -> Callable[[str], str | None]:
    """Returns what says why a weight stays new though a trained one has its path and shape.

    Each column of a head that chooses stands for a label, and so does what a classifier's pooler
    has learnt to tell apart. A pooler that was trained without labels is of use to all.
    """
    if not (isinstance(trained, EncoderConfig) and isinstance(config, EncoderConfig)):
        return lambda path: None
    if not config.labels or (trained.head, trained.labels) == (config.head, config.labels):
        return lambda path: None
    other = "other labels" if trained.head == config.head else f"head={trained.head!r}"
    layers = {"head", "pooler"} if trained.labels and trained.reads_pooler else {"head"}
    return lambda path: f"trained for {other}" if path.partition("/")[0] in layers else None


def choices_to_take(encoder: EncoderConfig | None, decoder: DecoderConfig | None) -> dict[str, Any]:
    """Returns the fields of a translation's config with which its halves compute what they did.

    Args:
        encoder: The config of the model that becomes the encoder, if there is one.
        decoder: That of the decoder; where both differ, the encoder's choices are taken.
    """
    first = encoder or decoder
    if first is None:
        return {}
    fields = {name: getattr(first, name) for name in _CHOICES}
    fields["num_encoder_layers"] = first.num_layers
    fields["num_decoder_layers"] = (decoder or first).num_layers
    return fields


def differing_choices(trained: ModelConfig, config: ModelConfig) -> list[str]:
    """Returns the choices of blocks and embeddings that differ, as `name=ours, trained theirs`.

    Weights of the same shape then compute something else than they did.
    """
    return [
        f"{name}={getattr(config, name)!r}, trained {getattr(trained, name)!r}"
        for name in _CHOICES
        if getattr(config, name) != getattr(trained, name)
    ]
