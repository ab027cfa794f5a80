"""Texts and ids of one side: the same for one text as for many, for strings as for their bytes."""

from typing import Any

import pytest

from keras_transformer.artefact.manifest import Manifest
from keras_transformer.runtime.tokenizers import TextIds

TEXTS = ["hello", "", "the house is red", "a dog ▁ ☃ runs", "x" * 300]


@pytest.fixture(scope="module")
def text_ids(exported: Any) -> TextIds:
    return TextIds(exported.path, Manifest.read(exported.path), "source")


def test_few_texts_have_the_same_ids_as_in_a_crowd(text_ids: TextIds) -> None:
    crowd = TEXTS * 40
    assert text_ids.encode(crowd) == [text_ids.encode([text])[0] for text in crowd]
    rows = text_ids.encode(crowd)
    assert text_ids.decode(rows) == [text_ids.decode([row])[0] for row in rows]


def test_strings_and_their_bytes_have_the_same_ids(text_ids: TextIds) -> None:
    assert text_ids.encode([text.encode() for text in TEXTS]) == text_ids.encode(TEXTS)


def test_bytes_may_be_no_utf8(text_ids: TextIds) -> None:
    [ids] = text_ids.encode([b"hello \xff\xfe world"])
    assert ids == text_ids.processor.encode(b"hello \xff\xfe world")


def test_special_ids_are_no_text(text_ids: TextIds) -> None:
    [ids] = text_ids.encode(["hello"])
    assert text_ids.decode([[2, *ids, 3, 0], []]) == ["hello", ""]


def test_no_text_gives_nothing(text_ids: TextIds) -> None:
    assert (text_ids.encode([]), text_ids.decode([])) == ([], [])
