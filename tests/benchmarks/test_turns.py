"""Engines take turns, each alone, after warming up."""

import pytest
from speed.turns import take_turns


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
