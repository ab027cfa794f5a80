"""Encoders alone, with heads, as Hugging Face's BERT, RoBERTa, DistilBERT, MPNet, ALBERT, XLNet."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from keras_transformer.export.pretrained.forms import ModelForm
from keras_transformer.export.pretrained.huggingface.architecture import (
    THEIR_ACTIVATIONS,
    Architecture,
)
from keras_transformer.export.pretrained.huggingface.encoders.common import (
    ENDINGS,
    FREE,
    LATER_HEADS,
    check_files,
    is_sentencepiece,
    labels_of,
    save_tokenizer,
    save_without_types,
)
from keras_transformer.export.pretrained.huggingface.vocabularies import (
    check_json_tokenizer,
    save_json_tokenizer,
)
from keras_transformer.export.pretrained.outgoing import Outgoing
from keras_transformer.pretrained.huggingface import bert_family
from keras_transformer.pretrained.huggingface.bert_family import Names, encoder_table
from keras_transformer.pretrained.huggingface.encoders import xlnet
from keras_transformer.pretrained.huggingface.encoders.electra import ELECTRA
from keras_transformer.pretrained.sentence_transformers import DENSE
from keras_transformer.pretrained.weight_table import Array, dump_weights

OF_WHOLE_TEXTS = ("pretraining", "classification", "regression")


def _check_typed(outgoing: Outgoing, name: str) -> None:
    check_files(outgoing, name)
    if outgoing.config.num_token_types < 1:
        raise ValueError(f"{name} needs num_token_types of at least 1, got 0.")


def check_pooled(outgoing: Outgoing, name: str = "BertModel") -> None:
    """Raises a ValueError for a head that reads the first state where theirs reads a pooler."""
    config = outgoing.config
    if not config.pooler and config.head in OF_WHOLE_TEXTS:
        raise ValueError(f"{name} with head={config.head!r} needs pooler=True, got False.")


def _check_distilbert(outgoing: Outgoing) -> None:
    check_pooler(outgoing.config, "DistilBertModel", "relu")


def check_pooler(config: Any, name: str, activation: str) -> None:
    """Raises a ValueError unless classifiers, and they alone, have a pooler with an activation."""
    has_pooler = config.head in OF_WHOLE_TEXTS
    if config.has_pooler != has_pooler or (has_pooler and config.pooler_activation != activation):
        raise ValueError(
            f"{name} has a pooler in classifiers alone, with pooler_activation={activation!r}, got "
            f"head={config.head!r}, pooler={config.pooler} and pooler_activation="
            f"{config.pooler_activation!r}."
        )


def _check_roberta(outgoing: Outgoing) -> None:
    config = outgoing.config
    check_pooled(outgoing, "RobertaModel")
    offset = config.special_ids.pad + 1
    if config.position_offset != offset:
        raise ValueError(
            f"RobertaModel counts positions from its padding's id: position_offset must be {offset}"
            f", got {config.position_offset}."
        )
    _check_masked_head(config, "RobertaForMaskedLM")


def _check_mpnet(outgoing: Outgoing) -> None:
    config, name = outgoing.config, "MPNetModel"
    if config.special_ids.pad != 1:
        raise ValueError(f"{name} has the padding's id 1, got {config.special_ids.pad}.")
    check_pooled(outgoing, name)
    _check_masked_head(config, "MPNetForMaskedLM")


def _check_albert(outgoing: Outgoing) -> None:
    config, name = outgoing.config, "AlbertModel"
    check_pooled(outgoing, name)
    if config.embedding_dim is None:
        raise ValueError(f"{name} needs embedding_dim and its linear layer, got None.")


def _check_xlnet(outgoing: Outgoing) -> None:
    config, name = outgoing.config, "XLNetModel"
    check_json_tokenizer(outgoing, name)
    if config.special_ids.cls is None:
        raise ValueError(f"{name} ends rows with a cls: special_ids must have one, got None.")
    check_pooler(config, name, "tanh")
    if config.query_stream != (config.head == "masked_lm"):
        raise ValueError(f"{name} fills masks with a query_stream: query_stream must be True.")


def _check_masked_head(config: Any, name: str) -> None:
    if config.head == "masked_lm" and config.activation != "gelu":
        raise ValueError(f"{name} needs activation='gelu' in its head, got {config.activation!r}.")


def bert_fields(outgoing: Outgoing, kind: str = "bert", name: str = "Bert") -> dict[str, Any]:
    """Returns the fields of a BERT's config, or of a model's of another `kind` that has them."""
    config = outgoing.config
    # Rotary positions have no end of their own.
    most = config.max_positions or config.max_row_length or 2048
    return {
        "model_type": kind,
        "architectures": [f"{name}{ENDINGS[config.head]}"],
        "vocab_size": config.vocab_size,
        "hidden_size": config.model_dim,
        "intermediate_size": config.feed_forward_dim,
        "num_attention_heads": config.num_heads,
        "num_hidden_layers": config.num_layers,
        "hidden_act": THEIR_ACTIVATIONS[config.activation],
        "hidden_dropout_prob": config.dropout,
        "attention_probs_dropout_prob": config.attention_dropout,
        "layer_norm_eps": config.layer_norm_epsilon,
        "max_position_embeddings": most + config.position_offset,
        "type_vocab_size": config.num_token_types,
        **labels_of(config),
    }


def _roberta_config(outgoing: Outgoing) -> dict[str, Any]:
    """The same model is called XLM-RoBERTa with the vocabulary of that."""
    names = ("xlm-roberta", "XLMRoberta") if is_sentencepiece(outgoing) else ("roberta", "Roberta")
    return bert_fields(outgoing, *names)


def _distilbert_config(outgoing: Outgoing) -> dict[str, Any]:
    config = outgoing.config
    return {
        "model_type": "distilbert",
        "architectures": [f"DistilBert{ENDINGS[config.head]}"],
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
        **labels_of(config),
    }


def _mpnet_config(outgoing: Outgoing) -> dict[str, Any]:
    fields = bert_fields(outgoing, "mpnet", "MPNet")
    del fields["type_vocab_size"]
    return {**fields, "relative_attention_num_buckets": outgoing.config.relative_buckets}


def _albert_config(outgoing: Outgoing) -> dict[str, Any]:
    config = outgoing.config
    layers = config.num_layers // config.blocks_per_group
    return {
        **bert_fields(outgoing, "albert", "Albert"),
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
        **labels_of(config),
    }


def _xlnet_tensors(outgoing: Outgoing) -> dict[str, Array]:
    beginnings: Any = {} if outgoing.config.head is None else {xlnet.BODY: None}
    return dump_weights(xlnet.xlnet_table(outgoing.model, beginnings))


# Those whose classifiers hold a pooler.
_OWN_POOLERS = (bert_family.ROBERTA, bert_family.MPNET, ELECTRA)


def tensors_of(names: Names, table: Any = encoder_table) -> Callable[[Outgoing], dict[str, Array]]:
    """Returns what gives a model's tensors, by the names that a table of entries takes."""

    def tensors(outgoing: Outgoing) -> dict[str, Array]:
        # A bare model's names have no beginning; those with a head have.
        present = [] if outgoing.config.head in (None, "embedding") else [names.body]
        if names in _OWN_POOLERS and outgoing.config.head in OF_WHOLE_TEXTS:
            present.append(bert_family.OUT_PROJECTION.format(names.classifier))
        beginnings: Any = dict.fromkeys(present)
        found = dump_weights(table(outgoing.model, beginnings, names))
        # Those of linear layers behind the pooling have files of their own.
        return {name: one for name, one in found.items() if not name.startswith(f"{DENSE}.")}

    return tensors


def _save_padding_left(outgoing: Outgoing, directory: Path) -> None:
    """Their classifiers read the last place of a batch."""
    special = outgoing.config.special_ids
    roles = {"cls": special.cls, "sep": special.eos}
    inputs = ("input_ids", "token_type_ids", "attention_mask")
    longest = outgoing.config.max_row_length
    save_json_tokenizer(outgoing.source, directory, inputs, "left", longest, **roles)


BERT = Architecture(
    ModelForm(
        "BertModel",
        {
            **FREE,
            "layer_norm_epsilon": None,
            "num_token_types": None,
            "pooler": None,
            "head": tuple(ENDINGS),
        },
    ),
    bert_fields,
    tensors_of(bert_family.BERT),
    save_tokenizer,
    check_pooled,
    _check_typed,
)
ROBERTA = Architecture(
    ModelForm(
        "RobertaModel",
        {
            **BERT.form.values,
            "position_offset": None,
            "head": LATER_HEADS,
        },
    ),
    _roberta_config,
    tensors_of(bert_family.ROBERTA),
    save_without_types,
    _check_roberta,
    _check_typed,
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
    tensors_of(bert_family.MPNET),
    save_without_types,
    _check_mpnet,
    check_files,
)
DISTILBERT = Architecture(
    ModelForm(
        "DistilBertModel",
        {
            **FREE,
            "num_token_types": (0,),
            "pooler": None,
            "pooler_activation": None,
            "head": LATER_HEADS,
        },
    ),
    _distilbert_config,
    tensors_of(bert_family.DISTILBERT),
    save_without_types,
    _check_distilbert,
    check_files,
)
ALBERT = Architecture(
    ModelForm(
        "AlbertModel",
        {
            **BERT.form.values,
            "head": LATER_HEADS,
            "embedding_dim": None,
            "block_groups": None,
            "blocks_per_group": None,
        },
    ),
    _albert_config,
    tensors_of(bert_family.ALBERT),
    save_tokenizer,
    _check_albert,
    _check_typed,
)
XLNET = Architecture(
    ModelForm(
        "XLNetModel",
        {
            **FREE,
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
