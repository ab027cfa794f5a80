"""SentencePiece's messages: the constants are its own, and what only splits texts loads none."""

from importlib import import_module
from typing import Any

from fresh_process import python

from keras_transformer.text import sentencepiece_messages
from keras_transformer.text.sentencepiece_messages import read_message, write_message
from keras_transformer.text.tokenizer import Tokenizer, train_tokenizer

SPLITTING = """
import sys

import keras_transformer.pretrained.sentencepiece_models
import keras_transformer.text.added_pieces
import keras_transformer.training.transfer.rehearsal
import keras_transformer.runtime.translator
from keras_transformer.text.tokenizer import Tokenizer

Tokenizer.load(sys.argv[1]).encode(["a house"])
print(*sys.modules)
"""


def test_the_constants_are_those_of_sentencepiece() -> None:
    messages: Any = import_module("sentencepiece.sentencepiece_model_pb2")
    kinds = messages.ModelProto.SentencePiece.Type
    for name in kinds.keys():  # noqa: SIM118 - no mapping: it has keys alone.
        assert getattr(sentencepiece_messages, name) == kinds.Value(name)
    models = messages.TrainerSpec.ModelType
    assert sentencepiece_messages.UNIGRAM == models.Value("UNIGRAM")
    assert sentencepiece_messages.BPE == models.Value("BPE")


def test_a_message_is_written_as_it_was_read(tokenizer: Tokenizer) -> None:
    message = read_message(tokenizer.model)
    assert [piece.piece for piece in message.pieces] == tokenizer.pieces(
        range(tokenizer.vocab_size)
    )
    message.pieces[-1].piece = "▁zebra"
    assert Tokenizer(write_message(message)).pieces([tokenizer.vocab_size - 1]) == ["▁zebra"]


def test_splitting_texts_loads_no_messages(tmp_path: Any) -> None:
    path = tmp_path / "tokenizer.model"
    train_tokenizer(["a small house", "a red house"] * 5, 16).save(path)
    result = python("-c", SPLITTING, path)
    assert "sentencepiece.sentencepiece_model_pb2" not in result.stdout.split()
