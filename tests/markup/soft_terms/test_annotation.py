"""Annotated texts give the text back, and an inflected term counts as one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keras_transformer.markup.soft_terms.annotation import (
    annotated,
    annotations_of,
    folded_words,
    holds_form,
    is_form,
    without_annotations,
)
from keras_transformer.text.subwords.slots import TERM_MARKS

TEXTS = st.text(st.characters(exclude_characters=TERM_MARKS, exclude_categories=["Cs"]))


@given(TEXTS, st.lists(st.tuples(st.integers(0, 30), TEXTS), max_size=4))
def test_a_text_without_its_annotations_is_as_it_was(
    text: str, terms: list[tuple[int, str]]
) -> None:
    places = sorted((min(end, len(text)), target) for end, target in terms)
    written = annotated(text, places)
    assert without_annotations(written) == text
    assert len(annotations_of(written)) == len(places)


def test_a_part_of_a_text_has_no_part_of_an_annotation() -> None:
    parts = annotated("a file.", [(6, "lokale Datei")]).partition(" lokale")
    assert [without_annotations(one) for one in (parts[0], parts[2])] == ["a file", "."]


def test_a_translation_stands_behind_its_term_as_a_word() -> None:
    assert annotated("a file.", [(6, "Datei")]) == f"a file{TERM_MARKS[0]} Datei{TERM_MARKS[1]}."


@pytest.mark.parametrize(
    ("word", "other", "expected"),
    [
        ("haus", "hauser", True),
        ("lokales", "lokalen", True),
        ("datei", "dateiname", False),
        ("an", "am", False),
        ("bild", "wild", False),
    ],
)
def test_forms_of_a_word_differ_in_a_short_ending(word: str, other: str, expected: bool) -> None:
    assert is_form(word, other) is is_form(other, word) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Die Häuser", True),
        ("in GROẞEN HÄUSER!", True),
        ("großes altes Haus", True),
        ("Haustür", False),
        ("", False),
    ],
)
def test_a_text_holds_forms_of_words_beside_each_other(text: str, expected: bool) -> None:
    assert holds_form(folded_words(text), "Haus") is expected


def test_the_words_of_a_term_are_beside_each_other_in_order() -> None:
    assert holds_form(folded_words("in den lokalen Netzwerken"), "lokales Netzwerk")
    assert not holds_form(folded_words("lokale und andere Netzwerke"), "lokales Netzwerk")
