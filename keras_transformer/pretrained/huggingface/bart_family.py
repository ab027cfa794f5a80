"""BART (Lewis et al. 2020) and the translators that share its layers: Marian as Hugging Face saves
it, mBART, M2M100 and NLLB, Pegasus, and FSMT, which has a vocabulary for each side.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from keras_transformer.config import TransformerConfig
from keras_transformer.pretrained.errors import ImportRefusedError
from keras_transformer.pretrained.huggingface.fields import Fields
from keras_transformer.pretrained.huggingface.piece_vocabularies import fsmt_vocabularies
from keras_transformer.pretrained.huggingface.vocabularies import (
    Vocabularies,
    bart_vocabularies,
    m2m100_vocabularies,
    marian_vocabularies,
    mbart_vocabularies,
    pegasus_vocabularies,
)
from keras_transformer.pretrained.imported import Imported
from keras_transformer.pretrained.tensor_files import Tensors, open_huggingface
from keras_transformer.pretrained.weight_table import Entry, linear, norm

# The same matrices under further names, and tables that are computed.
_ALIASES = (
    "embed_tokens.weight",
    "lm_head.weight",
    "model.shared.weight",
    "output_projection.weight",
)
# Of models with a vocabulary for each side: the target's embeddings, and the head's matrix, which
# is the same if it is tied.
TARGET_MATRICES = ("model.decoder.embed_tokens.weight", "model.decoder.output_projection.weight")
_HEAD = "lm_head.weight"
# Left by the converters of fairseq's models.
_VERSIONS = ("encoder.version", "decoder.version")
_BODY = "model."
_SINUSOIDS = ("embed_positions.weight", "embed_positions.weights")


@dataclass(frozen=True)
class Variant:
    """The differences between the architectures.

    Attributes:
        norm: Where their norms stand.
        positions: Fields of the config that say what they add.
        embedding_norm: Whether embeddings are normalized.
        vocabularies: Takes the directory and the fields and returns tokenizers and special ids.
        defaults: What their library takes for fields that a config lacks.
        is_shared: Whether source and target have one vocabulary and one matrix of embeddings.
        sides: Fields of the config that hold each side's number of ids, if not.
        logit_bias: Whether logits have a bias.
    """

    norm: str
    positions: dict[str, Any]
    embedding_norm: bool
    vocabularies: Any
    defaults: Mapping[str, Any]
    is_shared: bool = True
    sides: tuple[str, str] = ("src_vocab_size", "tgt_vocab_size")
    logit_bias: bool = True


# Decoders of fairseq's models begin with eos.
_STARTS_WITH_EOS = {"decoder_start_token_id": 2}
_ENDS_WITH = "forced_eos_token_id"
_HALVES = {"positions": "sinusoidal", "sinusoid_layout": "halves"}
MARIAN = Variant("post", _HALVES, False, marian_vocabularies, {_ENDS_WITH: 0})
# Of few pairs of languages each side has its own vocabulary.
_MARIAN_APART = replace(MARIAN, is_shared=False, sides=("vocab_size", "decoder_vocab_size"))
PEGASUS = Variant("pre", _HALVES, False, pegasus_vocabularies, {_ENDS_WITH: 1})
# Positions count from 2 in fairseq's models.
_LEARNED = {"positions": "learned", "position_offset": 2}
_BART = {**_STARTS_WITH_EOS, _ENDS_WITH: 2}
BART = Variant("post", _LEARNED, True, bart_vocabularies, _BART)
MBART = Variant("pre", _LEARNED, True, mbart_vocabularies, _BART)
_SCALED = {**_STARTS_WITH_EOS, "scale_embedding": True}
_FAIRSEQ = {"positions": "sinusoidal", "sinusoid_layout": "tensor2tensor", "position_offset": 2}
M2M100 = Variant(
    "pre",
    _FAIRSEQ,
    False,
    m2m100_vocabularies,
    {**_SCALED, "attention_dropout": 0.1},
    logit_bias=False,
)
FSMT = Variant(
    "post",
    _FAIRSEQ,
    False,
    fsmt_vocabularies,
    {**_SCALED, _ENDS_WITH: 2, "num_beams": 5, "max_length": 200, "early_stopping": False},
    is_shared=False,
    logit_bias=False,
)


def read_bart_family(
    path: Path, values: dict[str, Any], tensors: Tensors | None = None, *, variant: Variant
) -> Imported:
    """Reads a directory, or of other tensors only what lies beside them.

    Raises:
        ImportRefusedError: A file is missing or damaged, or the config has a value that is not
            supported.
    """
    if variant is MARIAN and values.get("share_encoder_decoder_embeddings") is False:
        variant = _MARIAN_APART
    fields = Fields(path / "config.json", {**variant.defaults, **values})
    fields.require_equal(
        ("encoder_attention_heads", "decoder_attention_heads"),
        ("encoder_ffn_dim", "decoder_ffn_dim"),
    )
    if variant.is_shared:
        fields.require(share_encoder_decoder_embeddings=True, tie_word_embeddings=True)
    vocabularies: Vocabularies = variant.vocabularies(path, fields)
    tensors = _with_body(open_huggingface(path) if tensors is None else tensors)
    sharing = _sharing(tensors, variant)
    config = _config(fields, variant, vocabularies, sharing)
    learned = config.positions == "learned"
    return Imported(
        values["model_type"],
        config,
        lambda model: list(bart_table(model, tensors)),
        tensors,
        vocabularies.tokenizers,
        unread=(*_ALIASES, *_VERSIONS, *(() if learned else _SINUSOIDS)),
        search=vocabularies.search,
    )


def _with_body(tensors: Tensors) -> Tensors:
    """Returns the tensors with the names of a translator: `BartModel` writes them without body.

    Its head is the embeddings, so that nothing is missing for generation.
    """
    if any(name.startswith(_BODY) for name in tensors):
        return tensors
    return tensors.renamed(lambda name: _BODY + name)


def _sharing(tensors: Tensors, variant: Variant) -> str:
    """Returns which matrices of the embeddings and the head are one, whatever the config says.

    Raises:
        ImportRefusedError: They must all be one, and the file's differ.
    """
    if variant.is_shared:
        first, *others = [name for name in tensors if name.endswith(_ALIASES)] or [""]
        for name in others:
            if not np.array_equal(tensors[first], tensors[name]):
                raise ImportRefusedError(
                    f"{tensors.origin} holds {first} and {name}, which differ: only a model whose "
                    "embeddings and head are one matrix is supported."
                )
        return "all"
    embeddings = TARGET_MATRICES[0]
    if all(name in tensors for name in (embeddings, _HEAD)) and not np.array_equal(
        tensors[embeddings], tensors[_HEAD]
    ):
        raise ImportRefusedError(
            f"{tensors.origin} holds {embeddings} and {_HEAD}, which differ: only a head that is "
            "tied to the target's embeddings is supported."
        )
    if not all(name in tensors for name in TARGET_MATRICES):
        return "target"
    head = tensors[TARGET_MATRICES[1]]
    return "target" if np.array_equal(tensors[embeddings], head) else "none"


def _config(
    fields: Fields, variant: Variant, vocabularies: Vocabularies, sharing: str
) -> TransformerConfig:
    positions = dict(variant.positions)
    if positions["positions"] == "learned":
        positions["max_positions"] = fields.integer("max_position_embeddings")
    sides = ("vocab_size",) * 2 if variant.is_shared else variant.sides
    source_size, target_size = (fields.vocab_size(name) for name in sides)
    return TransformerConfig(
        source_vocab_size=source_size,
        target_vocab_size=target_size,
        share_embeddings=sharing,  # type: ignore[arg-type]
        model_dim=fields.integer("d_model"),
        feed_forward_dim=fields.integer("encoder_ffn_dim"),
        num_heads=fields.integer("encoder_attention_heads"),
        num_encoder_layers=fields.integer("encoder_layers"),
        num_decoder_layers=fields.integer("decoder_layers"),
        activation=fields.activation("activation_function"),
        dropout=fields.number("dropout", 0.1),
        attention_dropout=fields.number("attention_dropout", 0.0),
        activation_dropout=fields.number("activation_dropout", 0.0),
        norm=variant.norm,  # type: ignore[arg-type]
        layer_norm_epsilon=1e-5,
        embedding_norm=variant.embedding_norm,
        scale_embeddings=fields.flag("scale_embedding", False),
        logit_bias=variant.logit_bias,
        special_ids=vocabularies.special_ids,
        marks=vocabularies.marks,
        **positions,
    )


def bart_table(model: Any, tensors: Collection[str] = ()) -> Iterator[Entry]:
    """Yields the entries of a model.

    Args:
        model: Ours.
        tensors: The names that a file has; those that Hugging Face writes if empty.
    """
    source, target = model.source_embeddings.tokens, model.target_embeddings.tokens
    if source is target:
        names = ("model.shared.weight", _HEAD, "model.encoder.embed_tokens.weight")
        shared = next((name for name in names if name in tensors), names[0])
        yield Entry(source.matrix, shared)
    else:
        yield Entry(source.matrix, "model.encoder.embed_tokens.weight")
        known = (*TARGET_MATRICES, _HEAD)
        found = [name for name in known if name in tensors] or TARGET_MATRICES
        yield Entry(target.matrix, found[0])
    if model.head.linear is not None:
        yield Entry(model.head.linear.kernel, TARGET_MATRICES[1], transposed=True)
    if model.head.bias is not None:
        yield Entry(model.head.bias, "final_logits_bias", lead=1, absent=0.0)
    sides = (
        ("encoder", model.source_embeddings, model.encoder_stack),
        ("decoder", model.target_embeddings, model.decoder_stack),
    )
    for side, embeddings, stack in sides:
        if embeddings.max_positions is not None:
            yield Entry(embeddings.positions.matrix, f"model.{side}.embed_positions.weight")
        if embeddings.layer_norm is not None:
            yield from norm(embeddings.layer_norm, f"model.{side}.layernorm_embedding")
        for number, block in enumerate(stack.blocks):
            here = f"model.{side}.layers.{number}"
            for part in block.sub_layers:
                yield from _sub_layer(part, here)
        if stack.final_norm is not None:
            yield from norm(stack.final_norm, f"model.{side}.layer_norm")


def _sub_layer(part: Any, here: str) -> Iterator[Entry]:
    if part.attends_to is None:
        yield from linear(part.layer.hidden, f"{here}.fc1")
        yield from linear(part.layer.output_linear, f"{here}.fc2")
        yield from norm(part.residual.layer_norm, f"{here}.final_layer_norm")
        return
    kind = "self_attn" if part.attends_to == "own" else "encoder_attn"
    for name, layer in zip(("q", "k", "v", "out"), part.layer.linear_layers, strict=True):
        yield from linear(layer, f"{here}.{kind}.{name}_proj")
    yield from norm(part.residual.layer_norm, f"{here}.{kind}_layer_norm")
