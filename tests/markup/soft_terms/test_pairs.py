"""Pairs to train on carry translations that their targets have, drawn from the seed."""

from keras_transformer.markup.soft_terms.annotation import annotated, without_annotations
from keras_transformer.markup.soft_terms.extraction import ExtractedTerm
from keras_transformer.markup.soft_terms.pairs import with_soft_terms
from keras_transformer.text.subwords.slots import TERM_MARKS

TERMS = [
    ExtractedTerm("files", 9, {"Datei": 5, "Akte": 4}),
    ExtractedTerm("all files", 9, {"alle Dateien": 5}),
    ExtractedTerm("open", 9, {"öffnen": 9}),
]
SOURCES = ["Open all files in %(files)s", "some files", "nothing"] * 40
TARGETS = ["In %(files)s alle Dateien öffnen", "einige Akten", "nichts"] * 40


def drawn(share: float, seed: int = 1) -> list[str]:
    return with_soft_terms(SOURCES, TARGETS, TERMS, share=share, seed=seed)


def test_a_share_of_0_changes_nothing() -> None:
    assert drawn(0) == SOURCES


def test_a_seed_draws_the_same_again_and_another_one_does_not() -> None:
    assert drawn(0.5) == drawn(0.5) != drawn(0.5, seed=2)


def test_without_annotations_the_sources_are_as_they_were() -> None:
    assert [without_annotations(one) for one in drawn(1)] == SOURCES


def test_the_longest_term_has_what_the_target_says_and_spans_have_none() -> None:
    full = annotated(SOURCES[0], [(4, "Öffnen"), (14, "alle Dateien")])
    first = set(drawn(1)[::3])
    assert full in first and max(map(len, first)) == len(full)
    assert set(drawn(1)[1::3]) == {annotated("some files", [(10, "Akte")])}
    assert set(drawn(1)[2::3]) == {"nothing"}


def test_a_share_of_the_pairs_is_drawn() -> None:
    assert 30 <= sum(one != other for one, other in zip(drawn(0.5), SOURCES, strict=True)) <= 50


def test_a_text_with_marks_stays_as_it_is() -> None:
    marked = [f"some files {TERM_MARKS[0]}"]
    assert with_soft_terms(marked, ["Akten"], TERMS, share=1, seed=0) == marked
