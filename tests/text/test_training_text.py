"""The record of what a model was trained on."""

import dataclasses
import json

import pytest

from keras_transformer.text.training_text import TrainingText


def test_sentences_of_lines_are_counted() -> None:
    lines = ["One is. Two are.", "One.", "One is. Two are. Three are.", "Three."]
    seen = TrainingText.from_lines(lines, longest_source=9)
    assert (seen.longest_source, seen.sentences) == (9, (2, 1, 1))
    assert TrainingText.from_dict(json.loads(json.dumps(dataclasses.asdict(seen)))) == seen


@pytest.mark.parametrize(
    ("sentences", "known"),
    [((5,), 1), ((995, 5), 1), ((985, 10, 5), 2), ((0, 0, 7), 3), ((980, 0, 20), 3)],
)
def test_what_one_line_in_a_hundred_held_is_known(sentences: tuple[int, ...], known: int) -> None:
    assert TrainingText(longest_source=9, sentences=sentences).known_sentences == known


def test_what_has_no_letter_is_counted_by_kind() -> None:
    lines = ["31/12/2020", "- Hello.", "Hello 😀", "One.", "Two."] + ["Three."] * 95
    seen = TrainingText.from_lines(lines, longest_source=9)
    assert seen.letterless == {"numbers": 1, "marks": 1, "symbols": 1}
    assert seen.known_letterless == {"numbers", "marks", "symbols"}
    assert TrainingText.from_lines([*lines, "Four."], 9).known_letterless == set()
    assert TrainingText.from_dict({"longest_source": 9, "sentences": [1]}).known_letterless is None
    assert TrainingText.from_dict(json.loads(json.dumps(dataclasses.asdict(seen)))) == seen


def test_lines_in_capitals_are_counted_but_for_acronyms() -> None:
    lines = ["DELETE 3 FILES?", "NATO", "Delete.", "1234567"]
    seen = TrainingText.from_lines(lines, longest_source=9)
    assert (seen.capitals, seen.knows_capitals) == (1, True)
    assert TrainingText.from_lines([*lines, *["One."] * 97], 9).knows_capitals is False
    assert TrainingText(longest_source=9, sentences=(1,)).knows_capitals is None
    with pytest.raises(ValueError, match="capitals must be a count of lines, got 5"):
        dataclasses.replace(seen, capitals=5)


@pytest.mark.parametrize("counts", [{"numbers": -1}, {"numbers": 4}, {"words": 1}])
def test_damaged_counts_are_refused(counts: dict) -> None:
    with pytest.raises(ValueError, match="letterless must be counts of lines of the kinds"):
        TrainingText(longest_source=9, sentences=(3,), letterless=counts)


@pytest.mark.parametrize(
    "values", [{"longest_source": 0}, {"sentences": ()}, {"sentences": (0,)}, {"sentences": (-1,)}]
)
def test_a_damaged_record_is_refused(values: dict) -> None:
    with pytest.raises(ValueError, match=next(iter(values))):
        TrainingText(**{"longest_source": 9, "sentences": (3,), **values})
