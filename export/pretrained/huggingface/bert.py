"""Encoders alone as Hugging Face's BERT, with the heads that it has, too."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from keras_transformer.pretrained.huggingface.bert_family import BERT as NAMES
from keras_transformer.pretrained.huggingface.bert_family import encoder_table
from keras_transformer.pretrained.weight_table import Array, dump_weights

from ..forms import Form
from ..outgoing import Outgoing
from .architecture import THEIR_ACTIVATIONS, Architecture
from .vocabularies import check_json_tokenizer, save_json_tokenizer

# Our head → the ending of the architecture's name.
_ENDINGS = {
    None: "Model",
    "masked_lm": "ForMaskedLM",
    "pretraining": "ForPreTraining",
    "classification": "ForSequenceClassification",
    "regression": "ForSequenceClassification",
    "tagging": "ForTokenClassification",
    "spans": "ForQuestionAnswering",
}


def _check(outgoing: Outgoing) -> None:
    config = outgoing.config
    check_json_tokenizer(outgoing, "BertModel")
    if config.num_token_types < 1:
        raise ValueError("BertModel needs num_token_types of at least 1, got 0.")
    if not config.pooler and config.head in ("pretraining", "classification", "regression"):
        raise ValueError(f"BertModel with head={config.head!r} needs pooler=True, got False.")


def _config(outgoing: Outgoing) -> dict[str, Any]:
    config = outgoing.config
    labels = config.labels or (("LABEL_0",) if config.head == "regression" else ())
    return {
        "model_type": "bert",
        "architectures": [f"Bert{_ENDINGS[config.head]}"],
        "vocab_size": config.vocab_size,
        "hidden_size": config.model_dim,
        "intermediate_size": config.feed_forward_dim,
        "num_attention_heads": config.num_heads,
        "num_hidden_layers": config.num_layers,
        "hidden_act": THEIR_ACTIVATIONS[config.activation],
        "hidden_dropout_prob": config.dropout,
        "attention_probs_dropout_prob": config.attention_dropout,
        "layer_norm_eps": config.layer_norm_epsilon,
        "max_position_embeddings": config.max_positions,
        "type_vocab_size": config.num_token_types,
        **_names(labels),
    }


def _names(labels: Sequence[str]) -> dict[str, Any]:
    """Returns the fields that name classes or tags, if there are any."""
    if not labels:
        return {}
    return {
        "id2label": {str(place): label for place, label in enumerate(labels)},
        "label2id": {label: place for place, label in enumerate(labels)},
    }


def _tensors(outgoing: Outgoing) -> dict[str, Array]:
    # A bare model's names have no beginning; those with a head have.
    beginnings: Any = () if outgoing.config.head is None else (NAMES.body,)
    return dump_weights(encoder_table(outgoing.model, beginnings, NAMES))


def _save_tokenizer(outgoing: Outgoing, directory: Path) -> None:
    special = outgoing.config.special_ids
    save_json_tokenizer(outgoing.source, directory, cls=special.bos, sep=special.eos)


BERT = Architecture(
    Form(
        "BertModel",
        {
            "activation": tuple(THEIR_ACTIVATIONS),
            "layer_norm_epsilon": None,
            "max_positions": None,
            "num_token_types": None,
            "pooler": None,
            "head": tuple(_ENDINGS),
            "labels": None,
        },
    ),
    _config,
    _tensors,
    _save_tokenizer,
    _check,
)
