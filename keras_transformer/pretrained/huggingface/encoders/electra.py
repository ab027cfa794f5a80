"""ELECTRA (Clark et al. 2020): the generator, which fills in masks, and the discriminator, whose
body classifiers and taggers start from; embeddings may be narrower than the blocks.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from keras_transformer.config.encoder_only import EncoderConfig
from keras_transformer.config.special_ids import SpecialIds
from keras_transformer.pretrained.huggingface.bert_family import (
    BERT,
    ENCODERS,
    bert_config,
    encoder_table,
)
from keras_transformer.pretrained.huggingface.fields import Fields
from keras_transformer.pretrained.tensor_files import Tensors
from keras_transformer.pretrained.weight_table import Entry

ELECTRA = replace(
    BERT,
    body="electra.",
    masked=(
        "generator_predictions.dense",
        "generator_predictions.LayerNorm",
        "generator_lm_head.bias",
    ),
    projection="embeddings_project",
)
# What tells for each token if it was replaced, which no head of ours does.
_DISCRIMINATOR = "discriminator_predictions."


def electra_config(fields: Fields, special_ids: SpecialIds, tensors: Tensors) -> EncoderConfig:
    """Returns the config of an ELECTRA; of one for pretraining that of its body."""
    values = {**fields.values, "embedding_size": fields.integer("embedding_size", 128)}
    if fields.first_text("architectures", "ElectraModel").endswith("ForPreTraining"):
        values["architectures"] = ["ElectraModel"]
    config = bert_config(Fields(fields.path, values), special_ids, tensors)
    if config.head == "masked_lm":
        # The head's own activation, whatever the config says.
        fields.require(hidden_act="gelu")
    narrow = values["embedding_size"]
    return replace(
        config,
        embedding_dim=None if narrow == config.model_dim else narrow,
        pooler_activation="gelu",
    )


def electra_table(model: Any, tensors: Tensors) -> Iterator[Entry]:
    """Yields the entries of an ELECTRA."""
    return encoder_table(model, tensors, ELECTRA)


# By `model_type`.
ELECTRAS = {
    "electra": replace(
        ENCODERS["bert"],
        config=electra_config,
        table=electra_table,
        unread=("position_ids", "generator_lm_head.weight"),
        unused=(_DISCRIMINATOR,),
    )
}
