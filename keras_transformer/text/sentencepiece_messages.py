"""SentencePiece's models as protobuf messages, whose pieces can be read and changed: takes a
model's bytes and returns the message, and the reverse. What only splits texts never loads this.
"""

from importlib import import_module
from typing import Any

# SentencePiece's numbers of kinds of pieces, and of kinds of models.
NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = range(1, 7)
UNIGRAM, BPE = 1, 2


def read_message(content: bytes) -> Any:
    """Returns a model's message: `pieces`, `trainer_spec` and the rules of its normalization.

    Raises:
        google.protobuf.message.DecodeError: It is no message.
    """
    # The classes are made on import, so type checkers do not see them; protobuf takes its time.
    messages: Any = import_module("sentencepiece.sentencepiece_model_pb2")
    return messages.ModelProto.FromString(content)


def write_message(message: Any) -> bytes:
    """Returns the bytes of a model."""
    return message.SerializeToString()
