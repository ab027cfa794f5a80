"""The export of Nomic-BERTs."""

from typing import Any

from keras_transformer.export.pretrained.forms import ModelForm
from keras_transformer.export.pretrained.huggingface.architecture import Architecture
from keras_transformer.export.pretrained.huggingface.encoders.bert_family import (
    bert_fields,
    check_pooled,
    tensors_of,
)
from keras_transformer.export.pretrained.huggingface.encoders.common import (
    FREE,
    LATER_HEADS,
    check_files,
    save_tokenizer,
)
from keras_transformer.export.pretrained.outgoing import Outgoing
from keras_transformer.pretrained.huggingface.decoders.rope import rope_fields
from keras_transformer.pretrained.huggingface.encoders.nomic_bert import NOMIC_BERT as NAMES
from keras_transformer.pretrained.huggingface.encoders.nomic_bert import nomic_bert_table

_NAME = "NomicBertModel"


def _check(outgoing: Outgoing) -> None:
    config = outgoing.config
    if config.num_token_types < 1 or config.rotary_base is None:
        raise ValueError(
            f"{_NAME} has token types and rotary positions, got num_token_types="
            f"{config.num_token_types} and rotary_base={config.rotary_base}."
        )
    check_pooled(outgoing, _NAME)


def _fields(outgoing: Outgoing) -> dict[str, Any]:
    config = outgoing.config
    return {
        **bert_fields(outgoing, "nomic_bert", "NomicBert"),
        "head_dim": config.key_dim,
        **rope_fields(config.stack.blocks[0].own.rotary, config.key_dim),
    }


NOMIC_BERT = Architecture(
    ModelForm(
        _NAME,
        {
            **FREE,
            "layer_norm_epsilon": None,
            "max_positions": (None,),
            "positions": ("none",),
            "rotary_base": None,
            "rotary_scaling": None,
            "gated_feed_forward": (True,),
            "use_bias": (False,),
            "num_token_types": None,
            "pooler": None,
            "head": LATER_HEADS,
        },
    ),
    _fields,
    tensors_of(NAMES, lambda model, names, _: nomic_bert_table(model, names)),
    save_tokenizer,
    _check,
    check_files,
)
