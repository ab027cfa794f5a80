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
