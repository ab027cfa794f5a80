"""Terms by models without slots: phrases that translations hold, and low confidence where not."""

import re
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from served_models import answer, open_served

from keras_transformer.config.special_ids import SpecialIds
from keras_transformer.export import OnnxTranslator
from keras_transformer.markup.required import text_lifter, with_terms
from keras_transformer.markup.terms import Glossary, Term
from keras_transformer.serving.errors import ServingError
from keras_transformer.text.passage import Passage
from keras_transformer.text.subwords.slots import TokenAlignment
from keras_transformer.text.training_text import TrainingText
from keras_transformer.translation.by_sentence import SentenceTranslator

TERMS = Glossary((Term("river", "birds"), Term("red dog", "small house"), Term("hello", "☃")))
TEXTS = ["the river", "we see the red dog by the river. the river", "hello", "you read a book"]
WANTED = [["birds"], ["birds", "small house"], [], []]
LIMITS: dict[str, Any] = {"max_length": 20}
SOFT = TrainingText(longest_source=9, sentences=(1,), soft_terms=0.5)


@pytest.fixture(scope="module")
def translator(exported: Any) -> OnnxTranslator:
    return OnnxTranslator(exported.path, threads=1, glossary=TERMS)


@pytest.fixture(scope="module")
def glossary(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The terms as a file, which a server reads."""
    path = tmp_path_factory.mktemp("terms") / "terms.tsv"
    path.write_text("river\tbirds\nred dog\tsmall house\nhello\t☃\n", "utf-8")
    return path


def test_a_text_names_its_terms_once() -> None:
    found = with_terms("the RIVER, the red  dog, the river, the River", lift=None, glossary=TERMS)
    assert found.required == [("BIRDS",), ("small house",), ("birds",), ("Birds",)]
    assert found.is_kept("birds and a small house") and not found.is_kept("birds and houses")


def test_spans_hold_no_terms_and_capitals_are_read_as_they_are_translated() -> None:
    lift = text_lifter(SpecialIds(), None, markup="html", glossary=TERMS, casing="keep")
    assert lift is not None
    found = lift('see <a href="river">the <b>river</b></a>')
    assert (found.text, found.required) == ("see the river", [("birds",)])
    assert found.needs_alignment and len(found.places) == 4
    lift = text_lifter(SpecialIds(), None, markup=None, glossary=TERMS, casing="auto")
    assert lift is not None and lift("SEE THE RIVER").required == [("birds",)]
    lift = text_lifter(SpecialIds(slots=(20,)), None, markup=None, glossary=TERMS, casing="keep")
    assert lift is not None and lift("the river").required == ()


def test_words_of_a_soft_term_s_translation_are_of_the_term() -> None:
    terms = Glossary((Term("red dog", "small house"),))
    lift = partial(with_terms, lift=None, glossary=terms, use="soft")
    passage = Passage.whole("the red dog. a", lift=lift)
    assert len(passage.parts[0].split()) == 6
    assert passage.word_numbers() == [[0, 1, 2, 2, 2, 3]]
    # It is read once, also by who gives what the model has read.
    assert lift(passage.parts[0]).text == passage.parts[0]


def test_an_alignment_of_annotated_text_is_of_the_text() -> None:
    soft: dict[str, Any] = {"glossary": TERMS, "casing": "keep", "terms": "soft"}
    lift = text_lifter(SpecialIds(), SOFT, markup="html", **soft)
    assert lift is not None
    lifted = lift("the river <b>you</b> see")
    places = [found.span() for found in re.finditer(r"\S+", lifted.text)]
    weights = np.zeros((3, len(places)), np.float32)
    weights[range(3), [0, 2, 3]] = 1
    said = "der Vogel du", [(0, 3), (4, 9), (10, 12)]
    alignment = TokenAlignment(lifted.text, places, *said, weights)
    assert lifted.put_back(said[0], alignment) == "der Vogel <b>du</b>"


@pytest.mark.parametrize("search", [{}, {"beam_size": 3, "num_hypotheses": 2}], ids=str)
def test_translations_hold_the_terms_of_their_texts(
    translator: OnnxTranslator, search: dict[str, Any]
) -> None:
    for side in (translator, SentenceTranslator(translator)):
        found = side.translate_n_best(TEXTS, **LIMITS, **search)
        for own, terms in zip(found, WANTED, strict=True):
            assert all(term in one.text for one in own for term in terms)
        # The vocabulary cannot write the third one.
        assert [row[0].low_confidence for row in found][2] is True
        assert side.translate(TEXTS, **LIMITS, **search) == [row[0].text for row in found]


def test_a_text_without_terms_is_translated_as_ever(
    translator: OnnxTranslator, exported: Any
) -> None:
    plain = OnnxTranslator(exported.path, threads=1)
    for options in ({}, {"beam_size": 3}):
        [found] = translator.translate_n_best(TEXTS[3:], **LIMITS, **options)
        assert [found] == plain.translate_n_best(TEXTS[3:], **LIMITS, **options)


def test_a_term_without_room_or_way_is_left_out(translator: OnnxTranslator) -> None:
    [[short]] = translator.translate_n_best(["the red dog"], max_length=1)
    assert (short.low_confidence, len(short.ids)) == (True, 1)
    options = {**LIMITS, "target_prefixes": ["birds bir"], "no_repeat_ngram_size": 1}
    [[stuck]] = translator.translate_n_best(["the red dog"], **options)
    assert stuck.ids


def test_samples_are_refused_beside_terms(translator: OnnxTranslator) -> None:
    with pytest.raises(ValueError, match="do not go with sample"):
        translator.translate(TEXTS, sample=True)


def test_the_server_has_the_terms_and_streams_them(
    exported: Any, glossary: Path, translator: OnnxTranslator
) -> None:
    model = open_served(exported.path, LIMITS, threads=1, glossary=glossary)
    texts = answered(model, TEXTS)
    wanted = SentenceTranslator(translator).translate_n_best(TEXTS, **LIMITS)
    assert texts == [own[0].text for own in wanted]
    pieces: list[str] = []
    model.stream(model.read_text(TEXTS[0]).rows[0], lambda piece: not pieces.append(piece))
    assert "".join(pieces) == texts[0]
    with pytest.raises(ServingError, match="row 0: the terms of a glossary do not go with sample"):
        answered(model, TEXTS, sample=np.ones(len(TEXTS), bool))


def answered(model: Any, texts: list[str], **own: Any) -> list[str]:
    """Returns the translations of texts, each with terms or phrases of its own."""
    found = answer(model, "translate_with_options", text=texts, **own)
    return [text.decode() for text in found["translation"]]


def test_a_request_has_terms_of_its_own_before_the_server_s(exported: Any, glossary: Path) -> None:
    model = open_served(exported.path, LIMITS, threads=1, glossary=glossary)
    terms = [["river\tbook", ""], ["", ""], ["the\tyou", "dog\tthree"]]
    found = answered(model, ["the river", "the river", "the red dog"], glossary=terms)
    assert "book" in found[0] and "birds" in found[1] and "book" not in found[1]
    assert all(term in found[2] for term in ("you", "small house"))
    with pytest.raises(ServingError, match=r"row 1 of glossary, line 1: 'a\|b' has 2 forms"):
        answered(model, ["the", "the"], glossary=[[""], ["a|b\tc|d|e"]])
    with pytest.raises(ServingError, match="row 0 of glossary has 1001 terms, more than 1000"):
        answered(model, ["the"], glossary=[["a"] * 1001])


def test_a_request_requires_phrases_of_its_rows(exported: Any, glossary: Path) -> None:
    model = open_served(exported.path, LIMITS, threads=1, glossary=glossary)
    rows = [["book|red dog", ""], ["", ""], ["you", "hello"]]
    found = answered(model, ["the river", "the river", "hello"], require=rows)
    assert "birds" in found[0] and ("book" in found[0] or "red dog" in found[0])
    assert "birds" in found[1] and "you" in found[2] and "hello" in found[2]
    for texts, phrase, message in (
        (["we see. you read."], "you", "row 0 has 2 sentences, and require does not say"),
        (["hello"], "☃", "row 0: require holds '☃', of which the vocabulary cannot write"),
        (
            ["hello"],
            " ".join(["the"] * 30),
            "row 0: the phrases of require have 30 tokens, and there is room",
        ),
    ):
        with pytest.raises(ServingError, match=message):
            answered(model, texts, require=[[phrase]])
