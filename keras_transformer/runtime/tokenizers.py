"""Opens an artefact's SentencePiece models and checks that they belong to its model."""

import dataclasses
from pathlib import Path

import sentencepiece

from keras_transformer.artefact.manifest import Manifest
from keras_transformer.config.special_ids import SpecialIds
from keras_transformer.text.tokenizer import read_special_ids
from keras_transformer.translation.text_ids import TextIds


def open_text_ids(directory: Path, manifest: Manifest, side: str) -> TextIds:
    """Opens the tokenizer of one side.

    Args:
        directory: The artefact.
        manifest: Its contract.
        side: "source" or "target", or "text" of a model with one stack.

    Raises:
        ValueError: The file is no SentencePiece model, or belongs to another model.
    """
    path = directory / manifest.tokenizers[side].file
    processor = sentencepiece.SentencePieceProcessor()
    try:
        processor.LoadFromSerializedProto(path.read_bytes())
    except RuntimeError as error:
        raise ValueError(f"{path} is no SentencePiece model: export the model again.") from error
    found = read_special_ids(processor)
    expected = manifest.special_ids
    if found != dataclasses.replace(expected, decoder_start=found.decoder_start):
        raise ValueError(
            f"{path} has the special ids {_listed(found)}, but the manifest says "
            f"{_listed(expected)}: export the model again."
        )
    field = "vocab_size" if side == "text" else f"{side}_vocab_size"
    size = manifest.config[field]
    if max(processor.get_piece_size(), found.highest + 1) != size:
        raise ValueError(
            f"{path} has {processor.get_piece_size()} pieces, but the model's {field} is {size}: "
            "it is another model's tokenizer; export the model again."
        )
    return TextIds(processor, expected)


def _listed(ids: SpecialIds) -> str:
    return f"pad {ids.pad}, unk {ids.unk}, bos {ids.bos}, eos {ids.eos}"
