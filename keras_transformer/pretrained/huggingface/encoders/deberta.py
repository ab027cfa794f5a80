"""DeBERTa v2 and v3 (He et al. 2021 and 2023), BERTs whose scores compare queries and keys with
vectors of distances.
"""

import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from keras_transformer.config.encoder_only import EncoderConfig
from keras_transformer.config.special_ids import SpecialIds
from keras_transformer.pretrained.errors import ImportRefusedError
from keras_transformer.pretrained.huggingface.bert_family import (
    BERT,
    ENCODERS,
    bert_config,
    encoder_table,
)
from keras_transformer.pretrained.huggingface.fields import Fields
from keras_transformer.pretrained.huggingface.json_vocabulary import read_vocabulary
from keras_transformer.pretrained.huggingface.languages import CONFIG, read_values
from keras_transformer.pretrained.sentencepiece_json import TOKENIZER
from keras_transformer.pretrained.sentencepiece_models import read_model, tokenizer_of
from keras_transformer.pretrained.tensor_files import Array, Tensors
from keras_transformer.pretrained.values import FileValues
from keras_transformer.pretrained.weight_table import Entry
from keras_transformer.text.subwords.sentencepiece_model import MASK_PIECE
from keras_transformer.text.tokenizer import Tokenizer

_PIECES = "spm.model"
_SELF = "attention.self."
_QUERY, _KEY, _VALUE = (f"{_SELF}{name}_proj" for name in ("query", "key", "value"))
DEBERTA = replace(
    BERT,
    body="deberta.",
    attention=(_QUERY, _KEY, _VALUE, *BERT.attention[3:]),
    pooler="pooler.dense",
)
# The head of v3 for masked tokens, and what of its training nothing else reads.
_OWN_HEAD, _OF_TRAINING = "lm_predictions.lm_head.", ("mask_predictions.", "lm_predictions.")
# What distances are compared by: one table, and a layer's projections of it.
DISTANCES = ("rel_embeddings.weight", "encoder.LayerNorm.weight", "encoder.LayerNorm.bias")
PROJECTIONS = tuple(
    f"{_SELF}{name}_proj.{part}" for name in ("pos_key", "pos_query") for part in ("weight", "bias")
)
# Scores are divided by the root of the width of a head times the number of their terms.
_FACTOR = 1 / math.sqrt(3)


def deberta_config(fields: Fields, special_ids: SpecialIds, tensors: Tensors) -> EncoderConfig:
    """Returns the config of a DeBERTa v2 or v3."""
    fields.require(relative_attention=True, conv_kernel_size=0, pooler_hidden_act="gelu")
    width = fields.integer("hidden_size")
    fields.require(embedding_size=width, pooler_hidden_size=width)
    kinds = fields.get("pos_att_type", [])
    kinds = [one.strip() for one in kinds.split("|")] if isinstance(kinds, str) else kinds
    if not isinstance(kinds, list) or {*map(str, kinds)} != {"c2p", "p2c"}:
        raise ImportRefusedError(
            f"{fields.path} has pos_att_type: {kinds!r}, and only c2p and p2c together are "
            "supported."
        )
    longest = fields.integer("max_position_embeddings", 512)
    most = fields.integer("max_relative_positions", -1, least=-1)
    values = {**fields.values, "type_vocab_size": fields.integer("type_vocab_size", 0)}
    config = bert_config(Fields(fields.path, values), special_ids, tensors)
    has_places = fields.flag("position_biased_input", True)
    return replace(
        config,
        positions="learned" if has_places else "none",
        max_positions=longest if has_places else None,
        max_row_length=longest,
        layer_norm_epsilon=fields.number("layer_norm_eps", 1e-7),
        disentangled_buckets=fields.integer("position_buckets", least=4),
        relative_max_distance=longest if most < 1 else most,
        pooler_activation="gelu",
    )


def deberta_table(model: Any, tensors: Tensors) -> Iterator[Entry]:
    """Yields the entries of a DeBERTa, whose vectors of distances are the products of a table."""
    yield from body_table(model, tensors)
    yield from distances_table(model, tensors)


def body_table(model: Any, tensors: Tensors) -> Iterator[Entry]:
    """Yields the entries of all but the vectors of distances."""
    masked = (f"{_OWN_HEAD}dense", f"{_OWN_HEAD}LayerNorm", f"{_OWN_HEAD}bias")
    names = replace(DEBERTA, masked=masked) if masked[2] in tensors else DEBERTA
    for entry in encoder_table(model, tensors, names):
        is_query = entry.name.rpartition(".")[0].endswith(_QUERY)
        yield replace(entry, factor=_FACTOR) if is_query else entry


def distances_table(model: Any, tensors: Tensors) -> Iterator[Entry]:
    """Yields the entries of the vectors of distances, whose values are `absent`."""
    body = DEBERTA.body if any(name.startswith(DEBERTA.body) for name in tensors) else ""
    read = _Read(tensors, model.config)
    table = read.normalised(f"{body}encoder.")
    for number, block in enumerate(model.encoder_stack.blocks):
        layer, here = block.attention.disentangled, body + DEBERTA.blocks.format(number)
        for weight, own, shared, factor in (
            (layer.distance_keys, "pos_key", _KEY, 1.0),
            (layer.distance_queries, "pos_query", _QUERY, _FACTOR),
        ):
            name = f"{here}{_SELF}{own}_proj"
            name = name if f"{name}.weight" in tensors else here + shared
            found = read.projected(table, name) * np.float32(factor)
            yield Entry(weight, "", absent=found.reshape(weight.shape))


class _Read:
    """Reads tensors of distances, which become weights of other shapes."""

    def __init__(self, tensors: Tensors, config: EncoderConfig) -> None:
        self._tensors, self._width = tensors, config.model_dim
        self._buckets, self._heads = config.disentangled_buckets, config.num_heads * config.key_dim
        self._epsilon = config.layer_norm_epsilon

    def normalised(self, encoder: str) -> Array:
        """Returns the table, `(2 * buckets, model_dim)`, after its norm if it has one."""
        table = self._tensor(f"{encoder}{DISTANCES[0]}", 2 * (self._buckets or 0), self._width)
        scale, shift = (f"{encoder}LayerNorm.{part}" for part in ("weight", "bias"))
        if scale not in self._tensors:
            return table
        centred = table - table.mean(axis=-1, keepdims=True)
        spread = np.sqrt(np.square(centred).mean(axis=-1, keepdims=True) + self._epsilon)
        gamma, beta = (self._tensor(name, self._width) for name in (scale, shift))
        return centred / spread * gamma + beta

    def projected(self, table: Array, layer: str) -> Array:
        """Returns the rows that a linear layer makes of a table's."""
        kernel = self._tensor(f"{layer}.weight", self._heads, self._width)
        return table @ kernel.T + self._tensor(f"{layer}.bias", self._heads)

    def _tensor(self, name: str, *shape: int) -> Array:
        found = self._tensors.get(name)
        if found is None or found.shape != shape:
            raise ImportRefusedError(
                f"{self._tensors.origin} must hold the tensor {name} of the shape {shape}, has "
                f"{'none' if found is None else found.shape}: config and weights are of different "
                "models."
            )
        values = found.astype(np.float64)
        if not np.isfinite(values).all():
            raise ImportRefusedError(
                f"{self._tensors.origin}: {name} holds NaN or infinite values: the file is damaged."
            )
        return values


def deberta_vocabulary(path: Path, fields: Fields) -> Tokenizer:
    """Reads a `tokenizer.json`, or the `spm.model` that was published without one.

    Raises:
        ImportRefusedError: There is neither, or it is damaged.
    """
    if (path / TOKENIZER).is_file() or not (path / _PIECES).is_file():
        return read_vocabulary(path, fields, begins=True)
    settings: FileValues = read_values(path / CONFIG)
    for name in ("do_lower_case", "split_by_punct"):
        if settings.flag(name, False):
            raise ImportRefusedError(
                f"{settings.origin} has {name}: true, which {_PIECES} alone does not do: write a "
                f"{TOKENIZER} with transformers' AutoTokenizer and save_pretrained."
            )
    model = read_model(path / _PIECES)
    ids = {piece.piece: place for place, piece in enumerate(model.pieces)}
    ids[MASK_PIECE] = len(ids)  # Which they call [MASK].
    return tokenizer_of(
        model,
        bos="[CLS]",
        eos="[SEP]",
        unk="[UNK]",
        pad="[PAD]",
        ids=ids,
        vocab_size=fields.vocab_size(),
        symbols=(MASK_PIECE,),
    )


# By `model_type`.
DEBERTAS = {
    "deberta-v2": replace(
        ENCODERS["bert"],
        config=deberta_config,
        table=deberta_table,
        vocabulary=deberta_vocabulary,
        unused=(*ENCODERS["bert"].unused, *DISTANCES, *PROJECTIONS, *_OF_TRAINING),
    )
}
