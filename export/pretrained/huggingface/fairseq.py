"""Encoder-decoders of fairseq's forms as Hugging Face's BART, mBART and M2M100 (NLLB, too)."""

from functools import partial
from pathlib import Path
from typing import Any

from keras_transformer.export.pretrained.forms import ModelForm
from keras_transformer.export.pretrained.huggingface.architecture import (
    THEIR_ACTIVATIONS,
    Architecture,
)
from keras_transformer.export.pretrained.huggingface.languages import (
    check_languages,
    save_languages_tokenizer,
)
from keras_transformer.export.pretrained.huggingface.translators import translator_config
from keras_transformer.export.pretrained.huggingface.vocabularies import save_json_tokenizer
from keras_transformer.export.pretrained.outgoing import Outgoing
from keras_transformer.pretrained.huggingface.bart_family import bart_table
from keras_transformer.pretrained.weight_table import Array, dump_weights

_LEARNED = {"positions": ("learned",), "max_positions": None, "embedding_norm": (True,)}


def _form(name: str, norm: str, **values: Any) -> ModelForm:
    return ModelForm(
        name,
        {
            "activation": tuple(THEIR_ACTIVATIONS),
            "norm": (norm,),
            "layer_norm_epsilon": (1e-5,),
            "position_offset": (2,),
            "scale_embeddings": None,
            "logit_bias": (True,),
            "share_embeddings": ("all",),
            "marks": None,
            **values,
        },
    )


def _check_bart(outgoing: Outgoing) -> None:
    special, marks = outgoing.config.special_ids, outgoing.config.marks
    if outgoing.source is not outgoing.target or outgoing.source.kind != "tokenizer_json":
        raise ValueError(
            "BartForConditionalGeneration needs one tokenizer.json for both sides, got tokenizers "
            f"of the kinds {outgoing.source.kind} and {outgoing.target.kind}."
        )
    begins_alike = len(marks.source) == 1 and marks.source == marks.target and not marks.languages
    if not begins_alike or not marks.source_eos or special.decoder_start != special.eos:
        raise ValueError(
            "BartForConditionalGeneration needs marks of one same id before sources and targets, "
            f"and a decoder that starts with eos, got marks={marks!r} and decoder_start="
            f"{special.decoder_start}."
        )


def _bart_config(outgoing: Outgoing) -> dict[str, Any]:
    [bos] = outgoing.config.marks.source
    return {**_config(outgoing, "bart"), "bos_token_id": bos}


def _config(outgoing: Outgoing, kind: str) -> dict[str, Any]:
    values = {"model_type": kind, **translator_config(outgoing), "bos_token_id": 0}
    if outgoing.config.max_positions is not None:
        values["max_position_embeddings"] = outgoing.config.max_positions
    return values


def _tensors(outgoing: Outgoing) -> dict[str, Array]:
    return dump_weights(bart_table(outgoing.model))


def _save_bart_tokenizer(outgoing: Outgoing, directory: Path) -> None:
    [bos] = outgoing.config.marks.source
    save_json_tokenizer(outgoing.source, directory, bos=bos)


BART = Architecture(
    _form("BartForConditionalGeneration", "post", **_LEARNED),
    _bart_config,
    _tensors,
    _save_bart_tokenizer,
    _check_bart,
)
MBART = Architecture(
    _form("MBartForConditionalGeneration", "pre", **_LEARNED),
    partial(_config, kind="mbart"),
    _tensors,
    save_languages_tokenizer,
    check_languages,
)
M2M100 = Architecture(
    _form(
        "M2M100ForConditionalGeneration",
        "pre",
        sinusoid_layout=("tensor2tensor",),
        logit_bias=(False,),
    ),
    partial(_config, kind="m2m_100"),
    _tensors,
    save_languages_tokenizer,
    check_languages,
)
