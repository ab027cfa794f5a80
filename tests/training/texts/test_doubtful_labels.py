"""Labels that look like mistakes are named before training, and nothing else is."""

from collections.abc import Callable
from typing import Any

import pytest
from single_texts import LABELLED, LINES

from keras_transformer.data.sources.texts import LabelledCorpus, LabelledTexts
from keras_transformer.training.texts.doubtful_labels import label_warnings


def warnings(*rows: tuple[str, ...], **given: Any) -> list[str]:
    labels, first, *second = map(list, zip(*rows, strict=True))
    seconds = second[0] if second else None
    return list(label_warnings(LabelledTexts(labels, first, seconds, "example", **given)))


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([("a", "x"), ("b", "y"), ("a", "x"), ("b", "z")], []),
        # Blank lines have no label.
        ([("a", "x"), ("a", "y"), ("", ""), ("", "")], []),
        (
            [
                ("a b", "1"),
                ("A b", "2"),
                ("a  B ", "3"),
                ("a b", "4"),
                ("A b", "5"),
                ("a  B ", "6"),
            ],
            ["labels that differ only in capitals and spaces: 'A b' (2) and 'a  B ' (2) and"],
        ),
        (
            [
                (label, f"{label}{number}")
                for label in "abcde"
                for number in range(1 + (label > "d"))
            ],
            ["labels with only one text: 'a', 'b', 'c', and 1 more"],
        ),
        (
            [("a", "x"), ("b", "x"), ("a", "y"), ("b", "y"), ("c", "z"), ("a", "z"), ("c", "c")],
            ["the same text under different labels: 'a' and 'b' (2), 'a' and 'c' (1)"],
        ),
        # The second text tells pairs apart.
        ([("a", "x", "1"), ("a", "x", "3"), ("b", "x", "2"), ("b", "x", "4")], []),
        (
            [("a", "x", "1"), ("b", "x", "1"), ("a", "y", "1"), ("b", "z", "1")],
            ["the same text under different labels: 'a' and 'b' (1)"],
        ),
    ],
)
def test_each_kind_has_its_line(rows: list[tuple[str, ...]], expected: list[str]) -> None:
    found = warnings(*rows)
    assert len(found) == len(expected)
    for line, beginning in zip(found, expected, strict=True):
        assert line.startswith(beginning)


def test_several_labels_of_a_text_count_in_any_order() -> None:
    rows = [("joy, love", "x"), ("love,joy", "x"), ("joy", "y"), ("", "y"), ("love", "z")]
    assert warnings(*rows, multi_label=True) == [
        "the same text under different labels: '' and 'joy' (1)"
    ]


def test_training_begins_with_the_warnings(
    start: Callable[..., Any], capsys: pytest.CaptureFixture[str]
) -> None:
    labels = ["Late", *LABELLED.train.labels[1:]]
    corpus = LabelledCorpus(LabelledTexts(labels, LINES, None, "train"))
    start("classify", "run", corpus)
    said = capsys.readouterr().out
    labelled, alike, single, *_ = said.splitlines()
    assert labelled == "training labels: 3: late 60, early 11, Late 1"
    assert alike == (
        "warning: labels that differ only in capitals and spaces: 'Late' (1) and 'late' (60)"
    )
    assert single == "warning: labels with only one text: 'Late'" and said.count("warning") == 2
