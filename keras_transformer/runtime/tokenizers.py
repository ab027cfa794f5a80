"""The vocabularies of an artefact, opened and checked to belong to its model."""

import dataclasses

from keras_transformer.artefact.files import ArtefactFiles
from keras_transformer.artefact.manifest import Manifest
from keras_transformer.config.special_ids import SpecialIds
from keras_transformer.text.subwords.opening import open_subwords
from keras_transformer.translation.text_ids import SourceIds, TextIds

_NAMES = {"sentencepiece": "SentencePiece model", "tokenizer_json": "tokenizer.json"}


def open_text_ids(files: ArtefactFiles, manifest: Manifest, side: str) -> TextIds:
    """Opens the tokenizer of one side; the source's gives `SourceIds`.

    Args:
        files: The artefact's files.
        manifest: Its contract.
        side: "source" or "target", or "text" of a model with one stack.

    Raises:
        ImportError: A `tokenizer.json` needs the package `tokenizers`, which is missing.
        ValueError: The file is no vocabulary, or belongs to another model.
    """
    entry = manifest.tokenizers[side]
    path, kind = files.directory / entry.file, entry.kind
    try:
        subwords = open_subwords(files.content(entry))
    except ValueError as error:
        raise ValueError(
            f"{path} is no {_NAMES[kind]} ({error}): export the model again."
        ) from error
    if subwords.kind != kind:
        raise ValueError(
            f"{path} is of the kind {subwords.kind}, but the manifest says {kind}: export the "
            "model again."
        )
    found = subwords.special_ids
    expected = manifest.special_ids
    if found != dataclasses.replace(expected, decoder_start=found.decoder_start):
        raise ValueError(
            f"{path} has the special ids {_listed(found)}, but the manifest says "
            f"{_listed(expected)}: export the model again."
        )
    field = "vocab_size" if side == "text" else f"{side}_vocab_size"
    size = manifest.config[field]
    if max(subwords.size, found.highest + 1) != size:
        raise ValueError(
            f"{path} has {subwords.size} pieces, but the model's {field} is {size}: "
            "it is another model's tokenizer; export the model again."
        )
    return (SourceIds if side == "source" else TextIds)(subwords, expected)


def _listed(ids: SpecialIds) -> str:
    return f"pad {ids.pad}, unk {ids.unk}, bos {ids.bos}, eos {ids.eos}"
