"""Turns: the call that has run least goes first, nobody is held up, and who left is ended."""

import threading
from collections.abc import Callable

import pytest

from keras_transformer.runtime import turns as module
from keras_transformer.runtime.turns import Abandoned, Pace, Turn, Turns, current_turn


class Call:
    """A call in a thread of its own that has run for `used` seconds and makes one more run."""

    def __init__(self, turns: Turns, used: float) -> None:
        self.turn = turns.new()
        self.turn.used = used
        self.entered, self.leaves, self.ended = (threading.Event() for _ in range(3))
        self.error: Exception | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self.turn.call(self._make_runs)
        except Abandoned as error:
            self.error = error
        self.ended.set()

    def _make_runs(self) -> None:
        with self.turn.run():
            self.entered.set()
            assert self.leaves.wait(10)

    def end(self) -> None:
        """Lets it end."""
        self.leaves.set()
        assert self.ended.wait(10)


@pytest.fixture
def is_patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes all calls wait as long as it takes."""
    monkeypatch.setattr(module, "_LEAST_PATIENCE", 10.0)


@pytest.mark.usefixtures("is_patient")
def test_a_call_waits_for_one_that_has_run_less() -> None:
    turns = Turns()
    short = Call(turns, used=0.0)
    assert short.entered.wait(10)
    long = Call(turns, used=5.0)
    assert not long.entered.wait(0.05)
    short.end()
    assert long.entered.wait(10)
    long.end()


@pytest.mark.usefixtures("is_patient")
def test_a_call_goes_on_beside_one_that_has_run_more() -> None:
    turns = Turns()
    long = Call(turns, used=5.0)
    assert long.entered.wait(10)
    short = Call(turns, used=0.0)
    assert short.entered.wait(10)
    short.end()
    long.end()


def test_a_call_is_not_held_up_by_what_comes_after_it() -> None:
    turns = Turns()
    short, long = Call(turns, used=0.0), Call(turns, used=5.0)
    assert short.entered.wait(10)
    assert long.entered.wait(10)
    long.end()
    short.end()


@pytest.mark.usefixtures("is_patient")
def test_an_abandoned_call_ends_while_it_waits() -> None:
    turns = Turns()
    short = Call(turns, used=0.0)
    assert short.entered.wait(10)
    long = Call(turns, used=5.0)
    long.turn.abandon()
    assert long.ended.wait(10)
    assert isinstance(long.error, Abandoned)
    assert not long.entered.is_set()
    short.end()


def test_a_search_alone_makes_all_steps_in_a_run() -> None:
    assert Pace().most(1000) == 1000


def in_turn(work: Callable[[Turn], object]) -> object:
    """Returns what a function does with its turn."""
    turn = Turns().new()
    return turn.call(lambda: work(turn))


def test_a_search_in_turn_makes_the_steps_of_a_slice_in_a_run() -> None:
    def paces(turn: Turn) -> list[int]:
        pace, found = Pace(), []
        for seconds in (module._SLICE, 4 * module._SLICE, 1000.0):
            found.append(pace.most(1000))
            turn.last = seconds
            pace.made(8)
        return [*found, pace.most(1000)]

    assert in_turn(paces) == [8, 8, 2, 1]


def test_a_turn_ends_with_its_call() -> None:
    assert in_turn(lambda turn: current_turn() is turn) is True
    assert current_turn() is None
