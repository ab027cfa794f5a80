"""What a student is trained on."""

import pytest

from keras_transformer.data.sources.corpus import Pairs
from keras_transformer.distillation.targets import Targets, student_pairs

ORIGINALS = Pairs(["a", "b", "c"], ["one two three", "four", "five"], "the test")
TRANSLATIONS = [["one three", "one two three four"], ["4"], []]


@pytest.mark.parametrize(
    ("targets", "expected"),
    [
        ("best", [("a", "one three"), ("b", "4")]),
        ("all", [("a", "one three"), ("a", "one two three four"), ("b", "4")]),
        ("closest", [("a", "one two three four"), ("b", "4")]),
    ],
)
@pytest.mark.parametrize("keep_originals", [False, True])
def test_targets_are_chosen_among_the_translations(
    targets: Targets, expected: list[tuple[str, str]], keep_originals: bool
) -> None:
    pairs = student_pairs(ORIGINALS, TRANSLATIONS, targets, keep_originals=keep_originals)
    kept = list(zip(ORIGINALS.source, ORIGINALS.target, strict=True)) if keep_originals else []
    assert list(zip(pairs.source, pairs.target, strict=True)) == expected + kept


def test_a_teacher_that_translates_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="the teacher translated no line of the test"):
        student_pairs(ORIGINALS, [[], [], []])
