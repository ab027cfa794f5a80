"""Writes a model as Marian's own files: an `.npz` with the options as YAML in it, vocabularies as
`.spm`, and the `decoder.yml` that names them.
"""

from pathlib import Path
from typing import Any

import numpy as np
import yaml

from keras_transformer.config.transformer import TransformerConfig
from keras_transformer.export.pretrained.forms import ModelForm, form_of
from keras_transformer.export.pretrained.outgoing import Outgoing
from keras_transformer.export.pretrained.tags import check_tags
from keras_transformer.pretrained.formats.marian import (
    ACTIVATIONS,
    AUTOREGRESSIONS,
    EPSILON,
    NORMS,
    OPTIONS,
    marian_table,
)
from keras_transformer.pretrained.formats.marian_search import write_search
from keras_transformer.pretrained.formats.marian_vocabulary import vocabulary_text
from keras_transformer.pretrained.sentencepiece_models import without_padding
from keras_transformer.pretrained.weight_table import NEVER, dump_weights
from keras_transformer.whole_files import write_bytes, write_text

MODEL = "model.npz"
FORM = ModelForm(
    "Marian",
    {
        "activation": tuple(ACTIVATIONS.values()),
        "decoder_recurrence": tuple(AUTOREGRESSIONS.values()),
        "layer_norm_epsilon": (EPSILON,),
        "norm": tuple(NORMS.values()),
        "logit_bias": (True,),
        "marks": None,
        "share_embeddings": None,
        "sinusoid_layout": ("tensor2tensor",),
    },
)
# Options that Marian's own configs name, too; all else of them follows from ours.
_ALWAYS: dict[str, Any] = {
    "type": "transformer",
    "input-types": [],
    "layer-normalization": False,
    "right-left": False,
    "skip": False,
    "transformer-decoder-dim-ffn": 0,
    "transformer-decoder-ffn-depth": 0,
    "transformer-ffn-depth": 2,
    "transformer-no-affine": False,
    "transformer-no-bias": False,
    "transformer-no-projection": False,
    "transformer-pool": False,
    "transformer-postprocess-emb": "d",
    "transformer-tied-layers": [],
    "transformer-train-position-embeddings": False,
    "version": "v1.12.0",
}


def check(outgoing: Outgoing) -> None:
    """Raises a ValueError that names options that Marian lacks."""
    config = outgoing.config
    if not isinstance(config, TransformerConfig):
        raise ValueError(
            f"--format marian holds encoder-decoders, got family={config.family!r}: export as "
            "ctranslate2, onnx or saved_model."
        )
    outgoing.check_sentencepiece("marian")
    form_of(config, [FORM])
    special, last = config.special_ids, config.source_vocab_size - 1
    if config.target_vocab_size != config.source_vocab_size:
        raise ValueError(
            "Marian's form needs vocabularies of one size here, got source_vocab_size="
            f"{config.source_vocab_size} and target_vocab_size={config.target_vocab_size}."
        )
    if not special.pad == special.decoder_start == last or special.bos is not None:
        raise ValueError(
            f"Marian has no padding and no bos, and begins with zeros: special_ids need pad and "
            f"decoder_start={last}, the last id, and no bos, got {special}."
        )
    check_tags(config.marks, outgoing.source)
    start = np.asarray(outgoing.model.target_embeddings.tokens.matrix)[last]
    bias = float(np.asarray(outgoing.model.head.bias)[last])
    if start.any() or bias > NEVER / 2:
        raise ValueError(
            f"Marian begins with a vector of zeros, but that of decoder_start ({last}) is not: it "
            "has been trained. Export as ctranslate2 or onnx instead."
        )


def write(outgoing: Outgoing, directory: Path) -> None:
    """Writes the files; the padding, which Marian has not, is left out."""
    config = outgoing.config
    rows = config.source_vocab_size - 1
    names = _write_vocabularies(outgoing, directory, rows)
    table = marian_table(outgoing.model, shared=config.share_embeddings == "all")
    options = yaml.safe_dump(_options(config, rows)).encode("utf-8") + b"\0"
    tensors: dict[str, Any] = dump_weights(table, rows=rows)
    tensors[OPTIONS] = np.frombuffer(options, np.int8)
    np.savez(directory / MODEL, **tensors)
    files = {"relative-paths": True, "models": [MODEL], "vocabs": names}
    decoder = {**files, **write_search(outgoing.search)}
    write_text(directory / "decoder.yml", yaml.safe_dump(decoder))


def _write_vocabularies(outgoing: Outgoing, directory: Path, rows: int) -> list[str]:
    """Writes the vocabularies and returns the names of those of source and target.

    Where a vocabulary has tags of languages, or lacks pieces, Marian reads texts as pieces, whose
    ids are in YAML files.
    """
    sides = {"source": outgoing.source, "target": outgoing.target}
    is_one = outgoing.source.model == outgoing.target.model
    lacking = sum(tokenizer.subwords.unknown_pieces for tokenizer in sides.values())
    if not outgoing.config.marks.languages and not lacking:
        names = ["vocab.spm"] * 2 if is_one else ["source.spm", "target.spm"]
        for name, tokenizer in zip(names, sides.values(), strict=True):
            write_bytes(directory / name, without_padding(tokenizer))
        return names
    for side, tokenizer in sides.items():
        write_bytes(directory / f"{side}.spm", without_padding(tokenizer))
    listed = {side: vocabulary_text(one.pieces(range(rows))) for side, one in sides.items()}
    if listed["source"] == listed["target"]:
        write_text(directory / "vocab.yml", listed["source"])
        return ["vocab.yml"] * 2
    for side, text in listed.items():
        write_text(directory / f"{side}.vocab.yml", text)
    return [f"{side}.vocab.yml" for side in listed]


def _options(config: Any, rows: int) -> dict[str, Any]:
    before, after, top = next(steps for steps, norm in NORMS.items() if norm == config.norm)
    autoregression, cell = next(
        first for first, ours in AUTOREGRESSIONS.items() if ours == config.decoder_recurrence
    )
    activations = {ours: theirs for theirs, ours in ACTIVATIONS.items()}
    return {
        **_ALWAYS,
        "dim-vocabs": [rows, rows],
        "dim-emb": config.model_dim,
        "enc-depth": config.num_encoder_layers,
        "dec-depth": config.num_decoder_layers,
        "tied-embeddings": config.share_embeddings == "target",
        "tied-embeddings-all": config.share_embeddings == "all",
        "tied-embeddings-src": False,
        "transformer-decoder-autoreg": autoregression,
        **({} if cell is None else {"dec-cell": cell}),
        "transformer-dim-ffn": config.feed_forward_dim,
        "transformer-heads": config.num_heads,
        "transformer-ffn-activation": activations[config.activation],
        "transformer-preprocess": before,
        "transformer-postprocess": after,
        "transformer-postprocess-top": top,
    }
