"""Translations that begin as that of a similar text does."""

from collections.abc import Iterator
from typing import Any

import pytest

from keras_transformer.export import OnnxTranslator
from keras_transformer.files.memory import SimilarTexts
from keras_transformer.files.translating import SpanTranslator

KNOWN = {"the red dog runs": "beta alpha gamma"}


@pytest.fixture(scope="module")
def translator(exported: Any) -> Iterator[OnnxTranslator]:
    with OnnxTranslator(exported.path) as opened:
        yield opened


def helped(translator: OnnxTranslator, monkeypatch: Any, pairs: Any) -> Any:
    """A translator by similar texts, whose words are aligned by these pairs."""
    monkeypatch.setattr(translator, "align_words", lambda *given: pairs)
    return SpanTranslator(translator, similar=SimilarTexts(KNOWN, 75))


@pytest.mark.parametrize(
    ("pairs", "beginning"),
    [
        ([(0, 0), (2, 1), (3, 2)], "beta alpha"),
        ([(3, 0), (0, 1)], ""),
        # Where the word that changes went is not known.
        ([(0, 0), (1, 1), (2, 2)], ""),
    ],
)
def test_a_translation_begins_as_far_as_the_texts_agree(
    translator: OnnxTranslator, monkeypatch: Any, pairs: Any, beginning: str
) -> None:
    text = "the red dog sleeps"
    [wanted] = translator.translate([text], target_prefixes=[beginning])
    [found] = helped(translator, monkeypatch, pairs)([text], "auto")
    assert (found.text, found.hint) == (wanted, "fuzzy match 75 %: beta alpha gamma")


@pytest.mark.parametrize("text", ["the <b>red</b> dog runs", "a house", "the red dog runs. a. b."])
def test_other_texts_begin_as_the_model_likes(
    translator: OnnxTranslator, monkeypatch: Any, text: str
) -> None:
    pairs = [(0, 0), (1, 1), (2, 1), (3, 2)]
    found = helped(translator, monkeypatch, pairs)([text], "auto")
    assert found[0].text == SpanTranslator(translator)([text], "auto")[0].text
