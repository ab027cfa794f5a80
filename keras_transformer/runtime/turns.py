"""Turns of the calls that share a model: before each run of a graph the one that has run least goes
on, so that a short call does not wait for long ones that began before it.
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from typing import TypeVar

_Result = TypeVar("_Result")

# Seconds by which a call runs on before another one goes on: to change costs time, too.
_SLICE = 0.01
# A call that waits has a run after so many times what its last one took, but not before this many
# seconds: calls that begin after it slow it down, but cannot hold it up.
_PATIENCE, _LEAST_PATIENCE = 4, 0.02
# Steps of a run while nobody knows how long one takes.
_FIRST_STEPS = 8


class Abandoned(Exception):
    """Nobody waits for the call's results any more."""


class Turns:
    """The calls that run side by side.

    Args:
        most_rows: Most sentences of a search that calls share; no limit if None.
    """

    def __init__(self, most_rows: int | None = None) -> None:
        self.most_rows = most_rows
        self._changed = threading.Condition()
        self._open: list[Turn] = []
        self._running: Turn | None = None

    @property
    def running(self) -> int:
        """How many calls run."""
        return len(self._open)

    def new(self) -> "Turn":
        """Returns the turn of a call to come."""
        return Turn(self)

    def wait(self, turn: "Turn") -> None:
        """Waits until a call may go on."""
        if self.running == 1:
            return
        until = time.perf_counter() + turn.patience
        with self._changed:
            while self._first() is not turn and not turn.is_abandoned:
                left = until - time.perf_counter()
                if left <= 0:
                    return
                self._changed.wait(left)

    def tell(self, turn: "Turn") -> None:
        """Lets another call go on if it comes before this one now, or if this one is abandoned."""
        if self.running > 1:
            with self._changed:
                if self._first() is not turn or turn.is_abandoned:
                    self._changed.notify_all()

    @contextmanager
    def opened(self, turn: "Turn") -> Iterator[None]:
        """Counts a call among those that run while the block lasts."""
        with self.changing():
            self._open.append(turn)
        try:
            yield
        finally:
            with self.changing():
                self._open.remove(turn)

    @contextmanager
    def changing(self) -> Iterator[None]:
        """Has all that wait look again after the block."""
        with self._changed:
            yield
            self._changed.notify_all()

    def _first(self) -> "Turn | None":
        ready = [turn for turn in self._open if not turn.is_resting]
        least = min(ready, key=lambda turn: turn.used, default=None)
        running = self._running
        if least is None or running not in ready or running.used > least.used + _SLICE:
            self._running = least
        return self._running


class Turn:
    """The turn of one call, in all threads that it uses.

    Args:
        turns: Those of all calls.

    Attributes:
        used: Seconds that its runs took.
        last: Seconds that its last run took.
        is_abandoned: Whether its results are wanted no more.
    """

    def __init__(self, turns: Turns) -> None:
        self._turns = turns
        self.used = self.last = 0.0
        self.is_abandoned = False
        self._searches = self._rests = 0

    def at_most(self, rows: int) -> int:
        """Returns how many sentences a shared search may have, if so many fit."""
        limit = self._turns.most_rows
        return rows if limit is None else min(rows, limit)

    @property
    def patience(self) -> float:
        """Seconds after which it has a run, whoever comes before it."""
        return max(_LEAST_PATIENCE, _PATIENCE * self.last)

    @property
    def is_alone(self) -> bool:
        """Whether no other call runs."""
        return self._turns.running == 1

    @property
    def is_resting(self) -> bool:
        """Whether all of its searches leave it to others to go on."""
        return 0 < self._searches <= self._rests

    def call(self, work: Callable[[], _Result]) -> _Result:
        """Returns what `work` does, before each of whose runs of a graph it waits for this turn.

        Raises:
            Abandoned: The turn was abandoned meanwhile.
        """
        context = copy_context()
        context.run(_TURN.set, self)
        with self._turns.opened(self):
            return context.run(work)

    def wait(self) -> None:
        """Waits until the call may go on."""
        self._turns.wait(self)

    @contextmanager
    def searching(self) -> Iterator[None]:
        """Counts a search of the call, which looks by itself whether it was abandoned."""
        with self._turns.changing():
            self._searches += 1
        try:
            yield
        finally:
            with self._turns.changing():
                self._searches -= 1

    @contextmanager
    def resting(self) -> Iterator[None]:
        """Lets others go on as if one of the call's searches had ended."""
        with self._turns.changing():
            self._rests += 1
        try:
            yield
        finally:
            with self._turns.changing():
                self._rests -= 1

    def abandon(self) -> None:
        """Ends the call before its next run."""
        self.is_abandoned = True
        self._turns.tell(self)

    @contextmanager
    def run(self) -> Iterator[None]:
        """Waits for a run of a graph, which the block makes."""
        self.wait()
        # What searches for others, too, leaves them what it has in good order.
        if self.is_abandoned and not self._searches:
            raise Abandoned
        began = time.perf_counter()
        yield
        self.last = time.perf_counter() - began
        self.used += self.last
        self._turns.tell(self)


_TURN: ContextVar[Turn | None] = ContextVar("turn", default=None)


def current_turn() -> Turn | None:
    """Returns the turn of the call that this is part of; None if there is none to wait for."""
    return _TURN.get()


class Pace:
    """How many steps one search makes in a run while others may wait for their turn."""

    def __init__(self) -> None:
        self._turn = current_turn()
        self._most = _FIRST_STEPS

    def most(self, steps: int) -> int:
        """Returns how many of these steps the next run is to make."""
        return steps if self._turn is None else min(steps, self._most)

    def made(self, steps: int) -> None:
        """Takes how many steps the last run made."""
        if self._turn is not None and self._turn.last:
            self._most = max(1, int(steps * _SLICE / self._turn.last))
