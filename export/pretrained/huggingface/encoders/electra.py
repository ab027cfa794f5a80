"""The export of ELECTRAs: generators, classifiers, taggers, and bodies alone."""

from typing import Any

from keras_transformer.export.pretrained.forms import ModelForm
from keras_transformer.export.pretrained.huggingface.architecture import Architecture
from keras_transformer.export.pretrained.huggingface.encoders.bert_family import (
    BERT,
    bert_fields,
    check_pooler,
    tensors_of,
)
from keras_transformer.export.pretrained.huggingface.encoders.common import (
    LATER_HEADS,
    check_files,
    save_tokenizer,
)
from keras_transformer.export.pretrained.outgoing import Outgoing
from keras_transformer.pretrained.huggingface.encoders.electra import ELECTRA as NAMES

_NAME = "ElectraModel"


def _check(outgoing: Outgoing) -> None:
    check_pooler(outgoing.config, _NAME, "gelu")
    if outgoing.config.head == "masked_lm" and outgoing.config.activation != "gelu":
        raise ValueError(
            f"{_NAME} has activation='gelu' in its head for masked tokens, got "
            f"{outgoing.config.activation!r}."
        )


def _fields(outgoing: Outgoing) -> dict[str, Any]:
    config = outgoing.config
    return {**bert_fields(outgoing, "electra", "Electra"), "embedding_size": config.embedded_dim}


ELECTRA = Architecture(
    ModelForm(
        _NAME,
        {
            **BERT.form.values,
            "head": LATER_HEADS,
            "pooler_activation": ("gelu",),
            "embedding_dim": None,
        },
    ),
    _fields,
    tensors_of(NAMES),
    save_tokenizer,
    _check,
    check_files,
)
