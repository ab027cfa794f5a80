"""Texts in capitals are those of `markup.casing`, and written so, unless they may hold spans."""

import string

import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from keras_transformer.export.saved_model.texts.capitals import (
    are_in_capitals,
    in_capitals,
    recased,
)
from keras_transformer.markup import casing
from keras_transformer.text import training_text

CHARACTERS = string.ascii_uppercase + "ÄÉŠΣЖÞŁ0123456789 .!?…,;:'\"-()\n\t½²ª中"
TEXTS = st.lists(st.text(CHARACTERS, max_size=20), min_size=1, max_size=4)


@settings(max_examples=60)
@given(texts=TEXTS)
def test_a_graph_recases_as_python_does(texts: list[str]) -> None:
    given_texts = tf.constant(texts)
    expected = [training_text.in_capitals(text) for text in texts]
    assert are_in_capitals(given_texts).numpy().tolist() == expected
    found = [text.decode() for text in recased(given_texts).numpy()]
    assert found == [casing.recased(text) for text in texts]


@pytest.mark.parametrize("text", ["%S AND OTHERS", "<B>DELETE</B>", "_FILE MENU", "SEE A@B.ORG"])
def test_what_may_hold_a_span_stays(text: str) -> None:
    assert not are_in_capitals(tf.constant([text])).numpy().any()


def test_malformed_bytes_stay() -> None:
    texts = tf.constant([b"A\xc0\xc0\xc0\xc0", b"ALL CAPITALS\xff"])
    assert not are_in_capitals(texts).numpy().any()


def test_a_translation_is_written_in_capitals() -> None:
    assert in_capitals(tf.constant([["Straße", "år"]])).numpy().tolist() == [
        [b"STRASSE", "ÅR".encode()]
    ]


def test_no_text_has_no_capitals() -> None:
    assert recased(tf.constant([], tf.string)).shape == (0,)
