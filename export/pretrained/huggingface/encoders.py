"""Encoders alone, with heads, as Hugging Face's BERT, RoBERTa, DistilBERT, MPNet, ALBERT, XLNet."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from keras_transformer.export.pretrained.forms import ModelForm
from keras_transformer.export.pretrained.huggingface.architecture import (
    THEIR_ACTIVATIONS,
    Architecture,
)
from keras_transformer.export.pretrained.huggingface.sentence_vectors import (
    activation_path,
    check_embedding,
    save_embedding,
)
from keras_transformer.export.pretrained.huggingface.vocabularies import (
    check_json_tokenizer,
    save_json_tokenizer,
)
from keras_transformer.export.pretrained.huggingface.xlm_roberta import (
    check_fairseq_ids,
    save_fairseq_tokenizer,
)
from keras_transformer.export.pretrained.outgoing import Outgoing
from keras_transformer.pretrained.cross_encoders import ACTIVATION, SECTION, VALUE_ACTIVATIONS
from keras_transformer.pretrained.huggingface import bert_family, xlnet
from keras_transformer.pretrained.huggingface.bert_family import Names, encoder_table
from keras_transformer.pretrained.huggingface.encoder_vocabulary import (
    PROCESSORS,
    pair_separators_of,
)
from keras_transformer.pretrained.sentence_transformers import DENSE
from keras_transformer.pretrained.weight_table import Array, dump_weights
from keras_transformer.text.tokenizer import Tokenizer

# Our head → the ending of the architecture's name.
_ENDINGS = {
    None: "Model",
    "masked_lm": "ForMaskedLM",
    "pretraining": "ForPreTraining",
    "classification": "ForSequenceClassification",
    "regression": "ForSequenceClassification",
    "tagging": "ForTokenClassification",
    "spans": "ForQuestionAnswering",
    # Further files say how a vector is made of its states.
    "embedding": "Model",
}
_OF_WHOLE_TEXTS = ("pretraining", "classification", "regression")
# The models after BERT dropped its prediction of the next sentence.
_LATER_HEADS = tuple(head for head in _ENDINGS if head != "pretraining")
# A text's tokens have no types there, or one.
_INPUTS = ("input_ids", "attention_mask")


def _check_tokenizer(outgoing: Outgoing, name: str) -> None:
    check_embedding(outgoing.config)
    if _is_sentencepiece(outgoing):
        check_fairseq_ids(outgoing, name)
    else:
        check_json_tokenizer(outgoing, name)


def _is_sentencepiece(outgoing: Outgoing) -> bool:
    return outgoing.source.kind == "sentencepiece"


def _check_bert(outgoing: Outgoing, name: str = "BertModel") -> None:
    config = outgoing.config
    _check_tokenizer(outgoing, name)
    if config.num_token_types < 1:
        raise ValueError(f"{name} needs num_token_types of at least 1, got 0.")
    if not config.pooler and config.head in _OF_WHOLE_TEXTS:
        raise ValueError(f"{name} with head={config.head!r} needs pooler=True, got False.")


def _check_distilbert(outgoing: Outgoing) -> None:
    config, name = outgoing.config, "DistilBertModel"
    _check_tokenizer(outgoing, name)
    _check_pooler(config, name, "relu")


def _check_pooler(config: Any, name: str, activation: str) -> None:
    has_pooler = config.head in _OF_WHOLE_TEXTS
    if config.has_pooler != has_pooler or (has_pooler and config.pooler_activation != activation):
        raise ValueError(
            f"{name} has a pooler in classifiers alone, with pooler_activation={activation!r}, got "
            f"head={config.head!r}, pooler={config.pooler} and pooler_activation="
            f"{config.pooler_activation!r}."
        )


def _check_roberta(outgoing: Outgoing) -> None:
    config = outgoing.config
    _check_bert(outgoing, "RobertaModel")
    offset = config.special_ids.pad + 1
    if config.position_offset != offset:
        raise ValueError(
            f"RobertaModel counts positions from its padding's id: position_offset must be {offset}"
            f", got {config.position_offset}."
        )
    _check_masked_head(config, "RobertaForMaskedLM")


def _check_mpnet(outgoing: Outgoing) -> None:
    config, name = outgoing.config, "MPNetModel"
    _check_tokenizer(outgoing, name)
    if config.special_ids.pad != 1:
        raise ValueError(f"{name} has the padding's id 1, got {config.special_ids.pad}.")
    if not config.pooler and config.head in ("classification", "regression"):
        raise ValueError(f"{name} with head={config.head!r} needs pooler=True, got False.")
    _check_masked_head(config, "MPNetForMaskedLM")


def _check_albert(outgoing: Outgoing) -> None:
    config, name = outgoing.config, "AlbertModel"
    _check_bert(outgoing, name)
    if config.embedding_dim is None:
        raise ValueError(f"{name} needs embedding_dim and its linear layer, got None.")


def _check_xlnet(outgoing: Outgoing) -> None:
    config, name = outgoing.config, "XLNetModel"
    check_json_tokenizer(outgoing, name)
    if config.special_ids.cls is None:
        raise ValueError(f"{name} ends rows with a cls: special_ids must have one, got None.")
    _check_pooler(config, name, "tanh")
    if config.query_stream != (config.head == "masked_lm"):
        raise ValueError(f"{name} fills masks with a query_stream: query_stream must be True.")


def _check_masked_head(config: Any, name: str) -> None:
    if config.head == "masked_lm" and config.activation != "gelu":
        raise ValueError(f"{name} needs activation='gelu' in its head, got {config.activation!r}.")


def _bert_config(outgoing: Outgoing, kind: str = "bert", name: str = "Bert") -> dict[str, Any]:
    config = outgoing.config
    return {
        "model_type": kind,
        "architectures": [f"{name}{_ENDINGS[config.head]}"],
        "vocab_size": config.vocab_size,
        "hidden_size": config.model_dim,
        "intermediate_size": config.feed_forward_dim,
        "num_attention_heads": config.num_heads,
        "num_hidden_layers": config.num_layers,
        "hidden_act": THEIR_ACTIVATIONS[config.activation],
        "hidden_dropout_prob": config.dropout,
        "attention_probs_dropout_prob": config.attention_dropout,
        "layer_norm_eps": config.layer_norm_epsilon,
        "max_position_embeddings": config.max_positions + config.position_offset,
        "type_vocab_size": config.num_token_types,
        **_labels(config),
    }


def _roberta_config(outgoing: Outgoing) -> dict[str, Any]:
    """The same model is called XLM-RoBERTa with the vocabulary of that."""
    names = ("xlm-roberta", "XLMRoberta") if _is_sentencepiece(outgoing) else ("roberta", "Roberta")
    return _bert_config(outgoing, *names)


def _distilbert_config(outgoing: Outgoing) -> dict[str, Any]:
    config = outgoing.config
    return {
        "model_type": "distilbert",
        "architectures": [f"DistilBert{_ENDINGS[config.head]}"],
        "vocab_size": config.vocab_size,
        "dim": config.model_dim,
        "hidden_dim": config.feed_forward_dim,
        "n_heads": config.num_heads,
        "n_layers": config.num_layers,
        "activation": THEIR_ACTIVATIONS[config.activation],
        "dropout": config.dropout,
        "attention_dropout": config.attention_dropout,
        "max_position_embeddings": config.max_positions,
        "sinusoidal_pos_embds": False,
        **_labels(config),
    }


def _mpnet_config(outgoing: Outgoing) -> dict[str, Any]:
    fields = _bert_config(outgoing, "mpnet", "MPNet")
    del fields["type_vocab_size"]
    return {**fields, "relative_attention_num_buckets": outgoing.config.relative_buckets}


def _albert_config(outgoing: Outgoing) -> dict[str, Any]:
    config = outgoing.config
    layers = config.num_layers // config.blocks_per_group
    return {
        **_bert_config(outgoing, "albert", "Albert"),
        "embedding_size": config.embedding_dim,
        "num_hidden_layers": layers,
        "num_hidden_groups": config.block_groups or layers,
        "inner_group_num": config.blocks_per_group,
    }


def _xlnet_config(outgoing: Outgoing) -> dict[str, Any]:
    config, id_of = outgoing.config, outgoing.source.subwords.id_of
    head = "classification" if config.head == "regression" else config.head
    ending = next(end for end, one in xlnet.HEADS.items() if one == head)
    return {
        "model_type": "xlnet",
        "architectures": [f"XLNet{ending}"],
        "bos_token_id": id_of("<s>"),
        "eos_token_id": id_of("</s>"),
        "vocab_size": config.vocab_size,
        "d_model": config.model_dim,
        "d_inner": config.feed_forward_dim,
        "n_head": config.num_heads,
        "n_layer": config.num_layers,
        "ff_activation": THEIR_ACTIVATIONS[config.activation],
        "dropout": config.dropout,
        "layer_norm_eps": config.layer_norm_epsilon,
        "clamp_len": config.farthest_distance or -1,
        **_labels(config),
    }


def _xlnet_tensors(outgoing: Outgoing) -> dict[str, Array]:
    beginnings: Any = {} if outgoing.config.head is None else {xlnet.BODY: None}
    return dump_weights(xlnet.xlnet_table(outgoing.model, beginnings))


def _labels(config: Any) -> dict[str, Any]:
    """Returns the fields that name classes or tags, if there are any."""
    labels: Sequence[str] = config.labels
    if config.head == "regression":
        labels = labels or ("LABEL_0",)
    if not labels:
        return {}
    problem: dict[str, Any] = {}
    if config.multi_label:
        problem = {"problem_type": "multi_label_classification"}
    if config.head == "regression":
        path = activation_path(config.value_activation, VALUE_ACTIVATIONS)
        problem = {SECTION: {ACTIVATION: path}}
    return {
        "id2label": {str(place): label for place, label in enumerate(labels)},
        "label2id": {label: place for place, label in enumerate(labels)},
        **problem,
    }


def _tensors_of(names: Names) -> Callable[[Outgoing], dict[str, Array]]:
    def tensors(outgoing: Outgoing) -> dict[str, Array]:
        # A bare model's names have no beginning; those with a head have.
        present = [] if outgoing.config.head in (None, "embedding") else [names.body]
        if (
            names in (bert_family.ROBERTA, bert_family.MPNET)
            and outgoing.config.head in _OF_WHOLE_TEXTS
        ):
            present.append(bert_family.OUT_PROJECTION.format(names.classifier))
        beginnings: Any = dict.fromkeys(present)
        found = dump_weights(encoder_table(outgoing.model, beginnings, names))
        # Those of linear layers behind the pooling have files of their own.
        return {name: one for name, one in found.items() if not name.startswith(f"{DENSE}.")}

    return tensors


def _save_tokenizer(outgoing: Outgoing, directory: Path, inputs: Sequence[str] = ()) -> None:
    special = outgoing.config.special_ids
    if _is_sentencepiece(outgoing):
        save_fairseq_tokenizer(outgoing, directory)
    else:
        roles = {"cls": special.bos, "sep": special.eos}
        save_json_tokenizer(_paired(outgoing), directory, inputs, **roles)
    save_embedding(outgoing.model, directory)


def _paired(outgoing: Outgoing) -> Tokenizer:
    """Returns the tokenizer, which puts as many separators between two texts as the model reads."""
    tokenizer, special = outgoing.source, outgoing.config.special_ids
    count = outgoing.config.pair_separators
    if special.bos is None or pair_separators_of(tokenizer.model) == count:
        return tokenizer
    kind = next(name for name, one in PROCESSORS.items() if one == count)
    cls, sep = ([tokenizer.subwords.piece(one), one] for one in (special.bos, special.eos))
    step = {"type": kind, "sep": sep, "cls": cls, "trim_offsets": True, "add_prefix_space": False}
    values = {**json.loads(tokenizer.model), "post_processor": step}
    return Tokenizer(json.dumps(values, ensure_ascii=False).encode(), tokenizer.special_ids)


def _save_padding_left(outgoing: Outgoing, directory: Path) -> None:
    """Their classifiers read the last place of a batch."""
    special = outgoing.config.special_ids
    roles = {"cls": special.cls, "sep": special.eos}
    inputs = ("input_ids", "token_type_ids", "attention_mask")
    save_json_tokenizer(outgoing.source, directory, inputs, "left", **roles)


def _save_without_types(outgoing: Outgoing, directory: Path) -> None:
    _save_tokenizer(outgoing, directory, _INPUTS)


# What they all can choose.
_FREE: dict[str, Any] = {
    "activation": tuple(THEIR_ACTIVATIONS),
    "max_positions": None,
    "labels": None,
    "pooling": None,
    "dense": None,
    "unit_vectors": None,
    "keep_pooler": None,
    "max_row_length": None,
    "prompts": None,
    "default_prompt": None,
    "multi_label": None,
    "value_activation": None,
    "pair_separators": None,
}
BERT = Architecture(
    ModelForm(
        "BertModel",
        {
            **_FREE,
            "layer_norm_epsilon": None,
            "num_token_types": None,
            "pooler": None,
            "head": tuple(_ENDINGS),
        },
    ),
    _bert_config,
    _tensors_of(bert_family.BERT),
    _save_tokenizer,
    _check_bert,
)
ROBERTA = Architecture(
    ModelForm(
        "RobertaModel",
        {
            **BERT.form.values,
            "position_offset": None,
            "head": _LATER_HEADS,
        },
    ),
    _roberta_config,
    _tensors_of(bert_family.ROBERTA),
    _save_without_types,
    _check_roberta,
)
MPNET = Architecture(
    ModelForm(
        "MPNetModel",
        {
            **ROBERTA.form.values,
            "num_token_types": (0,),
            "position_offset": (2,),
            "relative_buckets": (32,),
        },
    ),
    _mpnet_config,
    _tensors_of(bert_family.MPNET),
    _save_without_types,
    _check_mpnet,
)
DISTILBERT = Architecture(
    ModelForm(
        "DistilBertModel",
        {
            **_FREE,
            "num_token_types": (0,),
            "pooler": None,
            "pooler_activation": None,
            "head": _LATER_HEADS,
        },
    ),
    _distilbert_config,
    _tensors_of(bert_family.DISTILBERT),
    _save_without_types,
    _check_distilbert,
)
ALBERT = Architecture(
    ModelForm(
        "AlbertModel",
        {
            **BERT.form.values,
            "head": _LATER_HEADS,
            "embedding_dim": None,
            "block_groups": None,
            "blocks_per_group": None,
        },
    ),
    _albert_config,
    _tensors_of(bert_family.ALBERT),
    _save_tokenizer,
    _check_albert,
)
XLNET = Architecture(
    ModelForm(
        "XLNetModel",
        {
            **_FREE,
            "layer_norm_epsilon": None,
            "max_positions": (None,),
            "positions": ("none",),
            "relative_sinusoids": (True,),
            "farthest_distance": None,
            "relative_segments": (True,),
            "attention_bias": (False,),
            "embedding_norm": (False,),
            "num_token_types": (3,),
            "pooler": None,
            "query_stream": None,
            "head": (*xlnet.HEADS.values(), "regression"),
        },
    ),
    _xlnet_config,
    _xlnet_tensors,
    _save_padding_left,
    _check_xlnet,
)
