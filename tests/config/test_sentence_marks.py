"""Marks before texts: a pair of languages chooses them, and what does not fit is named."""

import json
from typing import Any

import pytest

from keras_transformer.config import TransformerConfig
from keras_transformer.config.sentence_marks import Begins, SentenceMarks

LANGUAGES = {"en": 20, "de": 21, "fr": 22}


def test_without_languages_the_same_ids_begin_every_text() -> None:
    marks = SentenceMarks(source=(5,), target=(6, 7))
    assert marks.begins() == Begins((5,), (6, 7))
    assert SentenceMarks().begins() == Begins()


def test_both_sides_are_marked_with_their_own_language() -> None:
    marks = SentenceMarks(languages=LANGUAGES, source_language="en", target_language="de")
    assert marks.begins() == Begins((20,), (21,))
    assert marks.begins("fr", "en") == Begins((22,), (20,))


def test_a_source_may_be_marked_with_the_target_language() -> None:
    marks = SentenceMarks(languages=LANGUAGES, languages_in="source")
    assert marks.begins(target_language="fr") == Begins((22,), ())
    with pytest.raises(ValueError, match="not told the source's language: leave out 'en'"):
        marks.begins("en", "fr")


@pytest.mark.parametrize(
    ("text", "rest", "language"),
    [
        (">>de<< Two dogs.", "Two dogs.", "de"),
        (" \n>>fr<<Two", "Two", "fr"),
        (">>de<<", "", "de"),
        ("<2de> Two", "Two", "de"),
        ("<2 de> Two", "<2 de> Two", None),
        ("Two >>de<< dogs.", "Two >>de<< dogs.", None),
        (">> de << Two", ">> de << Two", None),
        ("", "", None),
    ],
)
def test_a_tag_at_the_beginning_of_a_text_names_its_language(
    text: str, rest: str, language: str | None
) -> None:
    marks = SentenceMarks(languages=LANGUAGES, languages_in="source")
    found = marks.read_tag(text)
    assert (found.text, found.language) == (rest, language)
    assert found.tag + found.text == text
    assert SentenceMarks(languages=LANGUAGES).read_tag(text).text == text


def test_a_tag_of_an_unknown_language_is_refused() -> None:
    marks = SentenceMarks(languages=LANGUAGES, languages_in="source")
    message = r"the language in the tag of a text must be one of 3 \(de, en, fr\), got 'xx'"
    with pytest.raises(ValueError, match=message):
        marks.read_tag(">>xx<< Two dogs.")


def test_languages_may_stand_at_the_ends_of_one_pair() -> None:
    pair = {"source_language": "en", "target_language": "de"}
    marks = SentenceMarks(languages=LANGUAGES, languages_in="ends", **pair)
    assert marks.behind_source(3) == (3, 20)
    assert marks.begins() == marks.begins("en", "de") == Begins(source_ends=(20,))
    config = TransformerConfig(source_vocab_size=30, model_dim=8, num_heads=2, marks=marks)
    assert config.source_ends == (config.special_ids.eos, 20)
    with pytest.raises(ValueError, match="target_language was chosen .*: it is 'de', got 'fr'"):
        marks.begins(target_language="fr")
    with pytest.raises(ValueError, match=r"source_language must be one of 3 .*, got None"):
        SentenceMarks(languages=LANGUAGES, languages_in="ends").behind_source(3)


def test_a_source_may_be_nothing_but_its_text() -> None:
    marks = SentenceMarks(source_eos=False)
    assert marks.behind_source(3) == marks.begins().behind_source(3) == ()
    assert marks != SentenceMarks()


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ((None, "es"), r"target_language must be one of 3 \(de, en, fr\), got 'es'"),
        ((None, None), r"target_language must be one of 3 \(de, en, fr\), got None"),
        (("xx", "de"), r"source_language must be one of 3 \(de, en, fr\), got 'xx'"),
    ],
)
def test_an_unknown_or_missing_language_is_named(asked: tuple, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        SentenceMarks(languages=LANGUAGES).begins(*asked)


def test_a_model_of_two_languages_refuses_codes() -> None:
    with pytest.raises(ValueError, match="between two languages only: leave out 'de'"):
        SentenceMarks().begins(target_language="de")


def test_a_config_keeps_its_marks_in_json() -> None:
    marks = SentenceMarks(source=(5,), languages=LANGUAGES, target_language="de")
    config = TransformerConfig(source_vocab_size=30, model_dim=8, num_heads=2, marks=marks)
    assert TransformerConfig.from_json(config.to_json()) == config
    old = json.loads(config.to_json())
    del old["marks"]
    assert TransformerConfig.from_dict(old).marks == SentenceMarks()


@pytest.mark.parametrize(
    ("fields", "error", "message"),
    [
        ({"source": (-1,)}, ValueError, "marks.source must be at least 0, got -1"),
        ({"languages": {"en": "x"}}, TypeError, r"marks.languages\['en'\]"),
        ({"languages_in": "target"}, ValueError, "marks.languages_in must be one of"),
        ({"languages": LANGUAGES, "source_language": "xx"}, ValueError, "source_language must be"),
    ],
)
def test_wrong_fields_are_named(fields: Any, error: type, message: str) -> None:
    with pytest.raises(error, match=message):
        SentenceMarks(**fields)


def test_a_mark_outside_the_vocabulary_is_named() -> None:
    with pytest.raises(ValueError, match="marks names the id 30"):
        TransformerConfig(
            source_vocab_size=30, model_dim=8, num_heads=2, marks=SentenceMarks(source=(30,))
        )
