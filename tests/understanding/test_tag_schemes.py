"""Tag schemes: which tags follow them, what they forbid, and the spans that they mark."""

import json
from pathlib import Path
from typing import Any

import pytest

from keras_transformer.understanding.tag_schemes import TagScheme

SEQEVAL = Path(__file__).parents[1] / "fixtures" / "chains" / "seqeval.json"
CASES: list[dict[str, Any]] = json.loads(SEQEVAL.read_text(encoding="utf-8"))

BIO = ("B-X", "I-X", "O")
BIOES = ("B-X", "E-X", "I-X", "O", "S-X")


def scheme_of(labels: tuple[str, ...]) -> TagScheme:
    scheme = TagScheme.of(labels)
    assert scheme is not None
    return scheme


@pytest.mark.parametrize(
    ("labels", "name"),
    [
        (BIO, "BIO"),
        (("B-a-b", "O"), "BIO"),
        (BIOES, "BIOES"),
        (("B-X", "S-Y"), "BIOES"),
        (("DET", "NOUN"), None),
        (("I-X", "O"), None),
        ((*BIO, "X"), None),
        (("B-", "O"), None),
    ],
)
def test_a_scheme_is_known_by_its_tags(labels: tuple[str, ...], name: str | None) -> None:
    scheme = TagScheme.of(labels)
    assert (scheme and scheme.name) == name


@pytest.mark.parametrize(
    ("labels", "allowed"),
    [
        (BIO, ["#B", "#O", "BB", "BI", "BO", "B#", "IB", "II", "IO", "I#", "OB", "OO", "O#"]),
        (
            BIOES,
            [*("#B", "#O", "#S", "BE", "BI", "EB", "EO", "ES", "E#", "IE", "II"), "OB", "OO", "OS"]
            + ["O#", "SB", "SO", "SS", "S#"],
        ),
    ],
)
def test_all_but_these_pairs_are_forbidden(labels: tuple[str, ...], allowed: list[str]) -> None:
    letters = [*(label[0] for label in labels), "#"]
    edge = len(labels)
    every = {(one, other) for one in range(edge + 1) for other in range(edge + 1)}
    found = {letters[one] + letters[other] for one, other in every - {*scheme_of(labels).forbidden}}
    assert found - {"##"} == {*allowed}


def test_a_span_goes_on_within_its_kind_only() -> None:
    labels = ("B-X", "I-X", "B-Y", "I-Y")
    forbidden = scheme_of(labels).forbidden
    assert (labels.index("B-X"), labels.index("I-Y")) in forbidden
    assert (labels.index("B-Y"), labels.index("I-Y")) not in forbidden


def test_a_kind_without_a_beginning_may_begin_inside() -> None:
    scheme = scheme_of(("B-X", "I-X", "I-Y", "O"))
    assert not [pair for pair in scheme.forbidden if pair[1] == 2]


@pytest.mark.parametrize("case", CASES)
def test_spans_are_those_of_seqeval(case: dict[str, Any]) -> None:
    scheme = scheme_of(tuple(case["labels"]))
    for tags, spans in zip(case["right"], case["spans"], strict=True):
        assert scheme.spans(tags) == [tuple(span) for span in spans]


def test_misplaced_tags_are_found() -> None:
    assert [*scheme_of(BIO).misplaced(["I-X", "I-X", "O", "I-X"])] == [0, 3]
    assert [*scheme_of(BIOES).misplaced(["B-X", "O", "S-X", "B-X"])] == [1, 4]
