"""The export of DeBERTas, while the run they were imported to keeps the table from which their
vectors of distances are computed.
"""

from functools import partial
from typing import Any

import numpy as np

from keras_transformer.export.pretrained.forms import ModelForm
from keras_transformer.export.pretrained.huggingface.architecture import Architecture
from keras_transformer.export.pretrained.huggingface.encoders.bert_family import BERT, bert_fields
from keras_transformer.export.pretrained.huggingface.encoders.common import (
    LATER_HEADS,
    check_files,
    save_tokenizer,
)
from keras_transformer.export.pretrained.outgoing import Outgoing
from keras_transformer.pretrained.huggingface.encoders import deberta
from keras_transformer.pretrained.tensor_files import Tensors
from keras_transformer.pretrained.weight_table import Array, dump_weights

_NAME = "DebertaV2Model"


def _kept(outgoing: Outgoing) -> dict[str, Array]:
    """Returns the table of distances, its norm, and projections of its own, if there are such."""
    body = deberta.DEBERTA.body
    here = "" if outgoing.config.head in (None, "embedding") else body
    return {
        here + name.removeprefix(body): array
        for name, array in outgoing.unused.items()
        if name.endswith((*deberta.DISTANCES, *deberta.PROJECTIONS))
    }


def _tensors(outgoing: Outgoing) -> dict[str, Array]:
    kept = _kept(outgoing)
    return {**kept, **dump_weights(deberta.body_table(outgoing.model, _opened(kept)))}


def _opened(arrays: dict[str, Array]) -> Tensors:
    return Tensors({name: partial(np.asarray, array) for name, array in arrays.items()}, "the run")


def _check(outgoing: Outgoing) -> None:
    config = outgoing.config
    if config.disentangled_buckets is None or not _kept(outgoing):
        raise ValueError(
            f"{_NAME} has a table of distances, which only the run keeps that it was imported to: "
            f"export that run. Got disentangled_buckets={config.disentangled_buckets}."
        )
    for entry in deberta.distances_table(outgoing.model, _opened(_tensors(outgoing))):
        if not np.allclose(entry.weight, np.asarray(entry.absent), atol=1e-5):
            raise ValueError(
                f"{_NAME} makes the vectors of distances of all blocks of one table, but those of "
                "this model were trained since it was imported."
            )


def _fields(outgoing: Outgoing) -> dict[str, Any]:
    config, kept = outgoing.config, _kept(outgoing)
    return {
        **bert_fields(outgoing, "deberta-v2", "DebertaV2"),
        "max_position_embeddings": config.max_row_length,
        "position_biased_input": config.positions == "learned",
        "relative_attention": True,
        "pos_att_type": ["p2c", "c2p"],
        "position_buckets": config.disentangled_buckets,
        "max_relative_positions": config.relative_max_distance,
        "share_att_key": not any("pos_key_proj" in name for name in kept),
        "norm_rel_ebd": "layer_norm" if any("LayerNorm" in name for name in kept) else "none",
        "pooler_hidden_size": config.model_dim,
        "pooler_hidden_act": "gelu",
    }


DEBERTA = Architecture(
    ModelForm(
        _NAME,
        {
            **BERT.form.values,
            "disentangled_buckets": None,
            "head": LATER_HEADS,
            "pooler_activation": ("gelu",),
            "positions": ("learned", "none"),
            "relative_max_distance": None,
        },
    ),
    _fields,
    _tensors,
    save_tokenizer,
    _check,
    check_files,
)
