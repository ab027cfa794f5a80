"""Attributes of pages, translated as sentences of their own beside the text around their tags."""

from collections.abc import Iterator
from typing import Any

import pytest

from keras_transformer.export import OnnxTranslator
from keras_transformer.translation.by_sentence import SentenceTranslator

TEXT = 'hello <a href="x" title="the red house">you</a>'


@pytest.fixture(scope="module")
def translator(exported: Any) -> Iterator[SentenceTranslator]:
    with OnnxTranslator(exported.path, markup="html") as opened:
        yield SentenceTranslator(opened)


def test_an_attribute_is_translated_as_a_text(translator: SentenceTranslator) -> None:
    found, value = translator.translate([TEXT, "the red house"])
    kept = translator.translate([TEXT.replace("title", "rel")])[0]
    assert f'title="{value}"' in found and value != "the red house"
    assert found.replace(value, "the red house") == kept.replace("rel=", "title=")


def test_its_place_is_that_in_the_text(translator: SentenceTranslator) -> None:
    [parts] = translator.translate_parts([f"{TEXT}. hello."])
    assert [(one.source, one.start) for one in parts][-1] == ("the red house", TEXT.index("the"))


def test_other_profiles_leave_it(exported: Any) -> None:
    with OnnxTranslator(exported.path, markup="xml") as opened:
        assert 'title="the red house"' in SentenceTranslator(opened).translate([TEXT])[0]


def test_it_stays_where_a_phrase_is_required(translator: SentenceTranslator) -> None:
    found = translator.translate([TEXT], require=["a"])
    assert 'title="the red house"' in found[0]


def test_the_title_of_a_link_in_markdown_is_translated_as_a_text(exported: Any) -> None:
    with OnnxTranslator(exported.path, markup="markdown") as opened:
        link = 'hello [you](x "the red house")'
        found, value = SentenceTranslator(opened).translate([link, "the red house"])
    assert f'](x "{value}")' in found and value != "the red house"


def test_a_translator_alone_translates_it_too(translator: SentenceTranslator) -> None:
    alone, texts = translator.translator, ["hello", TEXT, "a dog", TEXT.replace("red", "old")]
    wanted = translator.translate(texts)
    assert alone.translate(texts) == wanted and "the red house" not in wanted[1]
    best = alone.translate_n_best(texts, beam_size=2, num_hypotheses=2)
    assert [own[0].text for own in best] == translator.translate(texts, beam_size=2)
    assert ["".join(alone.translate_stream(text)) for text in texts] == wanted
    assert 'title="the red house"' in alone.translate([TEXT], require=["a"])[0]
    assert alone.score([TEXT], [wanted[1]])[0].text == wanted[1]


def test_a_tag_around_the_model_has_its_attribute_translated(exported: Any) -> None:
    with OnnxTranslator(exported.path, markup="html", letterless="copy") as opened:
        text = '<img alt="the red house"> 👍 hello'
        [value] = opened.translate(["the red house"])
        [alone] = opened.translate([text])
        assert alone == SentenceTranslator(opened).translate([text])[0]
        assert f'<img alt="{value}">' in alone == "".join(opened.translate_stream(text))
