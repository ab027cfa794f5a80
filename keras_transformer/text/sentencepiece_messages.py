"""SentencePiece models as protobuf messages, whose pieces can be read and changed. Code that only
splits texts never loads this.
"""

from collections.abc import Collection, Iterable
from importlib import import_module
from itertools import compress, count
from typing import Any

from keras_transformer.text.subwords.sentencepiece_model import UNKNOWN_BEHIND
from keras_transformer.text.subwords.symbols_apart import ids_in_mark, mark_of

# SentencePiece's numbers of kinds of pieces, and of kinds of models.
NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = range(1, 7)
UNIGRAM, BPE = 1, 2


def read_message(content: bytes) -> Any:
    """Returns a model's message: `pieces`, `trainer_spec` and the rules of its normalization.

    Raises:
        google.protobuf.message.DecodeError: It is no message.
    """
    return _messages().ModelProto.FromString(content)


def new_message() -> Any:
    """Returns a message without pieces."""
    return _messages().ModelProto()


def _messages() -> Any:
    # The classes are made on import, so type checkers do not see them; protobuf takes its time.
    return import_module("sentencepiece.sentencepiece_model_pb2")


def write_message(message: Any) -> bytes:
    """Returns the bytes of a model."""
    return message.SerializeToString()


def add_unknown(message: Any, pieces: Iterable[Any]) -> None:
    """Adds pieces that texts are split to and that have no id: ids go on as the unknown."""
    added = list(pieces)
    if added:
        message.pieces.add(piece=UNKNOWN_BEHIND, score=0.0, type=UNUSED)
        message.pieces.extend(added)
    message.trainer_spec.vocab_size = len(message.pieces)


def set_apart(message: Any, symbols: Collection[int]) -> None:
    """Lets symbols of these ids stand apart in texts (`symbols_apart`); nothing may come behind."""
    if symbols:
        message.pieces.add(piece=mark_of(symbols), score=0.0, type=UNUSED)
    message.trainer_spec.vocab_size = len(message.pieces)


def take_further(message: Any) -> list[Any]:
    """Removes and returns the pieces behind the last id: `add_unknown`'s and `set_apart`'s."""
    names = [piece.piece for piece in message.pieces]
    is_further = (name == UNKNOWN_BEHIND or bool(ids_in_mark(name)) for name in names)
    border = next(compress(count(), is_further), len(names))
    taken = list(message.pieces[border:])
    del message.pieces[border:]
    return taken


def put_back(message: Any, further: Iterable[Any]) -> None:
    """Adds again what `take_further` took."""
    message.pieces.extend(further)
    message.trainer_spec.vocab_size = len(message.pieces)
