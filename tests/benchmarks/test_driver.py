"""Engines take turns, each alone, after warming up; what was measured outlives a failure."""

import dataclasses
import json
from pathlib import Path

import pytest
from driver import figures, in_turns, paragraphs, parser_of, publish, take_turns


class Fake:
    """An engine of known speed that notes what is done with it."""

    def __init__(self, name: str, seconds: float, notes: list[str]) -> None:
        self.name, self.seconds, self.notes = name, seconds, notes
        self.times: list[int] = []

    def measure(self, times: int) -> float:
        self.notes.append(self.name)
        self.times.append(times)
        return self.seconds

    def settle(self) -> None:
        self.notes.append(f"{self.name} idle")


def run(rounds: int, **seconds: float) -> tuple[dict[str, list[float]], list[str], dict[str, Fake]]:
    notes: list[str] = []
    fakes = {name: Fake(name, value, notes) for name, value in seconds.items()}
    found = take_turns({name: fake.measure for name, fake in fakes.items()}, rounds, fakes)
    return found, notes, fakes


def test_each_is_idle_before_the_next_starts() -> None:
    _, notes, _ = run(2, a=1.0, b=1.0, c=1.0)
    one_round = ["a", "a idle", "b", "b idle", "c", "c idle"]
    assert notes == one_round * 4  # two rounds of warming up, two measured


def test_seconds_of_every_round_are_returned() -> None:
    found, _, _ = run(3, a=0.5, b=2.0)
    assert found == {"a": [0.5] * 3, "b": [2.0] * 3}


@pytest.mark.parametrize(("seconds", "times"), [(0.01, 20), (0.07, 3), (0.2, 1), (5.0, 1)])
def test_short_work_is_repeated_within_a_turn(seconds: float, times: int) -> None:
    _, _, fakes = run(2, a=seconds)
    assert fakes["a"].times == [1, 1, times, times]


def test_rounds_go_from_engine_to_engine() -> None:
    asked: list[str] = []
    found = in_turns(lambda name: asked.append(name) or len(asked), ["a", "b"], 2)
    assert (asked, found) == (["a", "b", "a", "b"], {"a": [1, 3], "b": [2, 4]})


@dataclasses.dataclass
class Point:
    """A figure."""

    rate: float


def test_figures_are_written_although_a_later_measurement_fails(tmp_path: Path) -> None:
    file = tmp_path / "out.json"
    with (
        pytest.raises(SystemExit, match=r"^mine\.py: no memory$"),
        figures("benchmarks/mine.py", file, machine="m", cells=[]) as result,
    ):
        result["cells"].append(Point(2.0))
        raise RuntimeError("no memory")
    assert json.loads(file.read_text()) == {"machine": "m", "cells": [{"rate": 2.0}]}


def test_a_report_is_printed_and_written_beside_the_figures(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = paragraphs({"cores": 2, "numpy": "2.0"}, "medians of 3 rounds.", "| a |\n", "", "Note.")
    assert text == "Measured with cores 2, numpy 2.0; medians of 3 rounds.\n\n| a |\n\nNote.\n"
    publish(text, tmp_path / "out.json")
    assert (tmp_path / "out.md").read_text() == text
    assert capsys.readouterr().out == text + "\n"


def test_shared_arguments_have_the_defaults_of_each_benchmark() -> None:
    given = parser_of("Measures.", "repeats", "target", "json", repeats=5).parse_args([])
    assert vars(given) == {"repeats": 5, "target": "native", "json": None}
