"""Words added to a SentencePiece vocabulary: each gets an id of its own, and all other ids stay."""

from collections.abc import Sequence
from typing import Any

import sentencepiece

from keras_transformer.text.sentencepiece_messages import (
    CONTROL,
    USER_DEFINED,
    put_back,
    read_message,
    take_further,
    write_message,
)
from keras_transformer.text.tokenizer import Tokenizer

# SentencePiece's sign of a space, which a piece that begins a word begins with.
_SPACE = "▁"


def new_words(tokenizer: Tokenizer, words: Sequence[str]) -> list[str]:
    """Returns those of the words that are no token of the vocabulary yet.

    Raises:
        ValueError: As by `with_words`, except for words that are tokens already.
    """
    known = tokenizer.subwords
    return [word for piece, word in _pieces(tokenizer, words) if known.id_of(piece) is None]


def with_words(tokenizer: Tokenizer, words: Sequence[str]) -> Tokenizer:
    """Returns a tokenizer that reads each of the words as one token where a word begins.

    The new ids are the highest, in the order of the words.

    Args:
        tokenizer: One of SentencePiece.
        words: Words, or several words with spaces between them; none of them a token already.

    Raises:
        ValueError: There is no word, one is empty, is nothing to the vocabulary's normalization,
            is a token already or stands there twice, or the tokenizer is none of SentencePiece.
    """
    pieces = _pieces(tokenizer, words)
    if not words:
        raise ValueError("there is no word to add: give at least one.")
    for number, (piece, word) in enumerate(pieces, start=1):
        if tokenizer.subwords.id_of(piece) is not None:
            raise ValueError(f"word {number}, {word!r}, is a token of the vocabulary already.")
    model = read_message(tokenizer.model)
    further = take_further(model)
    _hold_special_places(model, tokenizer)
    for piece, _ in pieces:
        # A piece that users defined is found first, by unigram models and BPE alike.
        model.pieces.add(piece=piece, score=0.0, type=USER_DEFINED)
    put_back(model, further)
    return Tokenizer(write_message(model))


def _pieces(tokenizer: Tokenizer, words: Sequence[str]) -> list[tuple[str, str]]:
    """Returns each word as SentencePiece sees it in texts, and as it was given."""
    if tokenizer.kind != "sentencepiece":
        raise ValueError(
            f"words can be added to vocabularies of SentencePiece, and this is a {tokenizer.kind}."
        )
    normal = sentencepiece.SentencePieceProcessor(model_proto=tokenizer.model)
    found: list[str] = []
    for number, word in enumerate(words, start=1):
        if not word.strip():
            raise ValueError(f"word {number} is empty: leave it out.")
        # As between other words: what begins a text may lack the space.
        piece = normal.normalize(f". {word}").removeprefix(normal.normalize("."))
        if piece in ("", _SPACE):
            raise ValueError(
                f"word {number}, {word!r}, has no characters but those that the vocabulary ignores "
                "in texts: leave it out."
            )
        if piece in found:
            raise ValueError(
                f"word {number}, {word!r}, is the same as word {found.index(piece) + 1}."
            )
        found.append(piece)
    return list(zip(found, words, strict=True))


def _hold_special_places(model: Any, tokenizer: Tokenizer) -> None:
    """Gives special ids behind the last piece, such as a pad's, pieces of their own."""
    pad, trainer = tokenizer.special_ids.pad, model.trainer_spec
    if pad < len(model.pieces):
        return
    taken = {piece.piece for piece in model.pieces}
    name = next(name for name in (trainer.pad_piece, "<pad>", "<padding>") if name not in taken)
    model.pieces.add(piece=name, score=0.0, type=CONTROL)
    trainer.pad_piece, trainer.pad_id = name, pad
