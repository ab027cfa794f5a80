"""Where the parts of a trained model stand in a model of another family: renames layer paths, and
names the choices that differ.
"""

import dataclasses
from collections.abc import Callable
from typing import Literal

from keras_transformer.config.families import ModelConfig
from keras_transformer.config.stack import BlockConfig
from keras_transformer.config.transformer import TransformerConfig

Part = Literal["encoder", "decoder"]
Rename = Callable[[str], str | None]

_EMBEDDINGS = {"encoder": "source_embeddings", "decoder": "target_embeddings"}
# These change what is learnt, not what the weights mean.
_OF_TRAINING = {"dropout", "attention_dropout", "activation_dropout"}


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


def differing_choices(trained: ModelConfig, config: ModelConfig) -> list[str]:
    """Returns the choices of blocks and positions that differ, as `name=ours, trained theirs`.

    Weights of the same shape then compute something else than they did.
    """
    names = [field.name for field in dataclasses.fields(BlockConfig)] + ["positions"]
    found = []
    for name in names:
        ours, theirs = getattr(config, name), getattr(trained, name)
        if name not in _OF_TRAINING and ours != theirs:
            found.append(f"{name}={ours!r}, trained {theirs!r}")
    scale = {True: "with", False: "without"}
    ours, theirs = _scales(config), _scales(trained)
    if ours != theirs:
        found.append(f"embeddings {scale[ours]} the factor √model_dim, trained {scale[theirs]}")
    return found


def _scales(config: ModelConfig) -> bool:
    return isinstance(config, TransformerConfig) or config.scale_embeddings
