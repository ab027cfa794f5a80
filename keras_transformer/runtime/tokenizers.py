"""An artefact's SentencePiece models: texts become rows of ids and back, few as fast as many."""

import dataclasses
from collections.abc import Collection, Sequence
from pathlib import Path

import sentencepiece

from keras_transformer.artefact.manifest import Manifest
from keras_transformer.config.special_ids import SpecialIds
from keras_transformer.runtime.loop.batches import IdRows
from keras_transformer.text.tokenizer import read_special_ids

# From here on the threads that SentencePiece starts for a list are worth their start.
_MANY = 64


class TextIds:
    """One side's texts and ids; any number of threads may share it.

    Args:
        directory: The artefact.
        manifest: Its contract.
        side: "source" or "target".

    Attributes:
        processor: The SentencePiece model.
        special: Ids that are no text.

    Raises:
        ValueError: The file is no SentencePiece model, or another model's.
    """

    def __init__(self, directory: Path, manifest: Manifest, side: str) -> None:
        self.processor = _load(directory / manifest.tokenizers[side].file, manifest, side)
        self.special: Collection[int] = manifest.special_ids.without_text

    def encode(self, texts: Sequence[str] | Sequence[bytes]) -> list[list[int]]:
        """Returns each text's ids, without bos and eos; bytes need not be valid UTF-8."""
        if len(texts) < _MANY:
            return [self.processor.encode(text) for text in texts]
        return self.processor.encode(texts)

    def decode(self, rows: IdRows) -> list[str]:
        """Returns the text of each row of ids; special ids are dropped."""
        plain = [[token for token in row if token not in self.special] for row in rows]
        if len(plain) < _MANY:
            return [self.processor.decode(row) for row in plain]
        return self.processor.decode(plain)


def _load(path: Path, manifest: Manifest, side: str) -> sentencepiece.SentencePieceProcessor:
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
    size = manifest.config[f"{side}_vocab_size"]
    if max(processor.get_piece_size(), found.highest + 1) != size:
        raise ValueError(
            f"{path} has {processor.get_piece_size()} pieces, but the model's {side}_vocab_size is "
            f"{size}: it is another model's tokenizer; export the model again."
        )
    return processor


def _listed(ids: SpecialIds) -> str:
    return f"pad {ids.pad}, unk {ids.unk}, bos {ids.bos}, eos {ids.eos}"
