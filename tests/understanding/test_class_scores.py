"""Scores of classifiers: by hand, and what holds of all of them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keras_transformer.understanding.class_scores import LabelScores, class_scores

LABELS = ("a", "b", "c")


def test_scores_by_hand() -> None:
    scores = class_scores([*"aaba"], [*"abba"], LABELS)
    assert scores.accuracy == 0.75
    assert scores.labels == {
        "a": LabelScores(precision=2 / 3, recall=1.0, f1=0.8, texts=2),
        "b": LabelScores(precision=1.0, recall=0.5, f1=2 / 3, texts=2),
        "c": LabelScores(precision=0.0, recall=0.0, f1=0.0, texts=0),
    }
    # scikit-learn's f1_score(list("abba"), list("aaba"), average="macro")
    assert scores.macro_f1 == pytest.approx(0.7333, abs=1e-4)


@given(st.lists(st.tuples(st.sampled_from(LABELS), st.sampled_from(LABELS)), min_size=1))
def test_recall_of_all_texts_is_accuracy_and_f1_lies_between(rows: list[tuple[str, str]]) -> None:
    scores = class_scores(*map(list, zip(*rows, strict=True)), LABELS)
    hits = sum(one.recall * one.texts for one in scores.labels.values())
    assert hits / len(rows) == pytest.approx(scores.accuracy)
    for one in scores.labels.values():
        least, most = sorted((one.precision, one.recall))
        assert least - 1e-12 <= one.f1 <= most + 1e-12


def test_what_is_none_of_the_labels_is_a_wrong_answer() -> None:
    scores = class_scores(["a", "else"], ["a", "b"], LABELS)
    assert (scores.accuracy, scores.macro_f1, {*scores.labels}) == (0.5, 0.5, {*LABELS})


def test_texts_with_several_labels_or_none() -> None:
    scores = class_scores(["ab", "", "c"], ["a", "", "bc"], LABELS)
    assert scores.accuracy == pytest.approx(1 / 3)
    assert scores.labels["a"] == LabelScores(precision=1.0, recall=1.0, f1=1.0, texts=1)
    assert scores.labels["b"] == LabelScores(precision=0.0, recall=0.0, f1=0.0, texts=1)


@pytest.mark.parametrize(
    ("found", "right", "message"),
    [
        ([], [], "got 0 labels for 0 texts"),
        (["a"], ["a", "b"], "got 1 labels for 2 texts"),
        (
            ["a", "b"],
            ["a", "d"],
            "label of text 2, 'd', is none of the classifier's: 'a', 'b', 'c'",
        ),
    ],
)
def test_labels_that_cannot_be_compared_are_named(
    found: list[str], right: list[str], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        class_scores(found, right, LABELS)
