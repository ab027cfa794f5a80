"""Keyboard accelerators are taken out of labels and put into other ones, once."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keras_transformer.text.subwords.accelerators import Accelerator, without_accelerator


@pytest.mark.parametrize(
    ("label", "bare", "letter"),
    [
        ("_File", "File", "F"),
        ("E&xit", "Exit", "x"),
        ("Save _As…", "Save As…", "A"),
        ("Show S&cript", "Show Script", "c"),
        ("_Öffnen", "Öffnen", "Ö"),
    ],
)
def test_a_mark_is_taken_out(label: str, bare: str, letter: str) -> None:
    found, accelerator = without_accelerator(label, "_&")
    assert (found, accelerator and accelerator.letter) == (bare, letter)


@pytest.mark.parametrize(
    "label",
    [
        *("file_name", "R&D", "AT&T", "a _b_ c", "&amp;", "Tom & Jerry", "x_", "_", "", "&1"),
        *("one\n_two", "_" + "long " * 20),
    ],
)
def test_other_marks_stay(label: str) -> None:
    assert without_accelerator(label, "_&") == (label, None)


def test_a_translation_may_have_its_mark_inside_any_word() -> None:
    found = without_accelerator("Ebene ein-/au_sblenden", "_", is_label=True)
    assert found == ("Ebene ein-/ausblenden", Accelerator("_", "s"))


def test_only_the_characters_that_are_asked_for_are_marks() -> None:
    assert without_accelerator("_File", "&") == ("_File", None)
    assert without_accelerator("_File", "") == ("_File", None)


@pytest.mark.parametrize(
    ("letter", "label", "expected"),
    [
        ("a", "Speichern als", "Speichern _als"),
        ("F", "Datei", "_Datei"),
        ("t", "Datei", "Da_tei"),
        ("O", "文件…", "文件(_O)…"),
        ("O", "", "(_O)"),
        ("q", "Da_tei", "Da_tei"),
    ],
)
def test_it_stands_before_the_same_letter_or_the_first(letter, label, expected) -> None:
    assert Accelerator("_", letter).put_into(label) == expected


@given(st.text("aBé ß%<>.文1", max_size=20), st.sampled_from("_&"), st.sampled_from("aBx"))
def test_what_is_put_in_comes_out_again(label: str, mark: str, letter: str) -> None:
    written = Accelerator(mark, letter).put_into(label)
    bare, accelerator = without_accelerator(written, mark, is_label=True)
    assert accelerator is not None and accelerator.mark == mark
    assert bare in (
        label,
        f"{label.rstrip(' .')}({letter.upper()}){label[len(label.rstrip(' .')) :]}",
    )
    assert written.count(mark) == 1
