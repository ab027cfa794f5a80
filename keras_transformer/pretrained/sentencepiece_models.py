"""SentencePiece models of others, rearranged to give the ids that their model was trained with, in
Python and in TensorFlow graphs.
"""

import math
from collections.abc import Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

import sentencepiece

from keras_transformer.pretrained.errors import ImportRefusedError
from keras_transformer.pretrained.pointers import refuse_pointer
from keras_transformer.text.sentencepiece_messages import (
    BYTE,
    CONTROL,
    NORMAL,
    UNKNOWN,
    UNUSED,
    USER_DEFINED,
    add_unknown,
    put_back,
    read_message,
    set_apart,
    take_further,
    write_message,
)
from keras_transformer.text.subwords.interface import MOST_IDS
from keras_transformer.text.subwords.sentencepiece_model import UNUSED_PIECE
from keras_transformer.text.subwords.symbols_apart import ids_in_mark
from keras_transformer.text.tokenizer import Tokenizer


def model_beside(directory: Path, side: str) -> Path:
    """Returns the SentencePiece model that a user put beside the weights of another toolkit.

    Args:
        directory: Where the weights are.
        side: "source" or "target".

    Raises:
        ImportRefusedError: There is none.
    """
    names = [f"{side}.spm", f"{side}.model", "sentencepiece.model", "spm.model"]
    found = [directory / name for name in names if (directory / name).is_file()]
    if not found:
        raise ImportRefusedError(
            f"{directory} has no SentencePiece model of the {side}: put it there as {names[0]}."
        )
    return found[0]


def read_model(path: Path) -> Any:
    """Reads a `.spm` or `.model` file.

    Raises:
        ImportRefusedError: It is missing or no SentencePiece model.
    """
    refuse_pointer(path)
    try:
        content = path.read_bytes()
    except FileNotFoundError as error:
        raise ImportRefusedError(
            f"{path} is missing: the tokenizer's SentencePiece model must lie beside the weights."
        ) from error
    return model_of(content, path)


def model_of(content: bytes, origin: Path) -> Any:
    """Returns the message of a SentencePiece model that a file holds.

    Raises:
        ImportRefusedError: It is no SentencePiece model.
    """
    try:
        sentencepiece.SentencePieceProcessor(model_proto=content)
        message = read_message(content)
        _check_pieces(message)
        return message
    except Exception as error:  # SentencePiece and protobuf raise errors of their own.
        raise ImportRefusedError(f"{origin} is no SentencePiece model: {error}") from error


def _check_pieces(message: Any) -> None:
    """Raises `ValueError` for pieces that SentencePiece takes and no text can use."""
    if not any(piece.type == UNKNOWN for piece in message.pieces):
        raise ValueError("it has no piece for unknown text")
    for piece in message.pieces:
        # Bytes that are not UTF-8 stay bytes.
        if not isinstance(piece.piece, str) or not math.isfinite(piece.score):
            raise ValueError(f"{piece.piece!r} with the score {piece.score} is no piece")


def tokenizer_of(
    model: Any,
    *,
    eos: str = "</s>",
    unk: str = "<unk>",
    pad: str = "<pad>",
    bos: str | None = None,
    ids: Mapping[str, int] | None = None,
    vocab_size: int | None = None,
    further: Sequence[str] = (),
    symbols: Sequence[str] = (),
    are_apart: bool = False,
) -> Tokenizer:
    """Returns a tokenizer whose ids are those that a model was trained with.

    Args:
        model: As `read_model` returns it.
        eos: The piece that ends a sentence.
        unk: The piece for text that the vocabulary lacks.
        pad: The piece that fills rows; the last of the vocabulary if `ids` lacks it.
        bos: The piece that begins a sentence; None for none.
        ids: The id of each piece; the model's own order if None.
        vocab_size: Number of ids; as many as are needed if None. Those without a piece stay unused.
        further: Pieces among `ids` that no text gives, such as those of languages.
        symbols: Pieces among `ids` that texts hold as they are spelled, such as sentinels.
        are_apart: Whether spaces before them are nothing, and words begin behind them.

    Raises:
        ImportRefusedError: A special piece has no id, two pieces have one id, or the ids leave out
            most pieces that text may give. The others are unknown, as they were in training.
    """
    pieces = {piece.piece: piece for piece in model.pieces}
    if ids is None:
        ids = {piece.piece: place for place, piece in enumerate(model.pieces)}
    by_id: dict[int, str] = {}
    for piece, number in ids.items():
        if number in by_id:
            raise ImportRefusedError(
                f"the vocabulary gives the id {number} to both {by_id[number]!r} and {piece!r}."
            )
        by_id[number] = piece
    control = {eos, pad, *([] if bos is None else [bos]), *further}
    for piece in (eos, unk):
        if piece not in ids:
            raise ImportRefusedError(f"the vocabulary has no piece {piece!r}.")
    size = max(max(by_id) + 1, vocab_size or 0)
    if size > MOST_IDS or min(by_id) < 0:
        raise ImportRefusedError(
            f"the vocabulary has ids from {min(by_id)} to {size - 1}: they must lie in 0 to "
            f"{MOST_IDS - 1}."
        )
    if pad not in ids:
        if vocab_size is None or max(by_id) >= vocab_size - 1:
            size = max(size, max(by_id) + 2)
        by_id[size - 1] = pad
    result = deepcopy(model)
    del result.pieces[:]
    for number in range(size):
        name = by_id.get(number, UNUSED_PIECE.format(number))
        made = result.pieces.add()
        if name in pieces:
            made.CopyFrom(pieces[name])
        made.piece = name
        if name == unk:
            made.type = UNKNOWN
        elif name in control:
            made.type = CONTROL
        elif name in symbols:
            made.type = USER_DEFINED
        elif name not in pieces:
            made.type = UNUSED
    add_unknown(result, _without_id(pieces, ids))
    if are_apart:
        set_apart(result, [ids[name] for name in symbols])
    trainer = result.trainer_spec
    trainer.unk_piece, trainer.eos_piece, trainer.pad_piece = unk, eos, pad
    # An empty name would mean the usual one.
    trainer.bos_piece = UNUSED_PIECE.format("bos") if bos is None else bos
    numbers = {name: number for number, name in by_id.items()}
    trainer.unk_id, trainer.eos_id, trainer.pad_id = numbers[unk], numbers[eos], numbers[pad]
    trainer.bos_id = -1 if bos is None else numbers[bos]
    return Tokenizer(write_message(result))


def unknown_of(model: Any) -> str:
    """Returns the piece for text that a model's vocabulary lacks, which every model has."""
    return next(piece.piece for piece in model.pieces if piece.type == UNKNOWN)


def _without_id(pieces: Mapping[str, Any], ids: Mapping[str, int]) -> list[Any]:
    """Returns the pieces of text that a vocabulary lacks, such as some of OPUS-MT's do."""
    of_text = [one for one in pieces.values() if one.type in (NORMAL, USER_DEFINED, BYTE)]
    missing = [one for one in of_text if one.piece not in ids]
    if len(missing) > len(of_text) / 2:
        shown = ", ".join(repr(one.piece) for one in missing[:3])
        raise ImportRefusedError(
            f"{len(missing)} of {len(of_text)} pieces of the SentencePiece model have no id in the "
            f"vocabulary, such as {shown}: they belong to different models."
        )
    return missing


def without_padding(tokenizer: Tokenizer) -> bytes:
    """Returns a SentencePiece model for other programs, without its padding if that is the last id.

    None of them knows of symbols that stand apart.
    """
    model = read_message(tokenizer.model)
    further = [piece for piece in take_further(model) if not ids_in_mark(piece.piece)]
    if model.trainer_spec.pad_id == len(model.pieces) - 1:
        del model.pieces[-1]
        model.trainer_spec.pad_id = -1
    put_back(model, further)
    return write_message(model)
