"""The front of quality and speed: what is on it, how it is measured, and how it is shown."""

from pathlib import Path
from typing import Any

import pytest
from front import report
from front.points import Point, front, gains
from front.suite import CTRANSLATE2, Measurement
from speed import artefacts

REFERENCES = ["ein kleines Haus steht hier", "der Hund rennt zum Fluss", "hallo du da drüben"]


def point(model: str, bleu: float, rate: float, **fields: Any) -> Point:
    others = {"engine": "ours", "precision": "int8", "beam_size": 1, "batch": 1, **fields}
    return Point(model=model, bleu=bleu, rate=rate, lowest=rate, highest=rate, **others)


POINTS = [
    point("teacher", 41.0, 100, precision="float32", beam_size=4),
    point("teacher", 40.5, 300, engine="CTranslate2"),
    point("teacher", 40.5, 310),
    point("student", 40.6, 350),
    point("student", 40.2, 350),
    point("student", 39.0, 900, precision="int8+list50"),
    point("student", 39.0, 800, batch=64),
    point("teacher", 38.0, 50, precision="float32", beam_size=4, batch=64),
]


def test_the_front_is_what_nothing_beats_in_its_batch() -> None:
    assert [(one.bleu, one.rate) for one in front(POINTS)] == [
        *((41.0, 100), (40.6, 350), (39.0, 900)),
        (39.0, 800),
    ]
    assert front([POINTS[0], POINTS[0]]) == [POINTS[0], POINTS[0]]


def test_students_are_compared_with_their_teacher_in_the_same_batch() -> None:
    found = gains(POINTS, "teacher", "float32", 4)
    expected = [(0.4, 3.5), (0.8, 3.5), (2.0, 9.0), (-1.0, 16.0)]
    assert [(pytest.approx(one.lost), one.speed) for one in found] == expected
    shown = report.gains_table(found)
    assert shown.count("**-0.40** | **3.5**") == 1 and "| -0.80 | 3.5 |" in shown
    with pytest.raises(ValueError, match="'big' was not measured in int8 with beam size 1"):
        gains(POINTS, "big", "int8", 1)


def test_the_report_marks_the_front_and_says_whose_it_is(tmp_path: Path) -> None:
    shown = report.points_table(POINTS)
    assert "| 1 | student | ours | int8+list50 | 1 | **39.00** | **900** | 900–900 |" in shown
    assert shown.count("**") == 4 * 4
    assert report.verdict(POINTS) == "All 4 points of the front are ours."
    theirs = report.verdict([point("a", 30, 10, engine="CTranslate2"), point("b", 20, 20)])
    assert theirs == (
        "1 of 2 points of the front are ours; not CTranslate2's a int8 beam 1 batch 1."
    )
    report.draw(POINTS, tmp_path / "front.svg")
    assert "batch 64, one thread" in (tmp_path / "front.svg").read_text(encoding="utf-8")


class Scripted:
    """An engine that takes a tenth of a second a sentence."""

    def ask(self, do: str, **arguments: Any) -> Any:
        if do == "measure_texts":
            return 0.1 * len(arguments["texts"])
        return REFERENCES if do == "translate" else None

    def settle(self) -> None:
        pass


@pytest.mark.parametrize(("recurrence", "engines"), [("null", 2), ('"ssru"', 1)])
def test_every_way_to_translate_is_a_point(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, recurrence: str, engines: int
) -> None:
    monkeypatch.setattr(artefacts, "make", lambda *_, **__: None)
    (tmp_path / "model.keras").write_bytes(b"weights")
    (tmp_path / "config.json").write_text(f'{{"decoder_recurrence": {recurrence}}}')
    asked = Measurement(
        ["a", "b", "c"], REFERENCES, ["float32", "int8"], [1, 4], [1, 64], 2, 3, "native"
    )
    workers: dict[str, Any] = {"ours": Scripted(), CTRANSLATE2: Scripted()}
    found = list(asked.points(tmp_path, workers, tmp_path))
    assert len(found) == engines * 2 * 2 * 2
    assert {(round(one.bleu), round(one.rate)) for one in found} == {(100, 10)}
    assert {one.model for one in found} == {tmp_path.name}
