"""Encoder-decoders of two vocabularies as Hugging Face's FSMT, fairseq's translators of WMT 2019.

Their texts are pieces with spaces between them: Moses's tokenizer and BPE stay outside, and so do
the files of these.
"""

import json
from pathlib import Path
from typing import Any

from keras_transformer.export.pretrained.forms import ModelForm
from keras_transformer.export.pretrained.huggingface.architecture import (
    THEIR_ACTIVATIONS,
    Architecture,
)
from keras_transformer.export.pretrained.huggingface.translators import translator_config
from keras_transformer.export.pretrained.huggingface.vocabularies import write_json
from keras_transformer.export.pretrained.outgoing import Outgoing
from keras_transformer.pretrained.huggingface.bart_family import TARGET_MATRICES, bart_table
from keras_transformer.pretrained.huggingface.piece_vocabularies import BOS
from keras_transformer.pretrained.weight_table import Array, dump_weights
from keras_transformer.text.tokenizer import Tokenizer

# Theirs count positions from the one behind the id of the padding.
_OFFSET = 2
FORM = ModelForm(
    "FSMTForConditionalGeneration",
    {
        "activation": tuple(THEIR_ACTIVATIONS),
        "norm": ("post",),
        "layer_norm_epsilon": (1e-5,),
        "sinusoid_layout": ("tensor2tensor",),
        "position_offset": (_OFFSET,),
        "scale_embeddings": None,
        "share_embeddings": ("target", "none"),
    },
)


def _check(outgoing: Outgoing) -> None:
    for tokenizer in (outgoing.source, outgoing.target):
        if not _is_of_pieces(tokenizer):
            raise ValueError(
                f"{FORM.name} needs vocabularies of pieces with spaces between them, as those of "
                "an imported FSMT, got another one: export as ctranslate2, onnx or saved_model."
            )
    pad = outgoing.config.special_ids.pad
    if pad != _OFFSET - 1:
        raise ValueError(
            f"{FORM.name} counts positions from the padding's id: special_ids need "
            f"pad={_OFFSET - 1}, got {pad}."
        )


def _is_of_pieces(tokenizer: Tokenizer) -> bool:
    return tokenizer.kind == "tokenizer_json" and _model(tokenizer)["type"] == "WordLevel"


def _model(tokenizer: Tokenizer) -> dict[str, Any]:
    model: dict[str, Any] = json.loads(tokenizer.model)["model"]
    return model


def _config(outgoing: Outgoing) -> dict[str, Any]:
    config = outgoing.config
    values = {
        **translator_config(outgoing),
        "model_type": "fsmt",
        "src_vocab_size": config.source_vocab_size,
        "tgt_vocab_size": config.target_vocab_size,
        "bos_token_id": _model(outgoing.target)["vocab"][BOS],
        # Their ties are of all three matrices: a head's that is the embeddings' is written twice.
        "tie_word_embeddings": False,
    }
    del values["vocab_size"]
    return values


def _tensors(outgoing: Outgoing) -> dict[str, Array]:
    tensors = dump_weights(bart_table(outgoing.model))
    embeddings, head = TARGET_MATRICES
    # A head with a matrix of its own is among them.
    return {head: tensors[embeddings], **tensors}


def _save_tokenizer(outgoing: Outgoing, directory: Path) -> None:
    for side, tokenizer in (("src", outgoing.source), ("tgt", outgoing.target)):
        write_json(directory / f"vocab-{side}.json", _model(tokenizer)["vocab"])


FSMT = Architecture(FORM, _config, _tensors, _save_tokenizer, _check)
