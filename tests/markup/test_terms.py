"""Terms: what a glossary finds in a text, and what it says in its place."""

import gc
import time
import weakref
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keras_transformer.markup.lifting import lift
from keras_transformer.markup.terms import Glossary, Term

FORMS = Glossary((Term("file", "Datei"), Term("files", "Dateien"), Term("file name", "Dateiname")))
WORDS = st.text("ab %<>İßſ|\t", min_size=1, max_size=4)


def translated(text: str, glossary: Glossary = FORMS) -> str:
    lifted = lift(text, "auto", (), glossary)
    return lifted.put_back(lifted.text)


def glossary_of(tmp_path: Path, text: str) -> Glossary:
    path = tmp_path / "terms.tsv"
    path.write_text(text, "utf-8")
    return Glossary.read(path)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Save the file", "Save the Datei"),
        ("Two files, one\u00a0file  name", "Two Dateien, one\u00a0Dateiname"),
        ("profile FILES", "profile DATEIEN"),
        ("see http://a.org/file/x of %s", "see http://a.org/file/x of %s"),
    ],
)
def test_terms_stand_where_whole_words_do(text: str, expected: str) -> None:
    assert translated(text) == expected


def test_capitals_are_those_of_the_text_unless_a_term_has_its_own() -> None:
    terms = Glossary((Term("open", "öffnen"), Term("IT", "EDV", has_case=True)))
    assert translated("Open it, OPEN IT", terms) == "Öffnen it, ÖFFNEN EDV"


@pytest.mark.parametrize("target", ["<b>Datei</b>", "{name}", "www.a.org"])
def test_spans_in_a_translation_keep_their_letters(target: str) -> None:
    assert translated("File, FILE", Glossary((Term("file", target),))) == f"{target}, {target}"


def test_a_term_that_tells_capitals_apart_comes_before_one_that_does_not() -> None:
    terms = Glossary((Term("may", "kann"), Term("May", "Mai", has_case=True)))
    assert translated("It may be May", terms) == "It kann be Mai"


def test_letters_that_are_alike_for_patterns_alone_are_one_term() -> None:
    terms = Glossary((Term("disk", "Platte"), Term("Dısk", "x", has_case=True)))
    assert translated("a dısk", terms) == "a Platte"


def test_a_part_of_a_word_is_found_where_that_is_asked_for() -> None:
    assert translated("profiles", Glossary((Term("file", "datei", is_part=True),))) == "prodateis"


def test_a_file_holds_forms_flags_and_terms_that_stay(tmp_path: Path) -> None:
    read = glossary_of(tmp_path, "file|files\tDatei|Dateien\n\nGIMP\nit|its\tes\tcase, part\r\n")
    assert read.terms == (
        *(Term("file", "Datei"), Term("files", "Dateien"), Term("GIMP", "GIMP")),
        *(Term("it", "es", True, True), Term("its", "es", True, True)),
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a\tb\nc|d|e\tf|g\n", "line 2: 'c|d|e' has 3 forms and 'f|g' 2"),
        ("a\tb\tcapitals\n", "line 1: a term is a source"),
        ("a\tb\tcase\tmore\n", "line 1: a term is a source"),
        ("a\t \n", r"needs a source and a target, got \('a', ''\)"),
        ("a\tb\na\tc\n", "'a' is both 'b' and 'c'"),
        ("\n", "a glossary needs a term"),
    ],
)
def test_a_line_that_is_no_term_is_named(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message.replace("|", r"\|")):
        glossary_of(tmp_path, text)


def test_a_file_that_is_not_utf_8_is_named(tmp_path: Path) -> None:
    path = tmp_path / "terms.tsv"
    path.write_bytes("a\tb\nfiles\tgrün\n".encode("latin-1"))
    with pytest.raises(ValueError, match="terms.tsv, line 2: not UTF-8"):
        Glossary.read(path)


@given(
    st.lists(WORDS.filter(lambda word: bool(word.split())), min_size=1, max_size=4, unique=True),
    WORDS,
    st.booleans(),
)
def test_whatever_a_glossary_finds_it_translates(
    sources: list[str], text: str, is_part: bool
) -> None:
    terms = tuple(Term(source, "x", is_part=is_part) for source in sources)
    lifted = lift(text + sources[0], "auto", (), Glossary(terms))
    assert all(one.written for one in lifted.spans)
    assert lifted.is_kept(lifted.text)


def test_thousands_of_terms_are_found_in_a_moment() -> None:
    terms = Glossary(tuple(Term(f"term {n}", f"Wort{n}") for n in range(4000)))
    assert translated("x term 3999", terms) == "x Wort3999"
    start = time.process_time()
    assert translated("some words of a text " * 100, terms) == "some words of a text " * 100
    assert time.process_time() - start < 1


def test_a_list_that_is_no_longer_used_is_not_kept() -> None:
    terms = Glossary((Term("file", "Datei"),))
    kept = weakref.ref(terms)
    lift("a file", "plain", (), terms)
    del terms
    for number in range(99):
        lift("a file", "plain", (), Glossary((Term("file", f"{number}"),)))
    gc.collect()
    assert kept() is None


def test_a_term_is_no_part_of_a_word() -> None:
    lifted = lift("the file name of files %s", "auto", (), FORMS)
    name, files, printf = (lifted.text[place] for place in (4, 9, 11))
    assert lifted.put_back(f"ein{name}{files}weg{printf}") == "ein Dateiname Dateien weg%s"
    assert lifted.put_back(f"、{name}。{files}{printf}") == "、Dateiname。Dateien%s"


def test_a_text_of_terms_alone_has_words() -> None:
    assert lift("files %s", "auto", (), FORMS).places == [(6, 8)]
