"""Scores of taggers: those of seqeval, and of each kind of span."""

import json
from pathlib import Path
from typing import Any

import pytest

from keras_transformer.understanding.tag_scores import SpanScores, tag_scores

SEQEVAL = Path(__file__).parents[1] / "fixtures" / "chains" / "seqeval.json"
CASES: list[dict[str, Any]] = json.loads(SEQEVAL.read_text(encoding="utf-8"))

LABELS = ("B-X", "B-Y", "I-X", "O")


@pytest.mark.parametrize("case", CASES)
def test_spans_score_as_in_seqeval(case: dict[str, Any]) -> None:
    found = tag_scores(case["found"], case["right"], case["labels"]).spans
    assert found is not None
    assert [found.precision, found.recall, found.f1] == pytest.approx(case["scores"])


def test_every_kind_has_its_scores() -> None:
    right = [["B-X", "I-X", "O"], ["B-Y", "O"]]
    found = tag_scores([["B-X", "I-X", "B-Y"], ["B-Y", ""]], right, LABELS)
    assert found.kinds == {
        "X": SpanScores(1.0, 1.0, 1.0, 1),
        "Y": SpanScores(0.5, 1.0, pytest.approx(2 / 3), 1),
    }
    assert (found.accuracy, found.words) == (3 / 5, 5)


def test_tags_without_a_scheme_have_an_accuracy_alone() -> None:
    found = tag_scores([["D", "N"]], [["D", "D"]], ["D", "N"])
    assert (found.accuracy, found.spans, found.kinds) == (0.5, None, {})


@pytest.mark.parametrize(
    ("found", "right", "message"),
    [
        ([], [], "got tags of 0 words for 0"),
        ([["O"]], [["O", "O"]], "got tags of 1 words for 2: give one for each"),
        ([["O"]], [["Z"]], "the tag 'Z' of text 1 is none of the tagger's: 'B-X', "),
    ],
)
def test_tags_that_cannot_be_compared_are_refused(found: Any, right: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        tag_scores(found, right, LABELS)
