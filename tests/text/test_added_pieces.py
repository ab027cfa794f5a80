"""Added words are one token each, and no other text is read in another way."""

from typing import Any

import pytest
import sentencepiece
from hypothesis import given
from hypothesis import strategies as st

from keras_transformer.text.added_pieces import with_words
from keras_transformer.text.sentencepiece_messages import read_message, write_message
from keras_transformer.text.tokenizer import Tokenizer, train_tokenizer

LINES = ["the dog runs", "a cat sleeps in the house", "we are here now", "dogs and cats"] * 5
WORDS = ["Kubernetes", "New  York", "ﬁne-tuning"]


@pytest.fixture(scope="module", params=["unigram", "bpe"])
def before(request: pytest.FixtureRequest) -> Tokenizer:
    return train_tokenizer(LINES, 26, request.param)


@pytest.fixture(scope="module")
def after(before: Tokenizer) -> Tokenizer:
    return with_words(before, WORDS)


def test_each_word_is_one_new_token_where_a_word_begins(before: Any, after: Any) -> None:
    first = before.vocab_size
    assert after.vocab_size == first + 3
    assert after.encode(["Kubernetes", "New York", "fine-tuning"]) == [
        [first],
        [first + 1],
        [first + 2],
    ]
    [the] = before.encode(["the"])
    assert after.encode(["the Kubernetes the"]) == [[*the, first, *the]]
    assert after.decode([[*the, first, first + 1]]) == ["the Kubernetes New York"]


@given(st.text("abcdefghinorstu .", max_size=30))
def test_texts_without_the_words_keep_their_ids(before: Any, after: Any, text: str) -> None:
    assert after.encode([text]) == before.encode([text])


def test_a_pad_behind_the_pieces_keeps_its_id() -> None:
    model = read_message(train_tokenizer(LINES, 26, "bpe").model)
    del model.pieces[0]
    for name, number in (("pad", -1), ("unk", 0), ("bos", 1), ("eos", 2)):
        setattr(model.trainer_spec, f"{name}_id", number)
    content = write_message(model)
    assert sentencepiece.SentencePieceProcessor(model_proto=content).pad_id() < 0
    before = Tokenizer(content)
    after = with_words(before, ["Kubernetes"])
    assert before.special_ids.pad == 25
    assert after.special_ids == before.special_ids
    assert after.encode(["Kubernetes"]) == [[26]]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "there is no word to add"),
        (["new", " "], "word 2 is empty"),
        (["new", "\u200b"], r"word 2, '\\u200b', has no characters but"),
        (["\ufeff"], r"word 1, '\\ufeff', has no characters but"),
        (["new", "old", "new"], "word 3, 'new', is the same as word 1"),
        (["the"], "word 1, 'the', is a token of the vocabulary already"),
    ],
)
def test_words_that_cannot_be_added_are_named(words: list[str], message: str) -> None:
    tokenizer = train_tokenizer([*LINES, *["the the the the"] * 20], 27, "bpe")
    with pytest.raises(ValueError, match=message):
        with_words(tokenizer, words)


def test_only_vocabularies_of_sentencepiece_grow(tokenizer_jsons: dict[str, bytes]) -> None:
    with pytest.raises(ValueError, match="and this is a tokenizer.json"):
        with_words(Tokenizer(tokenizer_jsons["wordpiece"]), ["new"])
