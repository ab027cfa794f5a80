"""Terms of texts: frequent phrases whose translation is found by alignment, and none else."""

import pytest

from keras_transformer.markup.soft_terms.extraction import consistent, extract_terms

NOUNS = {"file": "Datei", "image": "Bild", "folder": "Ordner", "table": "Tabelle"}
VERBS = {"delete": "löschen", "open": "öffnen", "rename": "umbenennen"}
PAIRS = [
    (f"{one} the {noun}", f"{target} {other}")
    for one, other in VERBS.items()
    for noun, target in NOUNS.items()
] * 2
FORMS = [
    (f"{one} words", f"{other} {form}")
    for form in ("Wörter", "Wörter", "Wörtern")
    for one, other in {"all": "alle", "two": "zwei", "few": "wenige"}.items()
]
SOURCES, TARGETS = map(list, zip(*PAIRS, *FORMS, strict=True))


def test_frequent_words_are_terms_with_their_translations() -> None:
    found = {term.source: dict(term.targets) for term in extract_terms(SOURCES, TARGETS)}
    assert {word: next(iter(found[word])) for word in {**NOUNS, **VERBS}} == {**NOUNS, **VERBS}
    assert "the" not in found


def test_forms_of_a_translation_are_one() -> None:
    [term] = [one for one in extract_terms(SOURCES, TARGETS) if one.source == "words"]
    assert (term.places, term.targets) == (9, {"Wörter": 9})


def test_what_is_rare_is_no_term() -> None:
    found = extract_terms([*SOURCES, "print it"], [*TARGETS, "drucken"])
    assert "print" not in {term.source for term in found}


def test_several_words_are_a_term_that_begins_and_ends_with_one() -> None:
    sources = ["the local network", "local", "network", "a local network with the"] * 3
    targets = ["das lokale Netzwerk", "lokale", "Netzwerk", "ein lokales Netzwerk mit dem"] * 3
    found = {term.source: list(term.targets) for term in extract_terms(sources, targets)}
    assert found["local network"] == ["lokale Netzwerk"]


def test_a_list_holds_what_is_translated_alike() -> None:
    sources, targets = SOURCES + ["file it"] * 30, TARGETS + [f"x{place}" for place in range(30)]
    terms = {term.source: term.target for term in consistent(extract_terms(sources, targets)).terms}
    assert terms["image"] == "Bild" and "file" not in terms


def test_text_without_terms_is_told() -> None:
    with pytest.raises(ValueError, match="no term that is frequent"):
        consistent(extract_terms(["a b"], ["c d"]))
    assert extract_terms([], []) == []
