"""Texts and ids of one side: the same for one text as for many, for strings as for their bytes; and
texts that are none are refused."""

import dataclasses
from typing import Any

import pytest
import sentencepiece

from keras_transformer.text.tokenizer import Tokenizer, train_tokenizer
from keras_transformer.translation.text_ids import TextIds, check_texts

TEXTS = ["hello", "", "the house is red", "a dog ▁ ☃ runs", "x" * 300]


@pytest.fixture(scope="module")
def text_ids(tokenizer: Tokenizer) -> TextIds:
    return TextIds(tokenizer.subwords, tokenizer.special_ids)


def test_few_texts_have_the_same_ids_as_in_a_crowd(text_ids: TextIds) -> None:
    crowd = TEXTS * 40
    assert text_ids.encode(crowd) == [text_ids.encode([text])[0] for text in crowd]
    rows = text_ids.encode(crowd)
    assert text_ids.decode(rows) == [text_ids.decode([row])[0] for row in rows]


def test_strings_and_their_bytes_have_the_same_ids(text_ids: TextIds) -> None:
    assert text_ids.encode([text.encode() for text in TEXTS]) == text_ids.encode(TEXTS)


def test_bytes_may_be_no_utf8(text_ids: TextIds) -> None:
    [ids] = text_ids.encode([b"hello \xff\xfe world"])
    processor = sentencepiece.SentencePieceProcessor(model_proto=text_ids.subwords.content)
    assert ids == processor.encode(b"hello \xff\xfe world")


def test_tokens_of_single_bytes_join_to_a_text() -> None:
    tokenizer = train_tokenizer(["red", "rede"], vocab_size=265, byte_fallback=True)
    ids = TextIds(tokenizer.subwords, tokenizer.special_ids)
    [row] = ids.encode(["red 🎉"])
    found = ids.token_bytes([tokenizer.special_ids.bos, *row, tokenizer.vocab_size])
    assert b"".join(found).decode() == " red 🎉" and b"\xf0" in found
    assert (found[0], found[-1]) == (b"", b"")


def test_special_ids_are_no_text(text_ids: TextIds) -> None:
    [ids] = text_ids.encode(["hello"])
    assert text_ids.decode([[2, *ids, 3, 0], []]) == ["hello", ""]


def test_no_text_gives_nothing(text_ids: TextIds) -> None:
    assert (text_ids.encode([]), text_ids.decode([])) == ([], [])


def test_texts_and_ids_are_the_tokenizer_s(tokenizer: Tokenizer, text_ids: TextIds) -> None:
    rows = text_ids.encode(TEXTS)
    assert rows == tokenizer.encode(TEXTS)
    assert text_ids.decode([[*row, 1] for row in rows]) == tokenizer.decode(rows)
    assert [text_ids.split(text) for text in TEXTS] == [tokenizer.split(text) for text in TEXTS]
    assert text_ids.pieces([0, 1, 2, 3, *rows[0]]) == tokenizer.pieces([0, 1, 2, 3, *rows[0]])
    assert text_ids.special_ids.eos == 3


def test_a_pad_that_is_no_piece_is_no_text(tokenizer: Tokenizer) -> None:
    ids = dataclasses.replace(tokenizer.special_ids, pad=tokenizer.vocab_size)
    text_ids = TextIds(tokenizer.subwords, ids)
    assert text_ids.decode([[5, ids.pad]]) == text_ids.decode([[5]])
    assert text_ids.pieces([ids.pad]) == [""]


def test_ids_that_arrive_one_by_one_give_the_same_text(text_ids: TextIds) -> None:
    for row in text_ids.encode(TEXTS):
        pieces = list(text_ids.stream([2, *row, 3]))
        assert ["".join(pieces)] == text_ids.decode([row])
        assert all(pieces)


def test_texts_come_back_as_a_list() -> None:
    assert check_texts(("a", "b")) == ["a", "b"]
    assert check_texts(iter(())) == []


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ("a dog", r"target_prefixes must be a list of strings, got one str: write \[text\]"),
        (b"a", "target_prefixes must be a list of strings, got one bytes"),
        (None, r"target_prefixes must be a list of strings, got one NoneType\."),
        (5, r"target_prefixes must be a list of strings, got one int\."),
        (["a", None], "target_prefixes must be strings, got NoneType at index 1"),
    ],
)
def test_anything_but_a_list_of_strings_is_refused(texts: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        check_texts(texts, "target_prefixes")
