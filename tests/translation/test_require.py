"""Translations hold what they must, wherever that stands in them."""

from typing import Any

import pytest

from keras_transformer.search.options import SearchOptions
from keras_transformer.translation.by_sentence import SentenceTranslator
from keras_transformer.translation.translator import TextTranslator


@pytest.mark.parametrize("search", [{}, {"beam_size": 3, "num_hypotheses": 3}], ids=str)
def test_each_translation_holds_a_form_of_each_phrase(
    translator: TextTranslator, texts: list[str], search: dict[str, Any]
) -> None:
    options: Any = {"require": ["red house|three birds", "river"], "max_length": 40, **search}
    found = translator.translate_n_best(texts, **options)
    held = [one.text for row in found for one in row]
    assert held and all("river" in text for text in held)
    assert all("red house" in text or "three birds" in text for text in held)
    assert translator.translate(texts, **options) == [row[0].text for row in found]
    if not search:
        assert "".join(translator.translate_stream(texts[0], **options)) == found[0][0].text


def test_a_batch_equals_its_texts(translator: TextTranslator, texts: list[str]) -> None:
    options: Any = {"require": "river", "max_length": 20}
    together = translator.translate(texts, **options)
    assert together == [translator.translate([text], **options)[0] for text in texts]


def test_a_target_prefix_may_hold_a_phrase(translator: TextTranslator) -> None:
    options: Any = {"target_prefixes": ["we see"], "max_length": 9}
    plain = translator.translate(["hello"], **options)
    assert "see" in plain[0]
    assert translator.translate(["hello"], require="see", beam_size=2, **options)[0].startswith(
        "we see"
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"require": "house|☃"}, "the vocabulary cannot write '☃'"),
        ({"require": "house|"}, "the vocabulary cannot write ''"),
        ({"require": "the red house", "max_length": 2}, "and there is room for 2"),
        ({"require": "house", "sample": True}, "do not go with sample"),
        ({"require": "house", "stop": "x"}, "do not go with stop"),
    ],
)
def test_what_cannot_be_required_is_refused(
    translator: TextTranslator, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        translator.translate(["hello"], **options)


@pytest.mark.parametrize("search", [{}, {"beam_size": 3, "num_hypotheses": 3}], ids=str)
def test_no_translation_holds_a_banned_word(
    translator: TextTranslator, texts: list[str], search: dict[str, Any]
) -> None:
    options: Any = {"max_length": 20, **search}
    words = {word for text in translator.translate(texts, **options) for word in text.split()}
    banned = sorted(word for word in words if word.isalpha())[:3]
    found = translator.translate_n_best(texts, ban=banned, **options)
    said = [set(one.text.split()) for row in found for one in row]
    assert banned and not any(set(banned) & words for words in said)


def test_every_spelling_of_a_banned_word_is_banned(translator: TextTranslator) -> None:
    target = translator._target
    rows = target.with_bans(SearchOptions(ban=("birds",))).banned_sequences
    assert len(rows) > 2 and set(target.decode(rows)) == {"birds"}
    with pytest.raises(ValueError, match="ban holds '☃', which the vocabulary cannot write"):
        translator.translate(["hello"], ban="☃")


def test_one_sentence_must_hold_a_phrase_not_one_of_several(translator: TextTranslator) -> None:
    sentences = SentenceTranslator(translator)
    [found] = sentences.translate(["hello"], require="river", max_length=20)
    assert "river" in found
    with pytest.raises(ValueError, match="the text at index 1 has 2 sentences, and require"):
        sentences.translate(["hello", "hello. hello."], require="river")
